"""Columns in binary form: what PostgreSQL reads of them is what was put in, value for value."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import sql
from psycopg.rows import tuple_row

from failproof_es.store.store import Store
from failproof_es.store.writing import columns
from failproof_es.store.writing.columns import ArrayParameter

ID = uuid4()
CASES: dict[str, tuple[str, ArrayParameter, list[Any]]] = {
    "ids": ("uuid", columns.uuids([ID, UUID(int=0)]), [ID, UUID(int=0)]),
    "ids and NULL": ("uuid", columns.uuids([None, ID, None]), [None, ID, None]),
    "numbers": ("int8", columns.numbers([1, -1, 2**63 - 1]), [1, -1, 2**63 - 1]),
    "texts": (
        "text",
        columns.texts(["", "RequestSent", 'ü{,}\\"']),
        ["", "RequestSent", 'ü{,}\\"'],
    ),
    "bytes": ("bytea", columns.bytes_([b"", b'\0\xff{"a"}']), [b"", b'\0\xff{"a"}']),
    "none": ("uuid", columns.uuids([]), []),
}


@pytest.mark.parametrize("what", CASES)
def test_a_column_is_read_as_the_values_that_it_was_made_of(what: str, store: Store) -> None:
    kind, column, values = CASES[what]
    query = sql.SQL("SELECT %b::{}[]").format(sql.Identifier(kind))
    with store.connect() as connection, connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(query, (column,)).fetchone()
    assert row == (values,)
