"""Shows whether the rows of the read models are those that the log gives."""

from __future__ import annotations

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
_REMEDY = (
    "`failproof-es projections rebuild` makes the rows again from the log. Reports and other files "
    "on record are made from the log, not from rows"
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


def rows_document(comparison: RowComparison | None) -> dict[str, Any] | None:
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
        "remedy": _remedy(comparison),
    }


def _remedy(comparison: RowComparison) -> str | None:
    """The remedy for the deviations, in JSON and below the table; `None` without one."""
    return _REMEDY if comparison.deviations else None


def _listed_rows(changed: Sequence[ChangedRow]) -> list[ChangedRow]:
    of_tables = groupby(changed, key=lambda row: row.table)
    return [row for _, rows in of_tables for row in islice(rows, _MOST_LISTED)]


def _row(row: ChangedRow) -> dict[str, Any]:
    return {"table": row.table, "row": dict(row.names), "message": str(row)}


def print_comparison(comparison: RowComparison) -> None:
    """Print each changed row, and how many agree with the log."""
    changed, listed = comparison.changed, _listed_rows(comparison.changed)
    for what in comparison.not_as_installed:
        click.echo(one_line(f"among the read models, {what}"))
    for row in listed:
        click.echo(one_line(f"row of a read model changed: {row}"))
    if len(changed) > len(listed):
        click.echo(f"row of a read model changed: {len(changed) - len(listed):,} more")
    for name, why in comparison.not_compared.items():
        say(f"not compared with the log: {name}: {why}")
    names = ", ".join(comparison.projections)
    if changed:
        click.echo(f"read models ({names}): CHANGED, at least {plural(len(changed), 'row')}")
    elif comparison.projections and not comparison.not_as_installed:
        click.echo(f"read models ({names}): {plural(comparison.rows, 'row')} as the log gives them")
    if (remedy := _remedy(comparison)) is not None:
        say(remedy)
