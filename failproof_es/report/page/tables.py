"""Tables that several sections of the page share."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.catalogue.wording import percent
from failproof_es.report.data.content import GroupRate, Measure
from failproof_es.report.page.blocks import Block, Cell, Collapsible, Table, TableColumn
from failproof_es.support.plurals import plural
from failproof_es.support.statistics import CONFIDENCE, Interval, Rate

MOST_ROWS_DRAWN = 60
MOST_ROWS_OPEN = 40
INTERVAL = TableColumn(f"{CONFIDENCE * 100:.0f} % interval")
RATE_COLUMNS = (
    TableColumn("passed"),
    TableColumn("of"),
    TableColumn("rate"),
    INTERVAL,
    TableColumn("method", "text"),
    TableColumn("clusters"),
)
"""Columns of every rate, in the order of `rate_cells`."""


UNSCORED_COLUMNS = (TableColumn("unscored"), TableColumn("if those failed or passed"))
"""Additional columns if evaluations of a group have no score, in the order of `unscored_cells`."""


def unscored_cells(group: GroupRate) -> tuple[Cell, ...]:
    """The cells of a group for `UNSCORED_COLUMNS`: how many have no score, bounds of the rate."""
    ends = "" if group.bounds is None else " to ".join(map(percent, group.bounds))
    return f"{group.unscored:,}", ends


def rate_cells(rate: Rate) -> tuple[Cell, ...]:
    """The cells of a rate for `RATE_COLUMNS`: zeros and dashes if nothing was counted."""
    if rate.value is None or rate.interval is None:
        return ("0", "0", "–", "–", "nothing to count", "0")
    return (
        f"{rate.passed:,}",
        f"{rate.total:,}",
        percent(rate.value),
        bounds(rate.interval),
        rate.interval.method,
        f"{rate.clusters:,}",
    )


def bounds(interval: Interval) -> str:
    """The two ends of a rate's interval as text: `81.2 % to 93.0 %`."""
    return f"{percent(interval.low)} to {percent(interval.high)}"


def measures_table(caption: str, measures: Sequence[Measure]) -> Table:
    """Table of means and percentiles, each with its sample size and its interval."""
    columns = (
        TableColumn("model", "name"),
        TableColumn("what", "text"),
        TableColumn("of"),
        TableColumn("value"),
        INTERVAL,
        TableColumn("method", "text"),
        TableColumn("clusters"),
    )
    rows = tuple(
        (
            measure.series,
            measure.name,
            f"{measure.of:,}",
            _amount(measure.value, measure.unit),
            _ends(measure),
            "too few, or nothing varies" if measure.interval is None else measure.interval.method,
            f"{measure.clusters:,}",
        )
        for measure in measures
    )
    return Table(caption, columns, rows)


def _ends(measure: Measure) -> str:
    if measure.interval is None:
        return "–"
    low, high = measure.interval.low, measure.interval.high
    if high is None:
        return f"at least {_number(low or 0.0, measure.unit)}"
    if low is None:
        return f"at most {_number(high, measure.unit)}"
    return f"{_number(low, measure.unit)} to {_number(high, measure.unit)}"


def _amount(value: float, unit: str) -> str:
    number = _number(value, unit)
    return number if unit == "score" else f"{number} {unit}"


def _number(value: float, unit: str) -> str:
    if unit == "score":
        return f"{value:.3f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def collapsed_if_long(table: Table) -> Block:
    """The table; if it has more than `MOST_ROWS_OPEN` rows, closed behind its caption."""
    if len(table.rows) <= MOST_ROWS_OPEN:
        return table
    return Collapsible(f"{table.caption}: {plural(len(table.rows), 'row')}", (), (table,))


def without_empty_columns(table: Table) -> Table:
    """A copy of the table without the columns whose cells are empty in every row."""
    filled_columns = [at for at in range(len(table.columns)) if any(row[at] for row in table.rows)]
    return Table(
        table.caption,
        tuple(table.columns[at] for at in filled_columns),
        tuple(tuple(row[at] for at in filled_columns) for row in table.rows),
    )
