"""`project`: defined, granted, listed and revoked from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke


def project(store: Store, folder: Path, *arguments: str, code: int = 0) -> str:
    """What the command says, on stdout and stderr."""
    done = invoke(store.url, "project", *arguments, cwd=folder)
    assert done.exit_code == code, done.output
    return done.output


def listed(store: Store, folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = orjson.loads(project(store, folder, "list", "--json"))
    return rows


def test_a_project_is_defined_granted_listed_and_revoked(store: Store, tmp_path: Path) -> None:
    assert "there is no project" in project(store, tmp_path, "list")
    project(store, tmp_path, "define", "clinic", "--run-name", "clinic *", "--tag", "released")
    project(store, tmp_path, "define", "all", "--all-runs")
    project(store, tmp_path, "grant", "clinic", "ann", "reviewer")
    project(store, tmp_path, "login", "ann_sql", "ann")
    everything = {
        "project": "all", "runs": 0, "run_names": [], "tags": [], "all_runs": True, "people": [],
    }  # fmt: skip
    clinic = {
        "project": "clinic", "runs": 0, "run_names": ["clinic *"], "tags": ["released"],
        "all_runs": False,
        "people": [{"person": "ann", "role": "reviewer", "logins": ["ann_sql"]}],
    }  # fmt: skip
    assert listed(store, tmp_path) == [everything, clinic]
    table = project(store, tmp_path, "list")
    for text in ("clinic *, tag released", "all runs", "ann (reviewer)"):
        assert text in table
    project(store, tmp_path, "revoke", "clinic", "ann", "reviewer")
    project(store, tmp_path, "login", "ann_sql")
    assert listed(store, tmp_path)[1]["people"] == []


def test_what_is_so_already_is_said_and_not_recorded(store: Store, tmp_path: Path) -> None:
    project(store, tmp_path, "define", "p", "--tag", "t")
    position = store.log.recorder.max_notification_id()
    for arguments in (
        ("define", "p", "--tag", "t"), ("revoke", "p", "ann", "owner"), ("login", "ann_sql"),
    ):  # fmt: skip
        assert "nothing is recorded" in project(store, tmp_path, *arguments)
    assert store.log.recorder.max_notification_id() == position


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("define", "p"), "missing-option"),
        (("define", " p", "--all-runs"), "invalid-value"),
        (("grant", "p", "ann", "reader"), "unknown-project"),
        (("revoke", "p", "ann", "reader"), "unknown-project"),
        (("login", "x" * 64, "ann"), "limit-exceeded"),
    ],
)
def test_a_mistake_is_named(
    store: Store, tmp_path: Path, arguments: tuple[str, ...], code: str
) -> None:
    assert f"[{code}]" in project(store, tmp_path, *arguments, code=2)


def test_another_role_than_the_four_is_refused(store: Store, tmp_path: Path) -> None:
    project(store, tmp_path, "define", "p", "--all-runs")
    said = project(store, tmp_path, "grant", "p", "ann", "admin", code=2)
    assert "adjudicator" in said


def test_the_audit_trail_says_who_could_see_what(store: Store, tmp_path: Path) -> None:
    project(store, tmp_path, "define", "p", "--all-runs")
    project(store, tmp_path, "grant", "p", "ann", "owner")
    with store.connect() as connection:
        rows = connection.execute(
            "SELECT event, details ->> 'person', details ->> 'role', test_run_id "
            "FROM projections.audit_trail ORDER BY position"
        ).fetchall()
    assert rows == [("ProjectDefined", None, None, None), ("RoleGranted", "ann", "owner", None)]
