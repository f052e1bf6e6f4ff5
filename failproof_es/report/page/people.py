"""The report's section on evaluations that were left to people and their verdicts."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.reading.people_figures import DIMENSIONS, PeopleFigure
from failproof_es.report.data.content import Report
from failproof_es.report.page.blocks import Block, Cell, Method, Table, TableColumn
from failproof_es.report.page.tables import (
    RATE_COLUMNS,
    by_dimension,
    clusters_cell,
    collapsed,
    without_empty_columns,
)
from failproof_es.support.percentages import percent, percent_range

_COLUMNS = (
    TableColumn("group", "name"),
    TableColumn("model", "name"),
    *RATE_COLUMNS,
    TableColumn("disputed"),
    TableColumn("unclear"),
    TableColumn("awaiting review"),
)


def people(report: Report) -> Iterator[Block]:
    """Blocks of the section: pass rates by people, overall and by severity, category and tag."""
    if not any(provenance.run.by_people for provenance in report.asked):
        return
    several = len(report.asked) > 1
    for dimension in DIMENSIONS:
        rows = tuple(
            _cells(figure, f" (run {provenance.run.run_number})" if several else "")
            for provenance in report.asked
            for figure in provenance.run.by_people
            if figure.dimension == dimension
        )
        if rows:
            title = f"Decided by people, {by_dimension(dimension)}"
            table = without_empty_columns(Table(title, _COLUMNS, rows))
            yield table if dimension == "overall" else collapsed(table)
    yield Method(
        "Evaluations that no program and no judge decided. Passed, of those that people passed or "
        "failed: the last verdict of each reviewer counts. Disputed: their last verdicts differ. "
        "These evaluations are in no other rate of this report. Intervals are Wilson's, over "
        "clusters."
    )


def _cells(figure: PeopleFigure, of_run: str) -> tuple[Cell, ...]:
    interval = figure.interval
    return (
        figure.name,
        figure.model + of_run,
        f"{figure.passed:,} of {figure.decided:,}" if figure.decided else "",
        "" if figure.rate is None else percent(figure.rate),
        "" if interval is None else percent_range(interval),
        clusters_cell(figure.clusters, figure.decided),
        *(
            f"{count:,}" if count else ""
            for count in (figure.disputed, figure.unclear, figure.awaiting_review)
        ),
    )
