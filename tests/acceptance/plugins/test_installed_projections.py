"""A projection from an installed package is followed, shown and rebuilt, and hurts none of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest

from failproof_es.store.store import Store
from projections.definitions import read_model_differences
from projections.installed import ENTRY_POINT_GROUP
from tests.acceptance.commands import invoke
from tests.acceptance.runs.test_gates import configured, model
from tests.plugin_packages import install, look_again

SOURCE = """
from projections.protocol import Relation

class Classes:
    name = "their_classes"
    version = 1
    relations = (Relation("TABLE", "their_classes"),)
    topics = frozenset({"Classified"})

    def ddl(self):
        return "CREATE TABLE their_classes (name text PRIMARY KEY, seen bigint NOT NULL)"

    def apply(self, cursor, facts):
        for fact in facts:
            cursor.execute(
                "INSERT INTO their_classes VALUES (%s, 1) "
                "ON CONFLICT (name) DO UPDATE SET seen = their_classes.seen + 1",
                (fact.payload["primary"],),
            )

class Sick(Classes):
    name = "sick"
    relations = (Relation("TABLE", "sick"),)

    def ddl(self):
        return "CREATE TABLE sick ()"

    def apply(self, cursor, facts):
        cursor.execute("SELECT nothing_such")

class Halfway(Classes):
    name = "halfway"
    relations = (Relation("TABLE", "halfway"),)

    def ddl(self):
        return "CREATE TABLE halfway (position bigint NOT NULL CHECK (position < 40))"

    def apply(self, cursor, facts):
        for fact in facts:
            cursor.execute("INSERT INTO halfway VALUES (%s)", (fact.position,))

class Greedy(Classes):
    name = "greedy"
    relations = (Relation("TABLE", "runs"),)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """On the path of this process and of the follower that it starts."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    yield tmp_path / "site"
    monkeypatch.undo()
    look_again()


def offer(monkeypatch: pytest.MonkeyPatch, site: Path, **classes: str) -> None:
    offered = {name: f"their_projections:{value}" for name, value in classes.items()}
    group = {ENTRY_POINT_GROUP: offered}
    install(monkeypatch, site, "their-projections", group, {"their_projections": SOURCE})


def status(store: Store, folder: Path) -> dict[str, dict[str, Any]]:
    shown = invoke(store.url, "projections", "status", "--format", "json", cwd=folder)
    assert shown.exit_code == 0, shown.output
    return {row["name"]: row for row in orjson.loads(shown.stdout)}


def test_it_is_followed_by_a_run_shown_rebuilt_and_readable_and_a_table_of_nobody_a_difference(
    store: Store,
    tmp_path: Path,
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
    administrator: psycopg.Connection[Any],
) -> None:
    offer(monkeypatch, site, their_classes="Classes")
    configured(tmp_path, model("v1"))
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    found = status(store, tmp_path)
    assert list(found)[-1] == "their_classes" and found["their_classes"]["behind"] == 0
    with store.connect() as connection:
        rows = connection.execute("SELECT * FROM projections.their_classes").fetchall()
        assert [tuple(row) for row in rows] == [("pass", 20)]
        (readable,) = connection.execute(
            "SELECT has_table_privilege('failproof_auditor', 'projections.their_classes', 'SELECT')"
        ).fetchone() or (None,)
        assert readable
        assert read_model_differences(connection) == []
    rebuilt = invoke(store.url, "projections", "rebuild", "their_classes", cwd=tmp_path)
    assert rebuilt.exit_code == 0, rebuilt.output
    administrator.execute("CREATE TABLE projections.of_nobody (name text)")
    with store.connect() as connection:
        rows = connection.execute("SELECT * FROM projections.their_classes").fetchall()
        assert [tuple(row) for row in rows] == [("pass", 20)]
        differences = [difference.what for difference in read_model_differences(connection)]
    assert any("of_nobody" in difference for difference in differences)


@pytest.mark.slow
def test_those_that_break_are_told_when_all_are_rebuilt_and_hold_up_none_of_ours(
    store: Store, tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, site, their_classes="Classes", sick="Sick", halfway="Halfway")
    configured(tmp_path, model("v1"))
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0

    def only_the_broken_ones_are_behind() -> bool:
        behind = {name for name, row in status(store, tmp_path).items() if row["behind"]}
        return behind == {"sick", "halfway"}

    assert only_the_broken_ones_are_behind()
    rebuilt = invoke(store.url, "projections", "rebuild", cwd=tmp_path)
    assert rebuilt.exit_code == 2
    assert "rebuilt run_results, audit_trail" in rebuilt.output
    assert "rebuilt their_classes" in rebuilt.output
    for name, why in (("sick", "UndefinedColumn"), ("halfway", "CheckViolation")):
        problem = rf"'{name}' of the package their-projections 1\.0 .*{why}.*\[plugin-failed\]"
        assert re.search(problem, rebuilt.output)
        one = invoke(store.url, "projections", "rebuild", name, cwd=tmp_path)
        assert one.exit_code == 2 and re.search(problem, one.output)
    assert only_the_broken_ones_are_behind()


def test_one_that_cannot_be_imported_hides_and_stops_none_of_ours(
    store: Store, tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, site, their_classes="Classes")
    gone = {ENTRY_POINT_GROUP: {"gone": "nowhere_at_all:It"}}
    install(monkeypatch, tmp_path / "other", "gone-package", gone)
    configured(tmp_path, model("v1"))
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    problem = r"'gone' of the package gone-package 1\.0 .*\[plugin-failed\]"
    shown = invoke(store.url, "projections", "status", cwd=tmp_path)
    assert shown.exit_code == 2 and re.search(problem, shown.output)
    assert "run_results" in shown.output and "their_classes" in shown.output
    rebuilt = invoke(store.url, "projections", "rebuild", cwd=tmp_path)
    assert rebuilt.exit_code == 2 and re.search(problem, rebuilt.output)
    assert "rebuilt run_results" in rebuilt.output and "rebuilt their_classes" in rebuilt.output
    assert invoke(store.url, "projections", "rebuild", "reviews", cwd=tmp_path).exit_code == 0


def test_one_whose_tables_are_named_like_ours_is_refused(
    store: Store, tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, site, greedy="Greedy")
    shown = invoke(store.url, "projections", "status", cwd=tmp_path)
    assert shown.exit_code == 2
    assert "their-projections 1.0 has relations that are named like ours: runs" in shown.output
