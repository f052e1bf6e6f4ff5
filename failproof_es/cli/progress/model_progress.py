"""The progress of one model: its counts, its pace and the limit of its server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from failproof_es.core.costs import Spent
from failproof_es.core.summary import RequestStats
from failproof_es.core.tally import Group
from failproof_es.support.percentages import ratio


@dataclass(slots=True)
class ModelProgressState:
    """One model's progress. `planned` counts evaluations: cases x repetitions."""

    key: str
    planned: int = 0
    group: Group = field(default_factory=Group)
    """The finished evaluations, carried-over ones included."""
    carried_over: int = 0
    """Number of evaluations in `group` that were carried over from another run."""
    asking: RequestStats = field(default_factory=RequestStats)
    spent: Spent = field(default_factory=Spent)
    """Tokens and costs of the requests for this model, judges' included."""
    priced: bool = False
    """Whether a price of the model is on record."""
    in_flight: set[UUID] = field(default_factory=set)

    @classmethod
    def of_all(cls, key: str, models: Sequence[ModelProgressState]) -> ModelProgressState:
        """The progress of several models together; the cost is known if that of each is."""
        total = cls(key, priced=bool(models))
        for model in models:
            total.planned += model.planned
            total.group.include(model.group)
            total.carried_over += model.carried_over
            total.asking.include(model.asking)
            total.spent.include(model.spent)
            total.priced = total.priced and model.priced
            total.in_flight |= model.in_flight
        return total

    @property
    def cost_usd(self) -> float | None:
        """The cost of all answers so far, in US dollars.

        `None` if the model has no recorded price, or if the cost of one answer is unknown.
        """
        cost = self.spent.cost_usd
        return float(cost) if self.priced and cost is not None else None

    @property
    def finished(self) -> int:
        """The number of evaluations with their final result, carried-over ones included."""
        return self.group.finished

    @property
    def finished_here(self) -> int:
        """The number of evaluations that this run itself finished."""
        return self.group.finished - self.carried_over

    @property
    def error_rate(self) -> float | None:
        """The share of finished evaluations that were abandoned and do not await review.

        `None` if none is finished.
        """
        return ratio(self.group.missing, self.group.finished)


@dataclass(frozen=True, slots=True)
class Pace:
    """A model's finished evaluations per second, and the seconds left.

    Each is `None` until enough evaluations are finished to measure it.
    """

    per_second: float | None
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The limit of concurrent requests of a model's or judge's server, and its ceiling.

    While a `Retry-After` holds requests, `held_until` is its end.
    """

    allowed: int | None
    """`None` if neither the run nor its server has set a limit."""
    ceiling: int | None
    held_until: datetime | None
    held_s: float
    """The seconds left until `held_until`; 0 without one."""
