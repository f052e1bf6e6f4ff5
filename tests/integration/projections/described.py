"""The tables and columns of the projections as `docs/reference/projections.md` lists them.

`python -m tests.integration.projections.described` writes them there anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.runner import prepare
from tests.benchmarks.servers import benchmark_store

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "projections.md"
BEGIN, END = "<!-- generated: tables -->\n", "<!-- end of generated -->\n"

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum)
FROM pg_attribute a
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


def described(connection: psycopg.Connection[Any]) -> str:
    """One heading and table of columns for each relation, from the database's own comments."""
    parts = []
    for projection in PROJECTIONS:
        for relation in projection.relations:
            name = f"projections.{relation.name}"
            row = connection.execute("SELECT obj_description(%s::regclass)", (name,)).fetchone()
            assert row is not None
            parts.append(f"### `{name}`\n\n{row[0]}\n")
            columns = connection.execute(_COLUMNS, (name,)).fetchall()
            if any(meaning for _, _, meaning in columns):
                lines = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in columns]
                heading = ["| column | type | meaning |", "|---|---|---|"]
                parts.append("\n".join([*heading, *lines, ""]))
    return "\n".join(parts)


def main() -> None:
    before, rest = DOCUMENT.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    with benchmark_store() as url, Store.open(url) as store, store.connect() as connection:
        prepare(connection)
        section = described(connection)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{section}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
