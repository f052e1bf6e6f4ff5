"""Formats numbers for people: a rate always has its counts and its interval."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from failproof_es.events import ModelSnapshot
from failproof_es.events.line import describe_verdict
from failproof_es.support.percentages import percent, percent_range, ratio
from failproof_es.support.plurals import plural

if TYPE_CHECKING:  # scipy takes a third of a second, and a terminal wants percentages, too
    from failproof_es.core.summary import RunSummary
    from failproof_es.engine.reviews.disputed_items import Vote
    from failproof_es.support.statistics import Interval, Rate

_NOTHING = "nothing to count"


def moment(value: datetime) -> str:
    """A time to the second, in UTC: `2026-05-04 13:00:00 UTC`."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def points(difference: float) -> str:
    """A difference of two shares (-1 to 1) in percentage points: `2.5 points`."""
    return f"{difference * 100:.1f} points"


def signed_points(difference: float) -> str:
    """A difference of two shares (-1 to 1) in percentage points, with its sign: `+2.5`, `−2.5`."""
    sign = "+" if difference > 0 else "−" if difference < 0 else ""
    return f"{sign}{abs(difference) * 100:.1f}"


def describe_version(model: ModelSnapshot) -> str:
    """The demanded version as a suffix, `, version 1`; empty if none is demanded.

    It says if answers were not checked against the version.
    """
    if model.version is None:
        return ""
    unchecked = model.settings.get("version_check") == "name"
    note = " (not checked: version_check: name)" if unchecked else ""
    return f", version {model.version}{note}"


def describe_model(model: ModelSnapshot) -> str:
    """A model with its version, its place and its parameters: `m at http://host/v1: seed 7`.

    The place is the base URL, else the class, else the provider.
    """
    place = model.settings.get("base_url") or model.settings.get("class") or model.provider
    parameters = ", ".join(f"{name} {value}" for name, value in model.parameters.items())
    description = f"{model.model}{describe_version(model)} at {place}"
    return f"{description}: {parameters}" if parameters else description


def judge_named(key: str) -> str:
    """A judge's key `judge:NAME` as `judge NAME`, `judge:judge` as `judge`; any other unchanged."""
    name = key.removeprefix("judge:")
    return name if name in (key, "judge") else f"judge {name}"


def between(interval: Interval) -> str:
    """An interval of a rate with its confidence: `81.2 % to 93.0 % with 95 % confidence`."""
    confidence = f"{interval.confidence * 100:.0f} %"
    return f"{percent_range((interval.low, interval.high))} with {confidence} confidence"


def describe_counts(passed: int, total: int) -> str:
    """A rate by its counts: `18 of 20 (90.0 %)`; `nothing to count` if `total` is 0."""
    value = ratio(passed, total)
    return _NOTHING if value is None else f"{passed:,} of {total:,} ({percent(value)})"


def describe_rate(rate: Rate) -> str:
    """A rate in one phrase: counts, percentage, clusters and interval; or `nothing to count`."""
    if rate.value is None or rate.interval is None:
        return _NOTHING
    counts = describe_counts(rate.passed, rate.total)
    clusters = "" if rate.clusters == rate.total else f", {plural(rate.clusters, 'cluster')}"
    return f"{counts}{clusters}: {between(rate.interval)}"


def describe_bounds(bounds: tuple[float, float] | None) -> str:
    """Suffix for a rate that leaves out unscored evaluations; empty if `bounds` is `None`.

    `bounds` are the rates if all of these had failed, and if all had passed.
    """
    if bounds is None:
        return ""
    return f"; {percent_range(bounds)} if everything unscored had failed or passed"


def describe_run_cost(summary: RunSummary) -> str | None:
    """The cost of a run, and of 1,000 evaluations at it: `$0.3436 for 65 evaluations, $5.29 for
    1,000`. Judges and requests that were repeated count. `None` if it is unknown or nothing."""
    evaluations = summary.total.finished - summary.asking().carried_over
    if not summary.cost_usd or evaluations <= 0:
        return None
    cost = float(summary.cost_usd)
    of_all = usd_at_least(cost, summary.spent.possibly_charged)
    of_all += f" for {plural(evaluations, 'evaluation')}"
    return f"{of_all}, {usd(1_000 * cost / evaluations)} for 1,000"


def usd_at_least(cost: float | None, possibly_charged: int | None) -> str:
    """A cost in words: `at least $0.0800` if requests without an answer may have been charged."""
    return f"at least {usd(cost)}" if possibly_charged and cost is not None else usd(cost)


def usd(cost: float | None) -> str:
    """An amount in US dollars, with four decimals below 1, else two; `unknown` for `None`."""
    if cost is None:
        return "unknown"
    return f"${cost:,.4f}" if cost < 1 else f"${cost:,.2f}"


def describe_vote(vote: Vote) -> str:
    """The vote with the words it rests on: `judge a: happened, "quoted"`."""
    verdict = "no verdict" if vote.verdict is None else describe_verdict(vote.verdict)
    severity = f", {vote.severity}" if vote.severity else ""
    words = f', "{vote.quote}"' if vote.quote else f", notes: {vote.notes}" if vote.notes else ""
    void = f" (does not count: {vote.void})" if vote.void else ""
    return f"{judge_named(vote.by)}: {verdict}{severity}{words}{void}"
