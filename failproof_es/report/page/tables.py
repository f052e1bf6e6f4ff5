"""Tables that several sections of the page share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from failproof_es.reading.people_figures import ALL_CASES
from failproof_es.report.data.content import GroupRate, Measure
from failproof_es.report.page.blocks import Block, Cell, Collapsible, Method, Table, TableColumn
from failproof_es.support.percentages import percent, percent_range
from failproof_es.support.plurals import plural
from failproof_es.support.statistics import CONFIDENCE, Interval, Rate

T = TypeVar("T")
MOST_ROWS_DRAWN = 60
MOST_ROWS_OPEN = 40
FEWEST_OF_A_GROUP = 5
"""Evaluations of a group on average, from which on the numbers of groups stand open."""
INTERVAL = TableColumn(f"{CONFIDENCE * 100:.0f} % interval")
MODEL = TableColumn("model", "name")
CLUSTERS = TableColumn("clusters")
RATE_COLUMNS = (TableColumn("passed"), TableColumn("rate"), INTERVAL, CLUSTERS)
"""Columns of a rate, in the order of `rate_cells`."""
UNSCORED_COLUMNS = (TableColumn("unscored"), TableColumn("if those failed or passed"))
"""Additional columns of a group's rate, in the order of `unscored_cells`."""
RATE_METHOD = (
    "Passed, of the evaluations that passed or failed. Intervals are Wilson's, over independent "
    "clusters: evaluations of one case, and cases of one family, form a cluster."
)
_METHODS = {
    "Wilson": "Wilson's interval over clusters (cases and families of cases).",
    "Student's t, over clusters": "Student's t over clusters (cases and families of cases).",
    "order statistics": "Order statistics over clusters (cases and families of cases). An end "
    "that so few answers cannot show is left open.",
}


def by_dimension(dimension: str) -> str:
    """The words for the groups of a dimension, or for all cases: `by severity`."""
    return ALL_CASES if dimension == "overall" else f"by {dimension}"


def unscored_cells(group: GroupRate) -> tuple[Cell, ...]:
    """The cells of a group for `UNSCORED_COLUMNS`; empty if everything has a score."""
    if group.bounds is None:
        return "", ""
    return f"{group.unscored:,}", percent_range(group.bounds)


def rate_cells(rate: Rate) -> tuple[Cell, ...]:
    """The cells of a rate for `RATE_COLUMNS`; clusters only where they are fewer than outcomes."""
    if rate.value is None or rate.interval is None:
        return "0 of 0", "–", "–", ""
    clusters = clusters_cell(rate.clusters, rate.total)
    return counts(rate), percent(rate.value), interval_ends(rate.interval), clusters


def clusters_cell(clusters: int, outcomes: int) -> str:
    """The cell of a number of clusters: empty unless they are fewer than the outcomes."""
    return "" if clusters == outcomes else f"{clusters:,}"


def counts(rate: Rate) -> str:
    """The counts behind a rate: `18 of 20`."""
    return f"{rate.passed:,} of {rate.total:,}"


def counted_rate(rate: Rate) -> str:
    """A rate with its counts and its interval in one cell; a dash if nothing was counted."""
    if rate.value is None or rate.interval is None:
        return "–"
    return f"{counts(rate)}: {percent(rate.value)} ({interval_ends(rate.interval)})"


def interval_ends(interval: Interval) -> str:
    """The two ends of a rate's interval as text: `81.2 % to 93.0 %`."""
    return percent_range((interval.low, interval.high))


def measures_tables(caption: str, measures: Sequence[Measure]) -> Iterator[Block]:
    """Tables of means and percentiles, one for each method of their intervals, and the method."""
    methods = dict.fromkeys(measure.interval.method for measure in measures if measure.interval)
    for at, method in enumerate(methods or [None]):
        alike = [
            measure
            for measure in measures
            if (measure.interval.method == method if measure.interval else at == 0)
        ]
        yield _measures_table(caption, alike)
        if method is not None:
            yield Method(_METHODS[method])


def _measures_table(caption: str, measures: Sequence[Measure]) -> Table:
    return table_of(
        caption,
        measures,
        (MODEL, lambda measure: measure.series),
        (TableColumn("what", "text"), lambda measure: measure.name),
        (TableColumn("of"), lambda measure: f"{measure.of:,}"),
        (TableColumn("value"), lambda measure: _amount(measure.value, measure.unit)),
        (INTERVAL, _ends),
        (CLUSTERS, lambda measure: clusters_cell(measure.clusters, measure.of)),
    )


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


def collapsed_if_long(table: Table, most: int = MOST_ROWS_OPEN) -> Block:
    """The table; if it has more than `most` rows, closed behind its caption."""
    return table if len(table.rows) <= most else collapsed(table)


def collapsed(table: Table) -> Collapsible:
    """The table, closed behind its caption; on paper, too, if it is long."""
    summary = f"{table.caption}: {plural(len(table.rows), 'row')}"
    return Collapsible(summary, (), (table,), on_paper=len(table.rows) <= MOST_ROWS_OPEN)


def table_of(
    caption: str, items: Iterable[T], *columns: tuple[TableColumn, Callable[[T], Cell]]
) -> Table:
    """A table with a row for each item, without columns whose cells are empty in every row.

    Each column has the function that makes its cell of an item.
    """
    headings = tuple(heading for heading, _ in columns)
    rows = tuple(tuple(cell_of(item) for _, cell_of in columns) for item in items)
    return without_empty_columns(Table(caption, headings, rows))


def counted(count: int | None) -> str:
    """A number with thousands marked; empty if it is unknown."""
    return "" if count is None else f"{count:,}"


def without_empty_columns(table: Table) -> Table:
    """A copy of the table without the columns whose cells are empty in every row."""
    filled_columns = [at for at in range(len(table.columns)) if any(row[at] for row in table.rows)]
    return Table(
        table.caption,
        tuple(table.columns[at] for at in filled_columns),
        tuple(tuple(row[at] for at in filled_columns) for row in table.rows),
    )
