"""Parts that several pages show in the same way."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256

from failproof_es.console.page import Shown
from failproof_es.core.clusters import ClusterSums
from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import RateBounds
from failproof_es.report.data.wording import describe_bounds, describe_rate
from failproof_es.support.statistics import rate_of_sums


def live_key(*names: str) -> str:
    """What live numbers call an element that shows a number of the thing with these names."""
    told = repr(names).encode("utf-8", "backslashreplace")
    return f"{names[0]}-{sha256(told).hexdigest()[:16]}"


class RateShown(Shown):
    """`passed` of `total`, never without both, and its interval; `None` of nothing."""

    passed: int
    total: int
    clusters: int
    """Cases and families that these are of."""
    rate: float | None
    low: float | None
    high: float | None
    bounds: tuple[float, float] | None = None
    """The rate had everything unscored failed, and had it passed; `None` without any."""
    method: str | None
    says: str
    """All of it in one phrase, with the method and the confidence of the interval."""


def rate_of_model(summary: RunSummary, model: str, suite: str | None = None) -> RateShown:
    """The pass rate of a model in one run, in this suite or in all."""
    unscored = summary.group(model=model, suite=suite).unscored
    return rate_shown(summary.cluster_sums(model, suite), unscored)


def rate_shown(sums: ClusterSums, unscored: int = 0) -> RateShown:
    """The rate of evaluations with a verdict, over their cases and families, and its bounds."""
    found = rate_of_sums(sums)
    bounds = RateBounds(Fraction(found.passed), found.total, unscored).bounds
    interval = found.interval
    return RateShown(
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
