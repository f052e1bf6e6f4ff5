"""The report's charts. Each function takes plain numbers and returns one inline `<svg>`.

Colour is never the only distinction: a series also has a shape or a dash, a cell its count. Names
from data (of categories, of models) are shown on one line, escaped and visibly shortened. Every
number must be finite, and no sequence may be empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from failproof_es.report.charts.frame import (
    ROW,
    amount,
    cycled,
    field,
    finished,
    format_label,
    labels_of,
    legend_of,
    mark,
    name_axis,
    names_of,
    roles,
    side_text,
)
from failproof_es.report.charts.svg import RAMP, SERIES, colour
from failproof_es.support.percentages import percent, percent_range

PAIR_LENGTH = 56
CURVE_POINTS = 400
LOG_FROM_RATIO = 50

_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "stroke")
_DASHES: tuple[list[int], ...] = ([], [7, 3], [2, 2], [7, 3, 2, 3], [12, 3], [1, 3], [4, 6])
_DOT = {"filled": True, "size": 70, "opacity": 1}
_SHARES = {"domain": [0, 1]}
_PERCENT = {"format": ".0%", "tickCount": 5}
_SIGNED_POINTS = "datum.value == 0 ? '0' : format(100 * datum.value, '+.0f')"


@dataclass(frozen=True, slots=True)
class PlottedRate:
    """The pass rate (0 to 1) of one series in the row `name`, with its interval and its counts.

    `passed` is `None` for a rate that is not a share of counted passes.
    """

    name: str
    series: str
    rate: float
    low: float
    high: float
    passed: int | None
    total: int


@dataclass(frozen=True, slots=True)
class PlottedCell:
    """A cell of a heat map: `failed` of `total` evaluations; `total` is 0 if nothing was asked."""

    row: str
    column: str
    failed: int
    total: int


@dataclass(frozen=True, slots=True)
class Curve:
    """An empirical distribution of one series: points (value, share at or below it), ascending.

    Values are in the unit of the chart's axis, shares from 0 to 1.
    """

    series: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its name, its length (0 or more) in the unit of the axis, and the text beside it."""

    name: str
    value: float
    label: str


@dataclass(frozen=True, slots=True)
class PlottedDifference:
    """A paired difference of pass rates (-1 to 1) with its interval, and the text beside it."""

    name: str
    difference: float
    low: float
    high: float
    label: str


def _describe_rate(row: PlottedRate) -> str:
    return percent(row.rate) if row.passed is None else f"{row.passed} of {row.total}"


def interval_dots(intervals: Sequence[PlottedRate], *, label: str, axis: str) -> Markup:
    """Rates as dots with intervals, one row for each name in the order given.

    A row has one dot for each series. `label` describes the chart in words, `axis` is the title of
    the horizontal axis.
    """
    names = names_of(row.name for row in intervals)
    series = names_of(row.series for row in intervals)
    rows = [
        {
            "name": names[row.name],
            "series": series[row.series],
            "rate": row.rate,
            "low": row.low,
            "high": row.high,
            "count": "" if row.passed is None else f"{row.passed:,}/{row.total:,}",
            "says": f"{names[row.name]}, {series[row.series]}: {_describe_rate(row)}, "
            f"interval {percent_range((row.low, row.high))}",
        }
        for row in intervals
    ]
    height = len(names) * (ROW if len(series) == 1 else 10 + 19 * len(series))
    place = {"y": name_axis(names.values())}
    if len(series) > 1:
        place["yOffset"] = field("series", scale={"domain": list(series.values())})
    legend = legend_of(series)
    shown = {
        **place,
        "color": field("series", scale=roles(series.values(), "series", SERIES), legend=legend),
        "description": field("says"),
    }
    span = {"x": amount("low", title=axis, scale=_SHARES, axis=_PERCENT), "x2": {"field": "high"}}
    shape = field("series", scale=cycled(series.values(), _SHAPES), legend=legend)
    bars = mark("rule", {**shown, **span}, strokeWidth=2)
    dots = mark("point", {**shown, "x": amount("rate"), "shape": shape}, **_DOT)
    return finished([bars, dots, side_text(place, "count")], rows, label, height=height)


def heat_map(cells: Sequence[PlottedCell], *, label: str) -> Markup:
    """Heat map of failures with `k/n` in each cell; a dash where nothing was asked.

    Rows and columns are in order of first appearance; a cell may be missing. The colour shows the
    share that failed. `label` describes the chart in words.
    """
    rows = names_of(cell.row for cell in cells)
    columns = names_of(cell.column for cell in cells)
    at = {(cell.row, cell.column): cell for cell in cells}
    values = [_heat_value(rows[r], columns[c], at.get((r, c))) for r in rows for c in columns]
    place = {
        "y": name_axis(rows.values()),
        "x": field(
            "column",
            title=None,
            scale={"domain": list(columns.values())},
            axis={"orient": "top", "labelAngle": 0, "domain": False, "ticks": False},
        ),
        "description": field("says"),
    }
    steps = [str(step) for step in range(RAMP)]
    ground = field("step", scale=roles(steps, "ramp", RAMP), legend=None)
    ink = field("step", scale=roles(steps, "on-ramp", RAMP), legend=None)
    grounds = mark("rect", {**place, "fill": ground}, stroke=colour("line"), strokeWidth=1)
    texts = mark("text", {**place, "text": field("count"), "color": ink}, fontSize=12)
    return finished(
        [grounds, texts],
        values,
        label,
        width=max(92 * len(columns), 120),
        height=(ROW + 8) * len(rows),
    )


