"""Holds the requests of one shard below the spend ceiling of a run that several workers drive.

The shard has a slice of the remaining budget, and reserves each request in it without the database.
A task asks the database for more before the slice is used up, reports the spending, and gives
unused budget back when another shard waits for it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from failproof_es.core.costs import Prices
from failproof_es.core.spend import Charge, Grant, SliceBudget, SpendReport
from failproof_es.engine.limits.spend_limiter import SpendLimiter
from failproof_es.events import EvaluationEvent, RequestSent
from failproof_es.store.outage import UNAVAILABLE
from failproof_es.store.writing.recorder import LeaseLost
from failproof_es.support import clock

CALM_S = 1.0
"""Seconds between reports to the database, which tells whether another shard waits."""
SOON_S = 0.2
"""Seconds between reports while a request waits, or the slice runs low."""
PROMISED_S = 5.0
"""Seconds for which budget is kept for a request that waited, though other shards wait: the request
may wait for its server as long as a `Retry-After`."""
_AHEAD = 3
"""Number of rounds of requests for which a slice should last."""
_NOTHING = Decimal(0)


class SharedBudget(Protocol):
    """The budget of a run that its shards share, seen from one shard.

    Both calls block, and are made in a thread. Both raise `LeaseLost` if another process has the
    shard, one of `UNAVAILABLE` in an outage.
    """

    def reserve(self, report: SpendReport) -> Grant:
        """Report the shard's spending, its need and its wish; the grant is its new budget."""

    def count_dead(self) -> None:
        """Read the spending of dead workers; the rest of their reservations becomes free."""


class _Reservation(NamedTuple):
    """Budget that is kept for a request that waited, until the request reserves it."""

    amount: Decimal
    until: float
    """Time at which the budget may be given back if others wait, by the monotonic clock."""


@dataclass(slots=True)
class _SliceWaiter:
    request: RequestSent
    worst: Decimal
    reply: asyncio.Future[None]


