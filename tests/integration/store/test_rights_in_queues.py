"""Roles in projects decide who labels, and who decides between labels."""

from __future__ import annotations

from uuid import uuid4

from failproof_es.engine.projects import define_project, grant_role
from failproof_es.engine.queues.rights import EVERY_TASK, tasks_of
from failproof_es.store.store import Store


def test_everybody_may_do_everything_until_a_project_is_defined(store: Store) -> None:
    run_id = uuid4()
    with store.lend() as connection:
        assert tasks_of(connection, "ann", run_id) == EVERY_TASK
    define_project(store, "alpha", run_names=("alpha*",))
    with store.lend() as connection:
        assert tasks_of(connection, "ann", run_id) == frozenset()
    grant_role(store, "alpha", "ann", "owner")
    with store.lend() as connection:
        assert tasks_of(connection, "ann", run_id) == frozenset(), "the run is of no project"
