"""A row that is not what the log gives is found, whatever column of whatever table was changed."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from failproof_es.store.connecting import connect
from failproof_es.store.schema.installation import AUDITOR
from failproof_es.store.store import Store
from projections import PROJECTIONS
from projections.log_comparison import NotComparable, RowComparison, compare_log, compare_run
from projections.runner import prepare, rebuild
from tests.integration.projections.world import RUN, World, follow_to_the_end, record

TABLES = [
    relation.name
    for projection in PROJECTIONS
    for relation in projection.relations
    if relation.kind == "TABLE"
]
_OTHER = {
    "boolean": "NOT coalesce({0}, false)", "text": "coalesce({0}, '') || 'x'",
    "json": "'\"forged\"'", "uuid": "gen_random_uuid()", "ARRAY": "ARRAY['forged']",
    "timestamp with time zone": "coalesce({0}, now()) + interval '1 second'",
}  # fmt: skip
_WITHOUT_RUN = {"unplaced_events"}
"""The row of the world stands in no run: only the whole log tells."""


def changed(comparison: RowComparison) -> set[tuple[str, str]]:
    """Every (table, column) that the comparison names."""
    return {
        (row.table, column)
        for row in comparison.changed
        for column in row.in_table or {}
        if row.in_log is not None and str(row).count(f" {column} is ")
    }


def change_a_row(projector: psycopg.Connection[Any], table: str) -> set[tuple[str, str]]:
    """Change everything but the key in one row of the table; returns each (table, column)."""
    columns = projector.execute(
        "SELECT c.column_name, c.data_type FROM information_schema.columns AS c "
        "WHERE table_schema = 'projections' AND table_name = %(table)s "
        "AND column_name NOT IN ('run_id', 'test_run_id') AND column_name NOT IN (SELECT a.attname "
        "FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid "
        "AND a.attnum = ANY (i.indkey) WHERE i.indisprimary "
        "AND i.indrelid = ('projections.' || %(table)s)::regclass)",
        {"table": table},
    ).fetchall()
    assert columns
    values = ", ".join(
        f'"{name}" = ' + _OTHER.get(kind, "coalesce({0}, 0) + 1").format(f'"{name}"')
        for name, kind in columns
    )
    done = projector.execute(
        f"UPDATE projections.{table} SET {values} WHERE ctid = "
        f"(SELECT ctid FROM projections.{table} ORDER BY ctid LIMIT 1)".encode()
    )
    assert done.rowcount == 1, table
    return {(f"projections.{table}", name) for name, _ in columns}


@pytest.fixture
def world(store: Store) -> Store:
    """A run in which everything happens, and its rows."""
    record(store, World(6).events)
    with store.connect() as connection:
        prepare(connection)
        follow_to_the_end(connection)
    return store


def test_every_changed_column_of_every_table_is_named(
    world: Store, administrator: psycopg.Connection[Any]
) -> None:
    with world.connect() as connection:
        names = [projection.name for projection in PROJECTIONS]
        for found in (compare_run(connection, RUN), compare_log(connection, lambda *_: None)):
            assert (found.projections, found.changed) == (names, [])
        forged = set()
        for table in TABLES:
            forged |= change_a_row(administrator, table)
        of_run = {(table, column) for table, column in forged if table[12:] not in _WITHOUT_RUN}
        assert changed(compare_run(connection, RUN)) == of_run
        assert changed(compare_log(connection, lambda *_: None)) == forged
        rebuild(connection)
        assert compare_log(connection, lambda *_: None).changed == []


def test_rows_removed_and_invented_are_named(
    world: Store, administrator: psycopg.Connection[Any]
) -> None:
    administrator.execute("DELETE FROM projections.evaluations WHERE repetition = 1")
    administrator.execute("UPDATE projections.run_groups SET run_id = gen_random_uuid()")
    with world.connect() as connection:
        by_run, by_log = (
            [str(row) for row in found.changed]
            for found in (compare_run(connection, RUN), compare_log(connection, lambda *_: None))
        )
    for lines in (by_run, by_log):
        assert any("projections.evaluations: the row of" in line for line in lines)
    assert any("projections.run_groups: the row of" in line for line in by_run)
    assert any("projections.run_groups: the log gives no row of" in line for line in by_log)


def test_documents_with_more_spaces_hide_no_changed_row(
    world: Store, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.log_comparison.MOST_CHANGED", 1)
    administrator.execute("UPDATE projections.prompts SET tags = (tags::text || ' ')::json")
    administrator.execute(
        "UPDATE projections.prompts SET suite_id = 'forged' WHERE prompt_id::text = "
        "(SELECT max(prompt_id::text) FROM projections.prompts)"
    )
    with world.connect() as connection:
        found = compare_run(connection, RUN)
    assert changed(found) == {("projections.prompts", "suite_id")}


def test_a_row_with_a_deeply_nested_document_is_named(
    world: Store, administrator: psycopg.Connection[Any]
) -> None:
    changed_row = administrator.execute(
        "UPDATE projections.evaluations SET details = (repeat('[', 5000) || repeat(']', 5000))"
        "::json WHERE evaluation_id = (SELECT evaluation_id FROM projections.evaluations LIMIT 1) "
        "RETURNING evaluation_id::text"
    ).fetchone()
    assert changed_row is not None
    with world.connect() as connection:
        [row] = compare_run(connection, RUN).changed
    assert row.names["evaluation_id"] == changed_row[0]
    assert f"row of evaluation_id {changed_row[0]}" in str(row)


def test_a_position_that_was_moved_is_found_by_the_rows(
    world: Store, administrator: psycopg.Connection[Any]
) -> None:
    administrator.execute("UPDATE projections.positions SET position = 12 WHERE name = 'reviews'")
    with world.connect() as connection:
        found = compare_log(connection, lambda *_: None)
        administrator.execute("UPDATE projections.positions SET version = 1")
        older = compare_log(connection, lambda *_: None)
        assert (older.deviations, older.projections) == ([], [])
    assert {row.table for row in found.changed} == {
        "projections.review_history", "projections.run_annotations",
    }  # fmt: skip


def test_without_temporary_tables_nothing_is_compared(
    world: Store, administrator: psycopg.Connection[Any]
) -> None:
    with world.connect() as connection:
        connection.execute("SET default_transaction_read_only = on")
        assert compare_run(connection, RUN).changed == []
    database = administrator.info.dbname
    administrator.execute(f"REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC".encode())
    auditor = world.url.replace("//postgres@", f"//{AUDITOR}@")
    with connect(auditor) as session, pytest.raises(NotComparable, match="permission denied"):
        compare_run(session, RUN)