class SpendSlice(SpendLimiter):
    """The spend limiter of one shard, in an event loop.

    `open` it first, `close` it at the end. `budget` is the shard's slice of the run's budget,
    `shared` the run's budget in the database, `at_once` the number of requests that the shard may
    have in flight.
    """

    def __init__(
        self,
        budget: SliceBudget,
        prices: Prices,
        run_number: int,
        shared: SharedBudget,
        at_once: int,
    ) -> None:
        super().__init__(budget, prices, run_number)
        self._slice = budget
        self._shared = shared
        self._at_once = at_once
        self._largest = _NOTHING
        """The highest worst-case cost of a request so far."""
        self._waiting: list[_SliceWaiter] = []
        self._promised: dict[tuple[UUID, int], _Reservation] = {}
        """Each request that reserves or withdraws budget, by stream id and version."""
        self._lost: Exception | None = None
        """The error after which nothing can be reserved any more."""
        self._changed = asyncio.Event()
        self._wanted_elsewhere = False
        self._refused = 0
        """Number of reports in a row that got nothing for a request that waits here."""
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._asked_at = 0.0

    def open(self) -> None:
        """Start the task that reports to the database."""
        self._task = asyncio.create_task(self._report_until_closed(), name="spending")

    async def close(self) -> None:
        """Give back the rest of the slice. The costs of requests in flight stay reserved."""
        self._closing = True
        self._changed.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        for waiter in self._waiting:
            waiter.reply.cancel()
        for place in list(self._promised):
            self._free_promise(place)
        if self._lost is None:
            report = self._slice.report(_NOTHING, _NOTHING, give_back=True)
            with suppress(*UNAVAILABLE, LeaseLost):
                await asyncio.to_thread(self._shared.reserve, report)

    def reserve(self, request: RequestSent) -> bool:
        """Reserve a request's worst-case cost in the slice.

        False if it does not fit now, or if its cost has no bound.
        """
        self._free_promise(_request_place(request))
        if not super().reserve(request):
            return False
        _, worst = self._reserved[_request_place(request)]
        self._largest = max(self._largest, worst)
        if self._runs_low and clock.monotonic_s() - self._asked_at > SOON_S:
            self._changed.set()
        return True

    def withdraw(self, request: RequestSent) -> None:
        """Free the budget that is kept for a request since `wait_for_room`, if it will not be
        sent."""
        if _request_place(request) in self._promised:
            self._free_promise(_request_place(request))
            self._changed.set()

    def recorded(self, event: EvaluationEvent) -> None:
        """Note an event that is durable: an outcome replaces its request's reservation.

        Waiting requests then try again.
        """
        super().recorded(event)
        if self._waiting:
            self._changed.set()

    async def wait_for_room(self, request: RequestSent, stop: asyncio.Event) -> None:
        """Wait until budget is kept for the request, or the run stops.

        Raises `SpendCeilingReached` if the request can never fit below the ceiling, `SpendRefused`
        if its cost has no bound, and `LeaseLost` if another process has the shard.
        """
        worst = self._require_worst_case(request)
        self._largest = max(self._largest, worst)
        if self._lost is not None:
            raise self._lost
        waiter = _SliceWaiter(request, worst, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        self._changed.set()
        stopping = asyncio.ensure_future(stop.wait())
        try:
            both: set[asyncio.Future[Any]] = {waiter.reply, stopping}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if waiter.reply.done():
                waiter.reply.result()
        finally:
            stopping.cancel()
            self._waiting.remove(waiter)
            if not waiter.reply.cancel() and not waiter.reply.cancelled():
                waiter.reply.exception()  # mark the exception as retrieved

    # -- the task ----------------------------------------------------------------------------

    @property
    def _runs_low(self) -> bool:
        return self._slice.room < self._largest * self._at_once

    async def _report_until_closed(self) -> None:
        last_report: SpendReport | None = None
        while not self._closing:
            calm = not self._waiting and not self._runs_low
            with suppress(TimeoutError):
                async with asyncio.timeout(CALM_S if calm else SOON_S):
                    await self._changed.wait()
            self._changed.clear()
            if self._closing:
                return
            report = self._report()
            same = last_report is not None and report == last_report._replace(
                needs=_NOTHING, number=report.number
            )
            if same and not report.wants and self._slice.room <= _NOTHING:
                continue  # nothing is new, nothing is needed, nothing could be given back
            self._asked_at = clock.monotonic_s()
            try:
                grant = await asyncio.to_thread(self._shared.reserve, report)
            except UNAVAILABLE:
                await asyncio.sleep(SOON_S)
                continue
            except Exception as error:  # LeaseLost above all
                self._give_up(error)
                return
            last_report = report
            self._slice.granted(grant)
            self._wanted_elsewhere = grant.is_wanted and not report.needs
            self._answer_waiters()
            try:
                await self._follow_up(report, grant)
            except Exception as error:  # such as an unreadable record of a dead worker
                self._give_up(error)
                return

    def _report(self) -> SpendReport:
        """The next report to the database, with the needs of waiting requests.

        If another shard waits for budget, budget is given back.
        """
        waiting = [waiter.worst for waiter in self._waiting if not waiter.reply.done()]
        needs = min(waiting, default=_NOTHING)
        elsewhere, self._wanted_elsewhere = self._wanted_elsewhere, False
        wants = _NOTHING if elsewhere else self._largest * self._at_once * _AHEAD
        give_back = elsewhere or self._refused > 0
        if give_back:
            self._take_back_promises()
        return self._slice.report(needs, wants, give_back=give_back)

    def _take_back_promises(self) -> None:
        """Free budget that was kept for longer than `PROMISED_S`; its requests must wait again."""
        now = clock.monotonic_s()
        late = [place for place, promise in self._promised.items() if promise.until <= now]
        for place in late:
            self._free_promise(place)

    def _answer_waiters(self) -> None:
        """Keep budget for each waiting request that fits now, and wake it.

        Requests that can never fit raise `SpendCeilingReached`.
        """
        for waiter in self._waiting:
            if waiter.reply.done():
                continue
            if self._slice.reserve(waiter.worst):
                until = clock.monotonic_s() + PROMISED_S
                self._promised[_request_place(waiter.request)] = _Reservation(waiter.worst, until)
                waiter.reply.set_result(None)
            elif not self._slice.may_fit_later(waiter.worst):
                waiter.reply.set_exception(self._ceiling_reached(waiter.request, waiter.worst))

    async def _follow_up(self, report: SpendReport, grant: Grant) -> None:
        """Pause after a report that got nothing for a waiting request.

        After every fifth in a row, free the reservations of dead workers.
        """
        refused = report.needs > _NOTHING and not grant.more
        self._refused = self._refused + 1 if refused else 0
        if self._refused and self._refused % 5 == 0:
            with suppress(*UNAVAILABLE, LeaseLost):
                await asyncio.to_thread(self._shared.count_dead)
        if refused:
            await asyncio.sleep(SOON_S)
        elif self._wanted_elsewhere and self._slice.room > _NOTHING:
            self._changed.set()

    def _free_promise(self, place: tuple[UUID, int]) -> None:
        """Free the budget that is kept for the request of this stream and version, if there is
        any."""
        if (promise := self._promised.pop(place, None)) is not None:
            self._slice.settle(promise.amount, Charge(_NOTHING, is_known=True))

    def _give_up(self, lost: Exception) -> None:
        self._lost = lost
        for waiter in self._waiting:
            if not waiter.reply.done():
                waiter.reply.set_exception(lost)


def _request_place(request: RequestSent) -> tuple[UUID, int]:
    return request.originator_id, request.originator_version
