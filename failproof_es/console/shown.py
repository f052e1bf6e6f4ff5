"""Parts that several pages show in the same way."""

from __future__ import annotations

from hashlib import sha256

from failproof_es.console.page import Shown
from failproof_es.core.clusters import ClusterSums
from failproof_es.report.data.wording import describe_rate
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
    method: str | None
    says: str
    """All of it in one phrase, with the method and the confidence of the interval."""


def rate_shown(sums: ClusterSums) -> RateShown:
    """The rate of evaluations with a verdict, over their cases and families."""
    found = rate_of_sums(sums)
    interval = found.interval
    return RateShown(
        passed=found.passed,
        total=found.total,
        clusters=found.clusters,
        rate=found.value,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        method=None if interval is None else interval.method,
        says=describe_rate(found),
    )
