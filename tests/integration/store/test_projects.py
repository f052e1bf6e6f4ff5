"""Projects, roles and logins: who may see which run, as the log says it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.core.case import access_id
from failproof_es.engine.annotations import AnnotationChange, annotate
from failproof_es.engine.projects import assign_login, define_project, grant_role, revoke_role
from failproof_es.events import LoginAssigned, ProjectDefined, RoleGranted, RoleRevoked
from failproof_es.ledger.note import SigningKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.reading.access import (
    PersonLogin,
    ProjectGrant,
    narrow,
    read_grants,
    read_logins,
    read_projects,
    roles_of,
    visible_runs,
)
from failproof_es.store.store import Store
from tests.acceptance.attacks.world import Author, cases

NAMES = ("clinic one", "clinic two", "100% sure", "100 not sure", "a_b", "axb", "back\\slash")


@pytest.fixture
def runs(store: Store) -> dict[str, UUID]:
    """A run of each name, by name."""
    with store.connect() as connection:
        author = Author(store, SigningKey.generate(ledger.origin(connection)))
    started = {name: uuid4() for name in NAMES}
    for number, (name, run) in enumerate(started.items()):
        author.start(run, name, f"c{number}", cases("asked"))
    return started


def seen(store: Store, person: str, runs: dict[str, UUID]) -> set[str]:
    """The names of the runs that the person may see: by the module, and by row security."""
    with store.connect() as connection:
        visible = visible_runs(connection, person)
        with connection.transaction():
            narrow(connection, person)
            rows = connection.execute("SELECT run_id FROM failproof.run_list").fetchall()
    assert visible == {row[0] for row in rows}
    return {name for name, run in runs.items() if run in visible}


def test_a_project_has_the_runs_whose_names_fit_a_glob(store: Store, runs: dict[str, UUID]) -> None:
    globs = {
        "clinic *": {"clinic one", "clinic two"},
        "clinic ???": {"clinic one", "clinic two"},
        "Clinic *": set(),
        "clinic": set(),
        "100%*": {"100% sure"},
        "a_b": {"a_b"},
        "a?b": {"a_b", "axb"},
        "back\\*": {"back\\slash"},
        "*": set(NAMES),
    }
    define_project(store, "p", run_names=("nothing",))
    grant_role(store, "p", "ann", "reader")
    for glob, names in globs.items():
        define_project(store, "p", run_names=(glob,))
        assert seen(store, "ann", runs) == names, glob
    define_project(store, "p", all_runs=True)
    assert seen(store, "ann", runs) == set(NAMES)
    assert seen(store, "ben", runs) == set()


def test_a_run_is_found_by_its_tags_and_by_the_name_that_lists_show(
    store: Store, runs: dict[str, UUID]
) -> None:
    define_project(store, "p", run_names=("clinic *",), tags=("released",))
    grant_role(store, "p", "ann", "reviewer")
    assert seen(store, "ann", runs) == {"clinic one", "clinic two"}
    annotate(store, runs["clinic one"], AnnotationChange(name="another"))
    annotate(store, runs["axb"], AnnotationChange(tags=("released", "x")))
    assert seen(store, "ann", runs) == {"clinic two", "axb"}
    annotate(store, runs["clinic one"], AnnotationChange(name=""))
    annotate(store, runs["axb"], AnnotationChange(untag=("released",)))
    assert seen(store, "ann", runs) == {"clinic one", "clinic two"}


def test_roles_are_those_of_the_projects_of_the_run(store: Store, runs: dict[str, UUID]) -> None:
    define_project(store, "one", run_names=("clinic one",))
    define_project(store, "both", run_names=("clinic *",))
    for project, role in (("one", "owner"), ("both", "reader"), ("both", "reviewer")):
        assert isinstance(grant_role(store, project, "ann", role), RoleGranted)  # type: ignore[arg-type]
    assert grant_role(store, "one", "ann", "owner") is None
    with store.connect() as connection:

        def roles(name: str, person: str = "ann") -> frozenset[str]:
            return roles_of(connection, person, runs[name])

        assert roles("clinic one") == {"owner", "reader", "reviewer"}
        assert roles("clinic two") == {"reader", "reviewer"}
        assert roles("axb") == roles("clinic one", "Ann") == frozenset()
        assert isinstance(revoke_role(store, "both", "ann", "reader"), RoleRevoked)
        assert revoke_role(store, "both", "ann", "reader") is None
        assert roles("clinic two") == {"reviewer"}
        assert read_grants(connection) == [
            ProjectGrant("both", "ann", "reviewer"), ProjectGrant("one", "ann", "owner")
        ]  # fmt: skip
    revoke_role(store, "both", "ann", "reviewer")
    revoke_role(store, "one", "ann", "owner")
    assert seen(store, "ann", runs) == set()


def test_every_change_is_an_event_and_what_changes_nothing_is_none(store: Store) -> None:
    assert isinstance(define_project(store, "p", tags=("a", "a"), who="ann"), ProjectDefined)
    assert define_project(store, "p", tags=("a",)) is None
    assert isinstance(assign_login(store, "ann_sql", "ann"), LoginAssigned)
    assert assign_login(store, "ann_sql", "ann") is None
    with store.connect() as connection:
        assert read_logins(connection) == [PersonLogin("ann_sql", "ann")]
        assert list(read_projects(connection)) == ["p"]
        assert isinstance(assign_login(store, "ann_sql", None), LoginAssigned)
        assert read_logins(connection) == []
        rows = connection.execute(
            "SELECT event_type, payload ->> 'who' FROM failproof.event_log "
            "WHERE stream_id = %s ORDER BY position",
            (access_id(),),
        ).fetchall()
    assert [row[0] for row in rows] == ["ProjectDefined", "LoginAssigned", "LoginAssigned"]
    assert rows[0][1] == "ann" != rows[1][1]


def test_names_that_nobody_could_mean_are_refused(store: Store) -> None:
    for name in ("", " p", "p\n", "p\u202e", "x" * 201):
        with pytest.raises(InvalidInput, match="invalid-value"):
            define_project(store, name, all_runs=True)
        with pytest.raises(InvalidInput, match="invalid-value"):
            assign_login(store, "login", name)
    with pytest.raises(InvalidInput, match="missing-option"):
        define_project(store, "p")
    with pytest.raises(InvalidInput, match="limit-exceeded"):
        define_project(store, "p", tags=[f"t{n}" for n in range(101)])
    with pytest.raises(InvalidInput, match="limit-exceeded"):
        assign_login(store, "é" * 32, "ann")
    with pytest.raises(InvalidInput, match="unknown-project"):
        grant_role(store, "p", "ann", "reader")


def test_an_event_that_cannot_be_read_is_appended_and_shows_nobody_anything(
    store: Store, runs: dict[str, UUID], administrator: psycopg.Connection[Any]
) -> None:
    define_project(store, "p", run_names=("clinic *",))
    grant_role(store, "p", "ann", "reader")
    broken = {
        (access_id(), "ProjectDefined"): b'{"project": "p", "run_names": "*", "tags": []}',
        (access_id(), "RoleGranted"): b'{"project": "p", "person": null, "role": "reader"}',
        (access_id(), "LoginAssigned"): b"\xff",
        (uuid4(), "RoleGranted"): b'{"project": "p", "person": "eve", "role": "reader"}',
        (uuid4(), "RunAnnotated"): b'{"about": "%s", "name": "clinic x", "tags": []}'
        % str(runs["axb"]).encode(),
        (uuid4(), "Reviewed"): b'{"about": "no id"}',
    }
    for number, ((stream, topic), state) in enumerate(broken.items()):
        administrator.execute(
            "INSERT INTO failproof.events (originator_id, originator_version, topic, state, "
            "leaf_hash) VALUES (%s, %s, %s, %s, sha256(''))",
            (stream, 100 + number, topic, state),
        )
    assert seen(store, "ann", runs) == {"clinic one", "clinic two"}
    assert seen(store, "eve", runs) == set()
