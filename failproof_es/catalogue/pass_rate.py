"""`PassRate`: how many passed of how many, as every surface shows it."""

from __future__ import annotations

from fractions import Fraction

from failproof_es.catalogue.document import Document
from failproof_es.catalogue.wording import describe_bounds, describe_rate
from failproof_es.core.clusters import ClusterSums
from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import RateBounds
from failproof_es.support.statistics import rate_of_sums


class PassRate(Document):
    """`passed` of `total`, never without both, and its interval; `None` of nothing."""

    passed: int
    total: int
    """Evaluations that passed or failed."""
    clusters: int
    """Cases and families that these are of."""
    rate: float | None
    low: float | None
    high: float | None
    bounds: tuple[float, float] | None = None
    """The rate had everything unscored failed, and had it passed; `None` without any."""
    method: str | None
    """Method of the interval from `low` to `high`."""
    says: str
    """All of it in one phrase, with the method and the confidence of the interval."""


def pass_rate_of_model(summary: RunSummary, model: str, suite: str | None = None) -> PassRate:
    """The pass rate of a model in one run, in this suite or in all."""
    unscored = summary.group(model=model, suite=suite).unscored
    return pass_rate(summary.cluster_sums(model, suite), unscored)


def pass_rate(sums: ClusterSums, unscored: int = 0) -> PassRate:
    """The rate of evaluations with a verdict, over their cases and families, and its bounds."""
    found = rate_of_sums(sums)
    bounds = RateBounds(Fraction(found.passed), found.total, unscored).bounds
    interval = found.interval
    return PassRate(
        passed=found.passed,
        total=found.total,
        clusters=found.clusters,
        rate=found.value,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        method=None if interval is None else interval.method,
        bounds=bounds,
        says=describe_rate(found) + describe_bounds(bounds),
    )
