"""Formats numbers for people: a rate always has its counts and its interval."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from failproof_es.events import ModelSnapshot
from failproof_es.support.percentages import percent as percent
from failproof_es.support.percentages import ratio
from failproof_es.support.plurals import plural

if TYPE_CHECKING:  # scipy takes a third of a second, and a terminal wants percentages, too
    from failproof_es.support.statistics import Interval, Rate

_NOTHING = "nothing to count"


def moment(value: datetime) -> str:
    """A time to the second, in UTC."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def points(difference: float) -> str:
    """A difference of two shares, in percentage points."""
    return f"{difference * 100:.1f} points"


def describe_version(model: ModelSnapshot) -> str:
    """The demanded version, and whether answers were checked against it; empty where none was."""
    if model.version is None:
        return ""
    unchecked = model.settings.get("version_check") == "name"
    note = " (not checked: version_check: name)" if unchecked else ""
    return f", version {model.version}{note}"


def judge_named(key: str) -> str:
    """A judge's key in readable form; any other key is returned unchanged."""
    name = key.removeprefix("judge:")
    return key if name == key else f"judge {name}"


def between(interval: Interval) -> str:
    """An interval of a share, with its confidence and its method."""
    if interval.low <= 0.0 and interval.method.endswith("one-sided"):
        bounds = f"at most {percent(interval.high)}"
    elif interval.high >= 1.0 and interval.method.endswith("one-sided"):
        bounds = f"at least {percent(interval.low)}"
    else:
        bounds = f"{percent(interval.low)} to {percent(interval.high)}"
    confidence = f"{interval.confidence * 100:.0f} %"
    return f"{bounds} with {confidence} confidence ({interval.method})"


def describe_counts(passed: int, total: int) -> str:
    """A rate by its counts, without an interval."""
    value = ratio(passed, total)
    return _NOTHING if value is None else f"{passed:,} of {total:,} ({percent(value)})"


def describe_rate(rate: Rate) -> str:
    """A rate in one phrase."""
    if rate.value is None or rate.interval is None:
        return _NOTHING
    counts = describe_counts(rate.passed, rate.total)
    clusters = "" if rate.clusters == rate.total else f", {plural(rate.clusters, 'cluster')}"
    return f"{counts}{clusters}: {between(rate.interval)}"


def describe_bounds(bounds: tuple[float, float] | None) -> str:
    """Suffix of a rate that leaves out unscored evaluations; empty where all have a score."""
    if bounds is None:
        return ""
    low, high = map(percent, bounds)
    return f"; {low} to {high} if everything unscored had failed or passed"


def usd(cost: float | None) -> str:
    """An amount in US dollars; `unknown` for `None`."""
    if cost is None:
        return "unknown"
    return f"${cost:,.4f}" if cost < 1 else f"${cost:,.2f}"
