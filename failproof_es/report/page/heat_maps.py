"""Failures where categories and severities meet, as pictures and as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.report.charts import plots as charts
from failproof_es.report.data.content import HeatCell, Report
from failproof_es.report.page.blocks import Block, Figure, Table, TableColumn
from failproof_es.report.page.tables import MOST_ROWS_DRAWN, collapsed


def heat_maps(report: Report) -> Iterator[Block]:
    """For each series, a heat map and a table of failures by category and severity.

    Nothing with a single category or severity, of which the pass rates say as much. A very large
    heat map is left out.
    """
    categories = sorted({cell.category for cell in report.heat})
    severities = sorted({cell.severity for cell in report.heat})
    if len(categories) < 2 or len(severities) < 2:
        return
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
    table = Table(
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
    yield collapsed(table)
