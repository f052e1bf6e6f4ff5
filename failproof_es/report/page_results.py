"""The report's sections that have pictures: results, failures, cost and latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.report import charts
from failproof_es.report.content import (
    Cost,
    Distribution,
    Group,
    HeatCell,
    Measure,
    Report,
)
from failproof_es.report.page_blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Table,
)
from failproof_es.report.wording import percent, usd
from failproof_es.statistics import Interval, Rate

MOST_ROWS_DRAWN = 60
MOST_ROWS_OPEN = 40
RATE_COLUMNS = (
    Column("passed"),
    Column("of"),
    Column("rate"),
    Column("interval"),
    Column("method", "text"),
    Column("clusters"),
)
"""What a rate is never written without."""

_DIMENSIONS = {
    "overall": "All cases",
    "suite": "By suite",
    "category": "By category",
    "severity": "By severity",
    "tag": "By tag",
}
_DRAWN = ("overall", "suite", "category", "severity")


def rate_cells(rate: Rate) -> tuple[Cell, ...]:
    """A rate under `RATE_COLUMNS`."""
    if rate.value is None:
        return ("0", "0", "–", "–", "nothing to count", "0")
    if rate.interval is None:
        counts = f"{rate.passed:,}", f"{rate.total:,}", percent(rate.value)
        return (*counts, "–", "not known", f"{rate.clusters:,}")
    return (
        f"{rate.passed:,}",
        f"{rate.total:,}",
        percent(rate.value),
        bounds(rate.interval),
        f"{rate.interval.method}, {rate.interval.confidence:.0%}",
        f"{rate.clusters:,}",
    )


def bounds(interval: Interval) -> str:
    """The two ends of an interval of a share."""
    return f"{percent(interval.low)} to {percent(interval.high)}"


def results(report: Report) -> Iterator[Block]:
    """Pass rates by everything that cases have."""
    yield Paragraph(
        "Passed, of the evaluations that were scored. What was not scored is neither passed nor "
        "failed: it stands under denominators and under errors. Evaluations of one case, and "
        "cases of one family, form a cluster: they are not independent.",
        note=True,
    )
    for dimension, title in _DIMENSIONS.items():
        found = [group for group in report.groups if group.dimension == dimension]
        names = list(dict.fromkeys(group.name for group in found))
        if len(names) > 1 or dimension == "overall":
            together = sorted(found, key=lambda group: names.index(group.name))
            yield from _rates(title, dimension in _DRAWN, together)
    scores = [each for each in report.measures if each.unit == "score"]
    if scores:
        yield Heading("Scores beside pass and fail")
        yield _measures("Mean scores", scores)


def _rates(title: str, drawn: bool, groups: Sequence[Group]) -> Iterator[Block]:
    yield Heading(title)
    rows = [
        charts.Interval(
            group.name,
            group.series,
            group.rate.value,
            group.rate.interval.low,
            group.rate.interval.high,
            group.rate.passed,
            group.rate.total,
        )
        for group in groups
        if group.rate.value is not None and group.rate.interval is not None
    ]
    caption = f"Pass rate, {title.lower()}, with intervals"
    if drawn and 0 < len(rows) <= MOST_ROWS_DRAWN:
        yield Figure(caption, charts.interval_dots(rows, label=caption, axis="passed"))
    table = Table(
        f"Passed, {title.lower()}",
        (Column("group", "name"), Column("model", "text"), *RATE_COLUMNS),
        tuple((group.name, group.series, *rate_cells(group.rate)) for group in groups),
    )
    if len(table.rows) > MOST_ROWS_OPEN:
        yield Fold(f"Passed, {title.lower()}: {len(table.rows):,} rows", (), (table,))
    else:
        yield table


def failures_by(report: Report) -> Iterator[Block]:
    """Where categories and severities meet, a picture a series."""
    if not any(cell.failed for cell in report.heat):
        yield Paragraph("Nothing that was scored failed.")
        return
    categories = sorted({cell.category for cell in report.heat})
    severities = sorted({cell.severity for cell in report.heat})
    for series in report.series:
        cells = [cell for cell in report.heat if cell.series == series]
        if cells:
            yield from _heat(series, categories, severities, cells)


def _heat(
    series: str, categories: Sequence[str], severities: Sequence[str], cells: Sequence[HeatCell]
) -> Iterator[Block]:
    at = {(cell.category, cell.severity): cell for cell in cells}
    filled = [
        charts.HeatCell(category, severity, cell.failed, cell.total)
        if (cell := at.get((category, severity)))
        else charts.HeatCell(category, severity, 0, 0)
        for category in categories
        for severity in severities
    ]
    caption = f"{series}: failed of scored, by category and severity"
    if len(filled) <= 4 * MOST_ROWS_DRAWN and len(severities) <= 8:
        yield Figure(caption, charts.heat_map(filled, label=caption))
    yield Table(
        f"{series}: failed of scored",
        (Column("category", "name"), *(Column(severity) for severity in severities)),
        tuple(
            (
                category,
                *(
                    f"{cell.failed:,} of {cell.total:,}"
                    if (cell := at.get((category, severity)))
                    else "not asked"
                    for severity in severities
                ),
            )
            for category in categories
        ),
    )


def cost_and_latency(report: Report) -> Iterator[Block]:
    """What was paid to whom, and how long answers took."""
    yield Heading("Cost")
    yield from _costs(report.costs)
    yield Heading("Latency")
    yield from _latencies(report.latencies)
    measured = [each for each in report.measures if each.unit != "score"]
    if measured:
        yield _measures("Latency and speed", measured)


def _costs(costs: Sequence[Cost]) -> Iterator[Block]:
    if not costs:
        yield Paragraph("Nothing was answered, so nothing is known to have been paid.")
        return
    several = len({cost.run_number for cost in costs}) > 1
    names = [f"{cost.key}, run {cost.run_number}" if several else cost.key for cost in costs]
    known = [
        charts.Bar(name, cost.cost_usd, f"{usd(cost.cost_usd)}, {cost.answers:,} answers")
        for name, cost in zip(names, costs, strict=True)
        if cost.cost_usd is not None
    ]
    if known and any(bar.value > 0 for bar in known):
        caption = "Cost by model and judge"
        yield Figure(caption, charts.bars(known, label=caption, axis="US dollars"))
    yield Table(
        "Paid for answers",
        (
            Column("model or judge", "name"),
            Column("answers"),
            Column("input tokens"),
            Column("output tokens"),
            Column("cost"),
            Column("cost of an answer"),
        ),
        tuple(
            (
                name,
                f"{cost.answers:,}",
                _count(cost.input_tokens),
                _count(cost.output_tokens),
                usd(cost.cost_usd),
                _each(cost),
            )
            for name, cost in zip(names, costs, strict=True)
        ),
    )


def _each(cost: Cost) -> str:
    if cost.cost_usd is None or not cost.answers:
        return "unknown"
    return f"${cost.cost_usd / cost.answers:.6f}"


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def _latencies(distributions: Sequence[Distribution]) -> Iterator[Block]:
    curves = [_curve(each) for each in distributions if each.values]
    if not curves:
        yield Paragraph("Nothing was answered, so nothing was measured.")
        return
    caption = "Share of answers within a time"
    yield Figure(caption, charts.latency_curves(curves, label=caption))


def _curve(distribution: Distribution) -> charts.Curve:
    total = len(distribution.values)
    return charts.Curve(
        distribution.series,
        tuple((ms, (index + 1) / total) for index, ms in enumerate(distribution.values)),
    )


def _measures(caption: str, measures: Sequence[Measure]) -> Table:
    return Table(
        caption,
        (
            Column("model", "name"),
            Column("what", "text"),
            Column("of"),
            Column("value"),
            Column("interval"),
            Column("method", "text"),
        ),
        tuple(
            (
                each.series,
                each.name,
                f"{each.of:,}",
                _amount(each.value, each.unit),
                _measured(each),
                "nothing varies" if each.interval is None else each.interval.method,
            )
            for each in measures
        ),
    )


def _measured(measure: Measure) -> str:
    if measure.interval is None:
        return "–"
    low, high = (
        _number(end, measure.unit) for end in (measure.interval.low, measure.interval.high)
    )
    return f"{low} to {high}"


def _amount(value: float, unit: str) -> str:
    number = _number(value, unit)
    return number if unit == "score" else f"{number} {unit}"


def _number(value: float, unit: str) -> str:
    if unit == "score":
        return f"{value:.3f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"
