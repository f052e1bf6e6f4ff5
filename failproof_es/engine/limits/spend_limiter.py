"""Holds the requests of a drive below the run's spend ceiling.

Each request reserves its worst case before it is recorded. Its reservation is replaced by its
charge once its outcome is durable, not before: a process that dies in between leaves a request
without an outcome, which then counts with its worst case.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from uuid import UUID

from failproof_es.core.costs import Prices
from failproof_es.core.run import Run
from failproof_es.core.spend import (
    SpendBudget,
    SpendState,
    ceiling_of,
    charge_of,
    describe_unknown,
    most_input_tokens,
    most_output_tokens,
    usd_text,
    worst_case,
)
from failproof_es.events import (
    AttemptOrphaned,
    ErrorRecorded,
    EvaluationEvent,
    RequestSent,
    ResponseReceived,
)
from failproof_es.problems import InvalidInput


class SpendRefused(Exception):
    """A request is not sent, because the ceiling could not be kept with it."""


class SpendCeilingReached(SpendRefused):
    """The request exceeds the ceiling even with nothing else in flight."""


class SpendLimiter:
    """Keeps the requests of one drive below a spend ceiling, in its event loop.

    Not for several threads. `prices` are the run's, `run_number` is for messages.
    """

    def __init__(self, budget: SpendBudget, prices: Prices, run_number: int) -> None:
        self._run_number = run_number
        self._budget = budget
        self._prices = prices
        self._reserved: dict[tuple[UUID, int], tuple[RequestSent, Decimal]] = {}
        """Each reserved request with its worst case, by stream id and version."""
        self._settled = asyncio.Event()

    def reserve(self, request: RequestSent) -> bool:
        """Reserve a request's worst-case cost, before the request is recorded.

        False if it does not fit now, or if its cost has no bound.
        """
        worst = worst_case(self._prices, request)
        if worst is None or not self._budget.reserve(worst):
            return False
        self._reserved[request.originator_id, request.originator_version] = request, worst
        return True

    async def wait_for_room(self, request: RequestSent, stop: asyncio.Event) -> None:
        """Wait until a request in flight has ended, or the run stops.

        Raises `SpendCeilingReached` if the request would not fit even if all requests in flight
        cost nothing, `SpendRefused` if the request's cost has no bound.
        """
        worst = self._require_worst_case(request)
        if not self._budget.may_fit_later(worst):
            raise self._ceiling_reached(request, worst)
        if self._budget.fits(worst):  # a request ended meanwhile
            return
        self._settled.clear()
        waits = [asyncio.ensure_future(event.wait()) for event in (self._settled, stop)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    def withdraw(self, request: RequestSent) -> None:
        """Free the budget that is kept for a request since `wait_for_room`, if it will not be sent.

        Does nothing here: only `SpendSlice` keeps budget.
        """

    def recorded(self, event: EvaluationEvent) -> None:
        """Note an event that is durable: an outcome replaces its request's reservation."""
        if not isinstance(event, ResponseReceived | ErrorRecorded | AttemptOrphaned):
            return
        reservation = self._reserved.pop((event.originator_id, event.originator_version - 1), None)
        if reservation is not None:
            _, worst = reservation
            self._budget.settle(worst, charge_of(self._prices, worst, event))
            self._settled.set()

    def broken_by(self, outcome: EvaluationEvent) -> str | None:
        """The reason to send no more, if this outcome cost more than was reserved for its request;
        else `None`. Call it before `recorded`."""
        reservation = self._reserved.get((outcome.originator_id, outcome.originator_version - 1))
        if reservation is None or not isinstance(outcome, ResponseReceived):
            return None
        request, worst = reservation
        charge = charge_of(self._prices, worst, outcome)
        if not charge.beyond:
            return None
        usage = outcome.usage
        return (
            f"the spend ceiling of {usd_text(self._budget.ceiling)} cannot be kept: an answer of "
            f"{_get_model_key(request)} cost {usd_text(charge.usd)}, and could cost "
            f"{usd_text(worst)} at most. It read {usage.input_tokens:,} tokens of at most "
            f"{most_input_tokens(request.body_bytes):,}, and wrote "
            f"{usage.output_tokens:,} of at most {most_output_tokens(request.parameters):,}: "
            "raise its `max_tokens` in a new run, if the server does not keep to it"
        )

    def _require_worst_case(self, request: RequestSent) -> Decimal:
        """The worst-case cost of a request. Raises `SpendRefused` if it has no bound."""
        worst = worst_case(self._prices, request)
        if worst is None:
            raise SpendRefused(
                f"nothing bounds what a request to {_get_model_key(request)} may cost, so the "
                f"spend ceiling of {usd_text(self._budget.ceiling)} cannot be kept"
            )
        return worst

    def _ceiling_reached(self, request: RequestSent, worst: Decimal) -> SpendCeilingReached:
        spending = self._budget.spending
        in_flight = f", up to {usd_text(spending.reserved)} in flight" if spending.reserved else ""
        return SpendCeilingReached(
            f"the spend ceiling of {usd_text(self._budget.ceiling)} is reached: "
            f"{usd_text(spending.known_usd)} spent{_unknown_costs(spending)}{in_flight}; the next "
            "request to "
            f"{_get_model_key(request)} may cost {usd_text(worst)}. "
            f"`failproof-es resume {self._run_number} --max-spend USD` goes on with a higher one"
        )


def require_room(run: Run, ceiling: Decimal | None) -> None:
    """Raise `InvalidInput` if the run is paused at its spend ceiling and the new one is no higher:
    it would be paused again at once. `ceiling` is in USD; `None` leaves the run's ceiling as it
    is."""
    present = ceiling_of(run)
    if not run.at_ceiling or present is None or (ceiling is not None and ceiling > present):
        return
    if ceiling is None:
        raise InvalidInput.because(
            "spend-ceiling-reached", f"run {run.started.run_number} is paused: {run.reason}"
        )
    raise InvalidInput.because(
        "spend-ceiling-too-low",
        f"{usd_text(ceiling)} is not higher than the spend ceiling of {usd_text(present)}, at "
        f"which run {run.started.run_number} is paused",
        field="--max-spend",
        remedy=f"give more than {usd_text(present)}",
    )


def require_ceiling_above(spending: SpendState, ceiling: Decimal) -> None:
    """Raise `InvalidInput` if `spending` is more than the new ceiling, in USD."""
    if spending.spent > ceiling:
        raise InvalidInput.because(
            "spend-ceiling-too-low",
            f"the run has spent {usd_text(spending.known_usd)}{_unknown_costs(spending)}, more "
            f"than {usd_text(ceiling)}",
            remedy=f"give a ceiling of at least {usd_text(spending.spent)}",
        )


def _unknown_costs(spending: SpendState) -> str:
    return describe_unknown(spending.unknown, spending.unknown_requests)


def _get_model_key(request: RequestSent) -> str:
    return request.judge or request.model_key
