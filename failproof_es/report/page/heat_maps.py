"""Failures where categories and severities meet, as pictures and as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.core.severity import severity_order
from failproof_es.report.charts import plots as charts
from failproof_es.report.data.content import HeatCell, Report
from failproof_es.report.page.blocks import Block, Collapsible, Figure, Table, TableColumn
from failproof_es.report.page.tables import MOST_ROWS_DRAWN, MOST_ROWS_OPEN


def heat_maps(report: Report) -> Iterator[Block]:
    """For each series, a heat map and a table of failures by category and severity.

    Nothing with a single category or severity, of which the pass rates say as much. More than
    `MOST_ROWS_OPEN` rows are closed, and a very large heat map is left out.
    """
    categories = sorted({cell.category for cell in report.heat})
    severities = sorted({cell.severity for cell in report.heat}, key=severity_order)
    if len(categories) < 2 or len(severities) < 2:
        return
    maps = [
        (series, cells)
        for series in report.series
        if (cells := [cell for cell in report.heat if cell.series == series])
    ]
    is_open = len(maps) * len(categories) <= MOST_ROWS_OPEN
    for series, cells in maps:
        figure, table = _heat(series, categories, severities, cells)
        if is_open:
            yield from figure
            yield Collapsible(f"{table.caption}, as a table", (), (table,))
        else:
            yield Collapsible(table.caption, (), (*figure, table), on_paper=False)


def _heat(
    series: str, categories: Sequence[str], severities: Sequence[str], cells: Sequence[HeatCell]
) -> tuple[list[Figure], Table]:
    """The figure, unless it would be very large, and the table of the same numbers."""
    at = {(cell.category, cell.severity): cell for cell in cells}
    filled = [
        charts.PlottedCell(category, severity, cell.failed, cell.total)
        if (cell := at.get((category, severity)))
        else charts.PlottedCell(category, severity, 0, 0)
        for category in categories
        for severity in severities
    ]
    caption = f"{series}: failed of scored, by category and severity"
    figure = []
    if len(filled) <= 4 * MOST_ROWS_DRAWN and len(severities) <= 8:
        figure.append(Figure(caption, charts.heat_map(filled, label=caption)))
    return figure, Table(
        caption,
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
