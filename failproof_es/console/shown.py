"""Parts that several pages show in the same way."""

from __future__ import annotations

from hashlib import sha256

from failproof_es.console.page import Shown
from failproof_es.core.tally import Judged, fewest_judged_cases
from failproof_es.report.data.wording import describe_rate
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
    says: str
    """All of it in one phrase, with the method and the confidence of the interval."""


def rate_shown(passed: int, failed: int, clusters: int | None) -> RateShown:
    """The rate of those that passed or failed."""
    found = rate_of_sums(ClusterSums.alone(passed, failed))
    interval = found.interval
    return RateShown(
        passed=found.passed,
        total=found.total,
        rate=found.value,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        says=describe_rate(found),
    )


def rate_of_group(group: Judged, per_case: int) -> RateShown:
    """The pass rate of counts, of which `per_case` at most are of one case."""
    return rate_shown(group.passed, group.failed, fewest_judged_cases(group, per_case))
