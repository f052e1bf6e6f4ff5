"""The charge of a request against the spend ceiling, by its outcome. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from failproof_es.core.costs import Prices, Spent, answer_cost
from failproof_es.core.spend.worst_case import worst_case
from failproof_es.events import (
    VOIDS_ANSWER,
    AttemptOrphaned,
    ErrorRecorded,
    Event,
    RequestSent,
    ResponseReceived,
)

Outcome = ResponseReceived | ErrorRecorded | AttemptOrphaned

_NOTHING = Decimal(0)
_TIMED_OUT = (408, 499)
"""4xx statuses after which the server may have produced an answer all the same."""
_BAD_GATEWAY = 502
"""The status of a proxy whose server is down, or broke off its answer."""


@dataclass(frozen=True, slots=True)
class Charge:
    """The amount that a request with an outcome counts as spent, in US dollars."""

    usd: Decimal
    is_known: bool
    """Whether `usd` is the known cost; else it is the worst case."""
    beyond: bool = False
    """Whether the cost exceeds the worst case."""


def charge_of(prices: Prices, worst: Decimal, outcome: Outcome) -> Charge:
    """The charge of a request with this outcome. `worst` is its worst case in US dollars.

    An answer without known cost and an orphaned request are charged the worst case: the server may
    have charged it. So is an error, unless it shows that nothing was answered.
    """
    if isinstance(outcome, ResponseReceived):
        cost = answer_cost(prices, outcome)
        if cost is not None:
            return Charge(cost, is_known=True, beyond=cost > worst)
    elif isinstance(outcome, ErrorRecorded) and costs_nothing(outcome):
        return Charge(_NOTHING, is_known=True)
    return Charge(worst, is_known=False)


def costs_nothing(error: ErrorRecorded) -> bool:
    """Whether the error shows that the server did not answer: it refused, or was not reached; or
    whether it voids an answer, which has the cost."""
    if error.kind == VOIDS_ANSWER:
        return True
    if error.status is None:
        return error.kind == "connection" and error.latency_ms is None  # nothing was written to it
    refused = 400 <= error.status < 500 and error.status not in _TIMED_OUT
    return refused or (error.disposition == "deferred" and error.status != _BAD_GATEWAY)


class RequestSpending(NamedTuple):
    """A request that cost something, or may have."""

    event: RequestSent | Outcome
    """Its outcome; the request itself if it waits for one."""
    spent: Spent

    @property
    def key(self) -> str:
        """The key of the model or judge that was asked."""
        return self.event.judge or self.event.model_key


def spending_of(history: Iterable[Event], prices: Prices) -> list[RequestSpending]:
    """The spending of each request of an evaluation's history, in order, as in `charge_of`.

    Left out are requests that cost nothing, such as those that their server refused.
    """
    charged: list[RequestSpending] = []
    request: RequestSent | None = None
    for event in history:
        if type(event) is RequestSent:
            request = event
        elif type(event) is ResponseReceived:
            spent = Spent.of(event.usage, answer_cost(prices, event))
            if spent.unpriced:
                spent = spent.bounded(_worst_case(prices, request))
            charged.append(RequestSpending(event, spent))
            request = None
        elif isinstance(event, ErrorRecorded | AttemptOrphaned):
            if not (isinstance(event, ErrorRecorded) and costs_nothing(event)):
                charged += _possibly_charged(prices, request, event)
            request = None
    if request is not None:
        charged += _possibly_charged(prices, request, request)
    return charged


def _possibly_charged(
    prices: Prices, request: RequestSent | None, event: RequestSent | Outcome
) -> Iterator[RequestSpending]:
    """The spending of a request without an answer; nothing if its server charges nothing."""
    worst = _worst_case(prices, request)
    if worst is None or worst:
        yield RequestSpending(event, Spent(possibly_charged=1).bounded(worst))


def _worst_case(prices: Prices, request: RequestSent | None) -> Decimal | None:
    return None if request is None else worst_case(prices, request)
