"""Draws a page's numbers with the report's charts, and caches the drawings.

Importing this module takes longer than any page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from failproof_es.catalogue.wording import judge_named, usd_at_least
from failproof_es.console.pages.charts import CostOf, FailedWhere, RateOf
from failproof_es.reading.overviews.distributions import STEPS, FinishedOverTime, Spread
from failproof_es.report.charts import plots
from failproof_es.report.page.tables import MOST_ROWS_DRAWN

CACHED_DRAWINGS = 200
"""Number of drawings that are cached."""
_MOST_SEVERITIES = 8
"""Most columns of a map of failures."""


@lru_cache(maxsize=CACHED_DRAWINGS)
def drawn(what: str, of: tuple[Any, ...], label: str) -> Markup | None:
    """A chart as inline SVG; `None` where there is nothing to draw, or too much to be readable.

    `what` is a key of `_CHARTS`, `of` the rows of the page, `label` the accessible name.
    """
    return _CHARTS[what](of, label)


def prepare() -> None:
    """Load the drawing library, which takes a second or more, before the first chart needs it."""
    plots.bars([plots.Bar("nothing", 0.0, "0")], label="nothing", axis="nothing")


def _rates(of: tuple[RateOf, ...], label: str) -> Markup | None:
    rows = [
        plots.PlottedRate(
            suite_rate.suite,
            suite_rate.model,
            rate.rate,
            rate.low,
            rate.high,
            rate.passed,
            rate.total,
        )
        for suite_rate in of
        if (rate := suite_rate.passed).rate is not None
        and rate.low is not None
        and rate.high is not None
    ]
    if not 0 < len(rows) <= MOST_ROWS_DRAWN:
        return None
    return plots.interval_dots(rows, label=label, axis="passed")


def _failures(
    of: tuple[tuple[FailedWhere, ...], tuple[str, ...], tuple[str, ...]], label: str
) -> Markup | None:
    """`of`: one model's groups, and the categories and severities of all models, which line up."""
    groups, categories, severities = of
    many = len(groups) > MOST_ROWS_DRAWN or len(categories) > MOST_ROWS_DRAWN
    if many or len(severities) > _MOST_SEVERITIES or not any(group.failed for group in groups):
        return None
    counted = {(group.category, group.severity): (group.failed, group.total) for group in groups}
    cells = [
        plots.PlottedCell(category, severity, *counted.get((category, severity), (0, 0)))
        for category in categories
        for severity in severities
    ]
    return plots.heat_map(cells, label=label)


def _latencies(of: tuple[Spread, ...], label: str) -> Markup | None:
    return _curves([(spread.model, spread.latency_ms) for spread in of], label, "milliseconds",
                   "answered within")  # fmt: skip


def _costs_of_answers(of: tuple[Spread, ...], label: str) -> Markup | None:
    return _curves(
        [(spread.model, spread.cost_usd) for spread in of], label, "US dollars", "cost at most"
    )


def _curves(
    of: list[tuple[str, tuple[float, ...]]], label: str, axis: str, share: str
) -> Markup | None:
    curves = [
        plots.Curve(model, tuple((value, step / STEPS) for step, value in enumerate(values)))
        for model, values in of
        if values
    ]
    if not any(point for curve in curves for point, _ in curve.points):
        return None
    return plots.latency_curves(curves, label=label, axis=axis, share=share)


def _progress(of: tuple[FinishedOverTime, ...], label: str) -> Markup | None:
    curves = [
        plots.Curve(
            progress.model, tuple((s, done / progress.points[-1][1]) for s, done in progress.points)
        )
        for progress in of
        if progress.points[-1][1]
    ]
    if not curves:
        return None
    return plots.latency_curves(
        curves, label=label, axis="seconds since the start", share="finished"
    )


def _costs(of: tuple[CostOf, ...], label: str) -> Markup | None:
    bars = [
        plots.Bar(
            judge_named(cost.asked),
            cost.cost_usd,
            usd_at_least(cost.cost_usd, cost.possibly_charged),
        )
        for cost in of
        if cost.cost_usd
    ]
    return plots.bars(bars, label=label, axis="US dollars") if bars else None


_CHARTS: dict[str, Callable[[Any, str], Markup | None]] = {
    "rates": _rates,
    "failures": _failures,
    "latencies": _latencies,
    "costs of answers": _costs_of_answers,
    "costs": _costs,
    "progress": _progress,
}
