"""What a person may do in the queues of a run, by their roles in its projects."""

from __future__ import annotations

from typing import get_args
from uuid import UUID

from failproof_es.core.queues import Task
from failproof_es.store.reading.access import has_projects, roles_of
from failproof_es.store.reading.reader import Connection

EVERY_TASK: frozenset[Task] = frozenset(get_args(Task))
_TASKS: dict[str, frozenset[Task]] = {
    "reader": frozenset(),
    "reviewer": frozenset({"label"}),
    "adjudicator": EVERY_TASK,
    "owner": EVERY_TASK,
}


def tasks_of(connection: Connection, person: str, run_id: UUID) -> frozenset[Task]:
    """The tasks that the person may do in the queues of this run; all, if no project is defined.

    Needs a connection that reads everything.
    """
    if not has_projects(connection):
        return EVERY_TASK
    roles = roles_of(connection, person, run_id)
    return frozenset[Task]().union(*(_TASKS[role] for role in roles))
