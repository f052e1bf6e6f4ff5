"""Shows whether the rows of the read models are those that the log gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import groupby, islice
from typing import Any

import click

from failproof_es.cli.rendering.output import say
from failproof_es.store.errors import UnreadableState
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line
from projections.log_comparison import ChangedRow, NotComparable, RowComparison

_MOST_LISTED = 10
"""Most changed rows of a table that are listed."""
_LARGEST_INTEGER = 2**53
"""The largest integer that every reader of JSON takes."""
_REMEDY = (
    "`failproof-es projections rebuild` makes the rows again from the log. Reports and other files "
    "on record are made from the log, not from rows"
)
_REMEDY_UNPROVEN = (
    "do not rebuild these rows: the log is not proven genuine, and if it was changed, a row may "
    "hold the last true value. Copy the database first (`pg_dump`)"
)


def try_comparison(compare: Callable[[], RowComparison]) -> RowComparison | None:
    """The comparison; `None`, and a note on stderr, if there can be none.

    This login or server allows no temporary table, or a newer version wrote an event.
    """
    try:
        return compare()
    except (NotComparable, UnreadableState) as error:
        say(f"the rows of the read models were NOT compared with the log: {error}")
        return None


def rows_document(
    comparison: RowComparison | None, *, log_is_genuine: bool
) -> dict[str, Any] | None:
    """The comparison as an object for JSON; `None` without one."""
    if comparison is None:
        return None
    return {
        "projections": comparison.projections,
        "not_compared": comparison.not_compared,
        "rows": comparison.rows,
        "changed": [_row(row) for row in _listed_rows(comparison.changed)],
        "changed_rows": len(comparison.changed),
        "not_as_installed": comparison.not_as_installed,
        "remedy": _remedy(comparison, log_is_genuine),
    }


def _remedy(comparison: RowComparison, log_is_genuine: bool) -> str | None:
    """The remedy for the deviations, in JSON and below the table; `None` without one."""
    if not comparison.deviations:
        return None
    return _REMEDY if log_is_genuine else _REMEDY_UNPROVEN


def _listed_rows(changed: Sequence[ChangedRow]) -> list[ChangedRow]:
    of_tables = groupby(changed, key=lambda row: row.table)
    return [row for _, rows in of_tables for row in islice(rows, _MOST_LISTED)]


def _row(row: ChangedRow) -> dict[str, Any]:
    differences = {
        column: {"in_table": _json_value(in_table), "by_log": _json_value(by_log)}
        for column, (in_table, by_log) in row.differences.items()
    }
    return {
        "table": row.table,
        "row": dict(row.names),
        "is_in_table": row.in_table is not None,
        "is_in_log": row.in_log is not None,
        "columns": differences,
        "message": str(row),
    }


def _json_value(value: Any) -> str | bool | int | None:
    """A text, flag, null or small number as it is; any other value as its JSON text."""
    is_plain = value is None or isinstance(value, str | bool)
    if is_plain or (isinstance(value, int) and abs(value) <= _LARGEST_INTEGER):
        return value  # type: ignore[no-any-return]
    return json.dumps(value, default=str)


def print_comparison(comparison: RowComparison, *, log_is_genuine: bool) -> None:
    """Print each row that differs, and how many agree with the log.

    Unless `log_is_genuine`, nothing says that the row was changed and not the log.
    """
    row_differs = "row of a read model " + ("changed" if log_is_genuine else "differs from the log")
    changed, listed = comparison.changed, _listed_rows(comparison.changed)
    for what in comparison.not_as_installed:
        click.echo(one_line(f"among the read models, {what}"))
    for row in listed:
        click.echo(one_line(f"{row_differs}: {row}"))
    if len(changed) > len(listed):
        click.echo(f"{row_differs}: {len(changed) - len(listed):,} more")
    for name, why in comparison.not_compared.items():
        say(f"not compared with the log: {name}: {why}")
    names = ", ".join(comparison.projections)
    if changed:
        state = "CHANGED" if log_is_genuine else "not as the log gives them"
        click.echo(f"read models ({names}): {state}, at least {plural(len(changed), 'row')}")
    elif comparison.projections and not comparison.not_as_installed:
        click.echo(f"read models ({names}): {plural(comparison.rows, 'row')} as the log gives them")
    if (remedy := _remedy(comparison, log_is_genuine)) is not None:
        say(remedy)
