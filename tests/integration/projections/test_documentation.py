"""The pages on the projections are current, and what they show works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import projections.batch as batching
from failproof_es.store.store import Store
from projections import PROJECTIONS, Projection
from projections.runner import catch_up, prepare, rebuild, status
from tests.integration.projections.world import Rows, World, record
from tools.tables_reference import reference

BEHIND_A_VIEW = (
    "evaluations", "token_usage", "planned_cases", "unplaced_events", "run_groups", "run_classes",
    "run_asking", "run_errors", "run_unscored", "run_latencies", "run_clusters",
)  # fmt: skip
DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "how-to" / "projections.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_tables_are_described_as_the_code_makes_them(store: Store) -> None:
    with store.connect() as connection:
        prepare(connection)
        page = reference(connection)
        silent = connection.execute(
            "SELECT DISTINCT relname FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid "
            "WHERE relnamespace = 'projections'::regnamespace AND relname = ANY (%s) "
            "AND attnum > 0 AND col_description(attrelid, attnum) IS NULL",
            ([relation.name for p in PROJECTIONS for relation in p.relations],),
        ).fetchall()
    assert {name for (name,) in silent} == set(BEHIND_A_VIEW), "each column says what it means"
    committed = (DOCS / "reference" / "tables.md").read_text("utf-8")
    assert committed == page, (
        "renew it: python -m tools.tables_reference > docs/reference/tables.md"
    )


def test_the_queries_it_shows_give_rows(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        for query in blocks("sql"):
            assert connection.execute(query.encode()).fetchall(), query


@pytest.fixture
def document() -> dict[str, Any]:
    """What the document's Python defines."""
    names: dict[str, Any] = {"__name__": "document"}
    for block in blocks("python"):
        exec(block, names)
    return names


@pytest.fixture
def example(document: dict[str, Any]) -> Projection:
    """The projection of one's own among it."""
    projection: Projection = document["ErrorKinds"]()
    return projection


def error_kinds(connection: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = connection.execute(
        "SELECT model_key, kind, errors FROM projections.error_kinds ORDER BY 1, 2"
    ).fetchall()
    return found


def test_the_projection_it_defines_follows_and_is_rebuilt(
    store: Store, world: World, example: Projection, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(store, world.events)
    with store.connect() as connection:
        prepare(connection, [example])
        while catch_up(connection, [example]):
            pass
        kinds = error_kinds(connection)
        assert [row[:2] for row in kinds] == [("large", "timeout"), ("small", "timeout")]
        recorded = sum(type(event).__name__ == "ErrorRecorded" for event in world.events)
        assert sum(row[2] for row in kinds) == recorded
        assert [s.behind for s in status(connection, [example])] == [0]
        for size in (1, 7):
            monkeypatch.setattr(batching, "BATCH_EVENTS", size)
            rebuild(connection, projections=[example])
            assert error_kinds(connection) == kinds


def test_a_projection_of_ones_own_leaves_the_others_alone(
    store: Store, followed: Rows, example: Projection
) -> None:
    with store.connect() as connection:
        prepare(connection, [example])
        assert {s.behind for s in status(connection)} == {0}
        assert all(s.behind for s in status(connection, [example]))


def test_the_functions_it_shows_follow_and_rebuild(
    store: Store, world: World, document: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    record(store, world.events)
    document["follow_once"](store.url)
    assert "name='error_kinds'" in capsys.readouterr().out
    with store.connect() as connection:
        followed = error_kinds(connection)
        document["build_anew"](store.url)
        assert followed and error_kinds(connection) == followed
