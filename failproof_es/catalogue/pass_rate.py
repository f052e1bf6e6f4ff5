"""`PassRate`: how many passed of how many, as run documents and the console show it.

A report has observations instead of counts: `pass_rate_of` in `failproof_es.report.data.analysis`.
"""

from __future__ import annotations

from fractions import Fraction

from failproof_es.catalogue.wording import describe_bounds, describe_counts, describe_rate
from failproof_es.core.clusters import ClusterSums
from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import BoundedRate
from failproof_es.support.document import Document
from failproof_es.support.extras import is_installed


class PassRate(Document):
    """`passed` of `total`, never without both, and its interval; `None` of nothing, and of the
    interval where the extra `report` is not installed."""

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
    """All of it in one phrase, with the confidence of the interval."""


def build_model_pass_rate(
    summary: RunSummary, model: str, suite: str | None = None, *, interval: bool = True
) -> PassRate:
    """The pass rate of a model in one run, over one suite or (if `suite` is `None`) over all.

    `model` is the model's key; `interval` is as in `build_pass_rate`.
    """
    unscored = summary.group(model=model, suite=suite).unscored
    return build_pass_rate(summary.cluster_sums(model, suite), unscored, interval=interval)


def build_pass_rate(sums: ClusterSums, unscored: int = 0, *, interval: bool = True) -> PassRate:
    """The pass rate with its interval, and with its bounds if `unscored` is not 0.

    `sums` are sums over the clusters (cases or families) of the evaluations that passed or failed;
    `unscored` evaluations are not among them. The rate has no interval without the extra `report`,
    which computes it, nor with `interval=False`: loading that takes a third of a second.
    """
    counted = BoundedRate(Fraction(sums.passed), sums.size, unscored)
    says, ends = describe_counts(sums.passed, sums.size), None
    if interval and is_installed("report"):
        from failproof_es.support.statistics import rate_of_sums

        rate = rate_of_sums(sums)
        says, ends = describe_rate(rate), rate.interval
    return PassRate(
        passed=sums.passed,
        total=sums.size,
        clusters=sums.clusters,
        rate=counted.rate,
        low=ends and ends.low,
        high=ends and ends.high,
        method=ends and ends.method,
        bounds=counted.bounds,
        says=says + describe_bounds(counted.bounds),
    )
