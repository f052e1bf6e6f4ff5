"""The page `docs/reference/tables.md`, generated from the definitions of the projections.

python -m tools.tables_reference > docs/reference/tables.md
"""

from __future__ import annotations

import sys
from typing import Any

import psycopg

from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.runner import prepare

_INTRODUCTION = """\
# Tables

<!-- Generated: python -m tools.tables_reference > docs/reference/tables.md -->

These are the tables and views of the schema `projections`. They hold what the log says, as rows
that any SQL client can read. [Query the tables](../how-to/projections.md) shows what to ask them.
The database has the same descriptions as comments: `\\d+ projections.run_results`.
"""
_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum)
FROM pg_attribute a
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


def reference(connection: psycopg.Connection[Any]) -> str:
    """The whole page: a heading and a table of columns for each relation, as the database says.

    The projections' tables must be there (`projections.runner.prepare`).
    """
    parts = [_INTRODUCTION]
    for projection in PROJECTIONS:
        for relation in projection.relations:
            name = f"projections.{relation.name}"
            row = connection.execute("SELECT obj_description(%s::regclass)", (name,)).fetchone()
            assert row is not None
            parts.append(f"## `{name}`\n\n{row[0]}\n")
            columns = connection.execute(_COLUMNS, (name,)).fetchall()
            if any(meaning for _, _, meaning in columns):
                parts.append("| column | type | meaning |\n|---|---|---|")
                lines = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in columns]
                parts.append("\n".join([*lines, ""]))
    return "\n".join(parts)


def main() -> None:
    """Print the page, from a database made for it."""
    from tests.benchmarks.servers import benchmark_store

    with benchmark_store() as url, Store.open(url) as store, store.connect() as connection:
        prepare(connection)
        sys.stdout.write(reference(connection))


if __name__ == "__main__":
    main()
