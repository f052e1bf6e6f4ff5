"""The pages on the projections are current, and what they show works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import projections.batch as batching
from failproof_es.store.store import Store
from projections import PROJECTIONS, Projection
from projections.protocol import Relation
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
    committed = (DOCS / "reference" / "tables.md").read_text("utf-8")
    assert committed == page, (
        "renew it: python -m tools.tables_reference > docs/reference/tables.md"
    )


@pytest.mark.parametrize("relation", [r for p in PROJECTIONS for r in p.relations], ids=str)
def test_every_column_that_users_read_says_what_it_means(store: Store, relation: Relation) -> None:
    behind_a_view = relation.name in BEHIND_A_VIEW
    with store.connect() as connection:
        prepare(connection)
        silent = connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
            "AND col_description(attrelid, attnum) IS NULL",
            (f"projections.{relation.name}",),
        ).fetchall()
    assert bool(silent) == behind_a_view, silent


@pytest.mark.parametrize("query", blocks("sql"))
def test_the_queries_it_shows_give_rows(store: Store, followed: Rows, query: str) -> None:
    with store.connect() as connection:
        assert connection.execute(query.encode()).fetchall()


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
