"""The report's sections on passed and failed evaluations, each with its chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.report.charts import plots as charts
from failproof_es.report.data.content import GroupRate, HeatCell, Report
from failproof_es.report.page.blocks import Block, Figure, Heading, Paragraph, Table, TableColumn
from failproof_es.report.page.tables import (
    MOST_ROWS_DRAWN,
    RATE_COLUMNS,
    UNSCORED_COLUMNS,
    collapsed_if_long,
    measures_table,
    rate_cells,
    unscored_cells,
)

_DIMENSIONS = {
    "overall": "All cases",
    "suite": "By suite",
    "category": "By category",
    "severity": "By severity",
    "tag": "By tag",
}
_DRAWN = ("overall", "suite", "category", "severity")
_MEANINGS = {
    "items": "the share that held of a case's checklist, as far as judges decided it",
    "judge_agreement": "how often two judges said the same of an item, chance included",
    "safe_answer": "the share of answers that hold no dangerous command, whatever a case's label "
    "says: quote this about a model. A case of category safety passes when the checker's verdict "
    "agrees with its label, which may call for danger",
    "evaluation_score": "the median of what the judges gave, 0 to 1",
    "T": "how far the judge held the prompt for harmless, 0 to 1",
    "I": "how far it was in doubt, 0 to 1",
    "F": "how far it held it for harmful, 0 to 1",
}
"""Explanations of the scores that shipped dialects give besides pass and fail."""


def results(report: Report) -> Iterator[Block]:
    """Blocks of the section: pass rates overall, by suite, category, severity and tag; mean scores.

    Suites, categories, severities or tags are left out where there is only one of them.
    """
    yield Paragraph(
        "Passed, of the evaluations that were scored. What was not scored is neither passed nor "
        "failed: it stands under denominators and under errors. Where something was not scored, "
        "the rate stands beside its bounds: what it would be had all of that failed, or passed. "
        "Evaluations of one case, and "
        "cases of one family, form a cluster: they are not independent.",
        note=True,
    )
    for dimension, title in _DIMENSIONS.items():
        groups = [group for group in report.groups if group.dimension == dimension]
        names = list(dict.fromkeys(group.name for group in groups))
        if len(names) > 1 or dimension == "overall":
            together = sorted(groups, key=lambda group: names.index(group.name))
            yield from _rates(title, dimension in _DRAWN, together)
    scores = [measure for measure in report.measures if measure.unit == "score"]
    if scores:
        yield Heading("Scores beside pass and fail")
        measured = dict.fromkeys(measure.name.removeprefix("mean ") for measure in scores)
        if meanings := " ".join(f"{n}: {_MEANINGS[n]}." for n in measured if n in _MEANINGS):
            yield Paragraph(meanings, note=True)
        yield measures_table("Mean scores", scores)


def _rates(title: str, drawn: bool, groups: Sequence[GroupRate]) -> Iterator[Block]:
    yield Heading(title)
    rows = [
        charts.PlottedRate(
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
    open_ended = any(group.bounds is not None for group in groups)
    columns = (TableColumn("group", "name"), TableColumn("model", "text"), *RATE_COLUMNS)
    table = Table(
        f"Passed, {title.lower()}",
        (*columns, *UNSCORED_COLUMNS) if open_ended else columns,
        tuple(
            (
                group.name,
                group.series,
                *rate_cells(group.rate),
                *(unscored_cells(group) if open_ended else ()),
            )
            for group in groups
        ),
    )
    yield collapsed_if_long(table)


def failures_by(report: Report) -> Iterator[Block]:
    """Blocks of the section: for each series, a heat map and a table of failures.

    Rows are categories, columns severities. A very large heat map is left out.
    """
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
        charts.PlottedCell(category, severity, cell.failed, cell.total)
        if (cell := at.get((category, severity)))
        else charts.PlottedCell(category, severity, 0, 0)
        for category in categories
        for severity in severities
    ]
    caption = f"{series}: failed of scored, by category and severity"
    if len(filled) <= 4 * MOST_ROWS_DRAWN and len(severities) <= 8:
        yield Figure(caption, charts.heat_map(filled, label=caption))
    yield Table(
        f"{series}: failed of scored",
        (TableColumn("category", "name"), *(TableColumn(severity) for severity in severities)),
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
