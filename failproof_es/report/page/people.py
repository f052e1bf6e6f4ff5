"""The report's section on evaluations that were left to people and their verdicts."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.catalogue.wording import percent
from failproof_es.reading.people_figures import ALL_CASES, DIMENSIONS, PeopleFigure
from failproof_es.report.data.content import Report
from failproof_es.report.page.blocks import Block, Cell, Paragraph, Table, TableColumn
from failproof_es.report.page.tables import INTERVAL, collapsed_if_long

_COLUMNS = (
    TableColumn("group", "name"),
    TableColumn("model", "name"),
    TableColumn("passed"),
    TableColumn("of"),
    TableColumn("rate"),
    INTERVAL,
    TableColumn("method", "text"),
    TableColumn("clusters"),
    TableColumn("disputed"),
    TableColumn("unclear"),
    TableColumn("awaiting review"),
)


def people(report: Report) -> Iterator[Block]:
    """Blocks of the section: pass rates by people, overall and by severity, category and tag."""
    if not any(provenance.run.by_people for provenance in report.asked):
        yield Paragraph("Nothing was left to people.")
        return
    yield Paragraph(
        "Evaluations that no program and no judge decided. Passed, of those that people passed or "
        "failed: the last verdict of each reviewer counts. Disputed: their last verdicts differ. "
        "These evaluations are in no other rate of this report.",
        note=True,
    )
    several = len(report.asked) > 1
    for dimension in DIMENSIONS:
        rows = tuple(
            _cells(figure, f", run {provenance.run.run_number}" if several else "")
            for provenance in report.asked
            for figure in provenance.run.by_people
            if figure.dimension == dimension
        )
        if rows:
            title = ALL_CASES if dimension == "overall" else f"by {dimension}"
            yield collapsed_if_long(Table(f"Decided by people, {title}", _COLUMNS, rows))


def _cells(figure: PeopleFigure, of_run: str) -> tuple[Cell, ...]:
    interval = figure.interval
    return (
        figure.name,
        figure.model + of_run,
        f"{figure.passed:,}",
        f"{figure.decided:,}",
        "–" if figure.rate is None else percent(figure.rate),
        "–" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}",
        figure.method or "nothing to count",
        f"{figure.clusters:,}",
        f"{figure.disputed:,}",
        f"{figure.unclear:,}",
        f"{figure.awaiting_review:,}",
    )