def latency_curves(
    curves: Sequence[Curve],
    *,
    label: str,
    axis: str = "milliseconds",
    share: str = "answered within",
) -> Markup:
    """Empirical distributions, one stepped line for each series.

    `axis` and `share` are the titles of the horizontal and the vertical axis: the same chart shows
    latencies, costs and progress. `label` describes the chart in words. The horizontal axis is
    logarithmic if the largest value is `LOG_FROM_RATIO` times the smallest or more.
    """
    series = names_of(curve.series for curve in curves)
    values = [
        {"series": series[curve.series], "ms": ms, "fraction": fraction, "order": order}
        for curve in curves
        for order, (ms, fraction) in enumerate(_thinned(curve.points))
    ]
    times = [ms for curve in curves for ms, _ in curve.points]
    apart = min(times) > 0 and max(times) / min(times) >= LOG_FROM_RATIO
    steps = _one_two_five(min(times), max(times)) if apart else None
    legend = legend_of(series)
    encoding = {
        "x": amount(
            "ms",
            title=axis + (" (logarithmic)" if apart else ""),
            scale={"type": "log", "domain": [steps[0], steps[-1]]} if steps else {"zero": True},
            axis={"format": ",~r", "values": steps} if steps else {"tickCount": 6},
        ),
        "y": amount("fraction", title=share, scale=_SHARES, axis=_PERCENT),
        "color": field("series", scale=roles(series.values(), "series", SERIES), legend=legend),
        "strokeDash": field("series", scale=cycled(series.values(), _DASHES), legend=legend),
        "order": amount("order"),
    }
    lines = mark("line", encoding, interpolate="step-after", strokeWidth=2)
    return finished([lines], values, label, height=200)


def bars(amounts: Sequence[Bar], *, label: str, axis: str) -> Markup:
    """Bar chart with a row for each amount, in the order given, and its text beside the bar.

    `label` describes the chart in words, `axis` is the title of the horizontal axis.
    """
    labels = labels_of([bar.name for bar in amounts])
    values = [
        {
            "name": name,
            "value": bar.value,
            "written": format_label(bar.label),
            "says": f"{name}: {format_label(bar.label)}",
        }
        for name, bar in zip(labels, amounts, strict=True)
    ]
    place = {"y": name_axis(labels)}
    length = amount("value", title=axis, axis={"tickCount": 5})
    encoding = {**place, "x": length, "description": field("says")}
    lengths = mark("bar", encoding, height=12, color=colour("series-0"))
    layers = [lengths, side_text(place, "written")]
    return finished(layers, values, label, height=ROW * len(amounts))


def difference_forest(differences: Sequence[PlottedDifference], *, label: str, axis: str) -> Markup:
    """Forest plot: paired differences with their intervals, one in a row, and a line at 0.

    `label` describes the chart in words, `axis` is the title of the horizontal axis.
    """
    labels = labels_of([row.name for row in differences], PAIR_LENGTH)
    values = [
        {
            "name": name,
            "difference": row.difference,
            "low": row.low,
            "high": row.high,
            "written": format_label(row.label),
            "says": f"{name}: {format_label(row.label)}",
        }
        for name, row in zip(labels, differences, strict=True)
    ]
    reach = max(0.05, *(max(abs(row.low), abs(row.high)) for row in differences))
    reach = min(1.0, ceil(reach * 20) / 20)
    place = {"y": name_axis(labels)}
    shown = {**place, "description": field("says")}
    signed = {"labelExpr": _SIGNED_POINTS, "tickCount": 5}
    low = amount("low", title=axis, scale={"domain": [-reach, reach]}, axis=signed)
    spans = {**shown, "x": low, "x2": {"field": "high"}}
    dots = {**shown, "x": amount("difference"), "shape": {"value": "diamond"}}
    none = mark("rule", {"x": amount("none")}, strokeDash=[4, 3], color=colour("muted"), aria=False)
    layers = [
        none | {"data": {"values": [{"none": 0}]}},
        mark("rule", spans, strokeWidth=2, color=colour("ink")),
        mark("point", dots, **_DOT, color=colour("ink")),
        side_text(place, "written"),
    ]
    return finished(layers, values, label, height=ROW * len(differences))


def _heat_value(row: str, column: str, cell: PlottedCell | None) -> dict[str, str]:
    if cell is None or cell.total == 0:
        count, says, step = "–", "nothing was asked", 0
    else:
        count, says = f"{cell.failed:,}/{cell.total:,}", f"{cell.failed} of {cell.total} failed"
        step = ceil(cell.failed / cell.total * (RAMP - 1))
    return {
        "name": row,
        "column": column,
        "count": count,
        "step": str(step),
        "says": f"{row}, {column}: {says}",
    }


def _one_two_five(low: float, high: float) -> list[float]:
    """Axis steps 1, 2, 5, 10, 20, ..., the fewest that enclose `low` (above 0) and `high`."""
    steps: list[float] = []
    for exponent in range(floor(log10(low)), ceil(log10(high)) + 1):
        steps.extend(factor * 10.0**exponent for factor in (1, 2, 5))
    first = max(index for index, step in enumerate(steps) if step <= low)
    last = min(index for index, step in enumerate(steps) if step >= high)
    return steps[first : last + 1]


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most `CURVE_POINTS` of the points, evenly chosen, first and last among them."""
    if len(points) <= CURVE_POINTS:
        return list(points)
    last = len(points) - 1
    return [points[round(i * last / (CURVE_POINTS - 1))] for i in range(CURVE_POINTS)]
