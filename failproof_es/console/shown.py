"""Parts that several pages show in the same way."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256

from failproof_es.console.page import Shown
from failproof_es.core.tally import Judged, RateBounds, fewest_judged_cases
from failproof_es.report.data.wording import describe_bounds, describe_rate
from failproof_es.support.statistics import ClusterSums, rate_of_sums


def live_key(*names: str) -> str:
    """What live numbers call an element that shows a number of the thing with these names."""
    told = repr(names).encode("utf-8", "backslashreplace")
    return f"{names[0]}-{sha256(told).hexdigest()[:16]}"


class RateShown(Shown):
    """`passed` of `total`, never without both, and its interval; `None` of nothing."""

    passed: int
    total: int
    rate: float | None
    low: float | None
    high: float | None
    bounds: tuple[float, float] | None = None
    """The rate had everything unscored failed, and had it passed; `None` without any."""
    says: str
    """All of it in one phrase, with the method and the confidence of the interval."""


def rate_shown(passed: int, failed: int, clusters: int | None, unscored: int = 0) -> RateShown:
    """The rate of those that passed or failed."""
    bounds = RateBounds(Fraction(passed), passed + failed, unscored).bounds
    found = rate_of_sums(ClusterSums.alone(passed, failed))
    interval = found.interval
    return RateShown(
        passed=found.passed,
        total=found.total,
        rate=found.value,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        bounds=bounds,
        says=describe_rate(found) + describe_bounds(bounds),
    )


def rate_of_group(group: Judged, per_case: int) -> RateShown:
    """The pass rate of counts, of which `per_case` at most are of one case."""
    clusters = fewest_judged_cases(group, per_case)
    return rate_shown(group.passed, group.failed, clusters, group.unscored)
