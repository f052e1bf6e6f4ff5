"""The charge of a request against the spend ceiling, by its outcome. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from failproof_es.core.costs import Prices, answer_cost
from failproof_es.events import AttemptOrphaned, ErrorRecorded, ResponseReceived

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
    """Whether the error shows that the server did not answer: it refused, or was not reached."""
    if error.status is None:
        return error.kind == "connection" and error.latency_ms is None  # nothing was written to it
    refused = 400 <= error.status < 500 and error.status not in _TIMED_OUT
    return refused or (error.disposition == "deferred" and error.status != _BAD_GATEWAY)
