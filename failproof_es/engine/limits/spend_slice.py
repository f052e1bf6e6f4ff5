"""Holds the requests of one shard below the spend ceiling of a run that several workers drive.

The shard has a slice of what is left, and reserves each request in it without asking anybody. A
task beside it asks the database for more before the slice is used up, tells what was spent, and
gives back what nobody here needs when somebody elsewhere waits.
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
"""How often the database is told, and asked whether somebody waits."""
SOON_S = 0.2
"""The same while a request waits, or the slice runs low."""
PROMISED_S = 5.0
"""So long what a request waited for is kept for it though others wait: it may wait for its server,
which can take as long as a `Retry-After`."""
_AHEAD = 3
"""A slice is wanted that lasts for so many rounds of requests."""
_NOTHING = Decimal(0)


class SharedBudget(Protocol):
    """The row of one shard in the database. Both calls block, and are made in a thread.

    They raise `LeaseLost` where another process has the shard, one of `UNAVAILABLE` while the
    database is away.
    """

    def reserve(self, report: SpendReport) -> Grant:
        """Tell what the shard has spent, and reserve more."""

    def count_dead(self) -> None:
        """Count again what workers that died have spent: what was reserved for them is free."""


class _Reservation(NamedTuple):
    """What is reserved for a request that waited, until it reserves that itself."""

    amount: Decimal
    until: float
    """From then on it is given back if others wait."""


@dataclass(slots=True)
class _SliceWaiter:
    request: RequestSent
    worst: Decimal
    reply: asyncio.Future[None]


class SpendSlice(SpendLimiter):
    """The spend limiter of one shard, in an event loop. `open` it first, `close` it at the end.

    `at_once` is how many requests the shard may have in flight.
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
        """The worst case of the dearest request so far."""
        self._waiting: list[_SliceWaiter] = []
        self._promised: dict[tuple[UUID, int], _Reservation] = {}
        """By stream and version of the request. Who was promised it takes it, or withdraws."""
        self._lost: Exception | None = None
        """Why nothing can be reserved any more."""
        self._changed = asyncio.Event()
        self._wanted_elsewhere = False
        self._refused = 0
        """How often in a row nothing was left for who waits here."""
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._asked_at = 0.0

    def open(self) -> None:
        """Begin to ask."""
        self._task = asyncio.create_task(self._keep_on(), name="spending")

    async def close(self) -> None:
        """Give back what is left of the slice. What is in flight stays reserved."""
        self._closing = True
        self._changed.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        for waiter in self._waiting:
            waiter.reply.cancel()
        for place in list(self._promised):
            self._keep_promise(place)
        if self._lost is None:
            report = self._slice.report(_NOTHING, _NOTHING, give_back=True)
            with suppress(*UNAVAILABLE, LeaseLost):
                await asyncio.to_thread(self._shared.reserve, report)

    def reserve(self, request: RequestSent) -> bool:
        """See `SpendLimiter`."""
        self._keep_promise(_place(request))
        if not super().reserve(request):
            return False
        _, worst = self._reserved[_place(request)]
        self._largest = max(self._largest, worst)
        if self._runs_low and clock.monotonic_s() - self._asked_at > SOON_S:
            self._changed.set()
        return True

    def withdraw(self, request: RequestSent) -> None:
        """See `SpendLimiter`."""
        if _place(request) in self._promised:
            self._keep_promise(_place(request))
            self._changed.set()

    def recorded(self, event: EvaluationEvent) -> None:
        """See `SpendLimiter`."""
        super().recorded(event)
        if self._waiting:
            self._changed.set()

    async def wait_for_room(self, request: RequestSent, stop: asyncio.Event) -> None:
        """See `SpendLimiter`. Also raises `LeaseLost`."""
        worst = self._bounded(request)
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
                waiter.reply.exception()  # looked at, if only now

    # -- the task ----------------------------------------------------------------------------

    @property
    def _runs_low(self) -> bool:
        return self._slice.room < self._largest * self._at_once

    async def _keep_on(self) -> None:
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
            self._answer()
            try:
                await self._after(report, grant)
            except Exception as error:  # the record of a dead worker cannot be read, say
                self._give_up(error)
                return

    def _report(self) -> SpendReport:
        """What is told now."""
        waiting = [waiter.worst for waiter in self._waiting if not waiter.reply.done()]
        needs = min(waiting, default=_NOTHING)
        elsewhere, self._wanted_elsewhere = self._wanted_elsewhere, False
        wants = _NOTHING if elsewhere else self._largest * self._at_once * _AHEAD
        give_back = elsewhere or self._refused > 0
        if give_back:
            self._take_back_promises()
        return self._slice.report(needs, wants, give_back=give_back)

    def _take_back_promises(self) -> None:
        """Others wait: whoever does not use in time what it was promised asks for it again."""
        now = clock.monotonic_s()
        late = [place for place, promise in self._promised.items() if promise.until <= now]
        for place in late:
            self._keep_promise(place)

    def _answer(self) -> None:
        """Let those go on that fit now, and those give up that never will."""
        for waiter in self._waiting:
            if waiter.reply.done():
                continue
            if self._slice.reserve(waiter.worst):
                until = clock.monotonic_s() + PROMISED_S
                self._promised[_place(waiter.request)] = _Reservation(waiter.worst, until)
                waiter.reply.set_result(None)
            elif not self._slice.may_fit_later(waiter.worst):
                waiter.reply.set_exception(self._reached(waiter.request, waiter.worst))

    async def _after(self, report: SpendReport, grant: Grant) -> None:
        """Ask no more often than is useful; look for dead holders when nothing comes back."""
        refused = report.needs > _NOTHING and not grant.more
        self._refused = self._refused + 1 if refused else 0
        if self._refused and self._refused % 5 == 0:
            with suppress(*UNAVAILABLE, LeaseLost):
                await asyncio.to_thread(self._shared.count_dead)
        if refused:
            await asyncio.sleep(SOON_S)
        elif self._wanted_elsewhere and self._slice.room > _NOTHING:
            self._changed.set()

    def _keep_promise(self, place: tuple[UUID, int]) -> None:
        """What was reserved for a request while it waited is free for it now."""
        if (promise := self._promised.pop(place, None)) is not None:
            self._slice.settle(promise.amount, Charge(_NOTHING, is_known=True))

    def _give_up(self, lost: Exception) -> None:
        self._lost = lost
        for waiter in self._waiting:
            if not waiter.reply.done():
                waiter.reply.set_exception(lost)


def _place(request: RequestSent) -> tuple[UUID, int]:
    return request.originator_id, request.originator_version
