"""Changes who may see which runs: projects, roles of people, logins of people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from failproof_es.core.case import access_id
from failproof_es.engine.identity import current_host, current_user
from failproof_es.events import (
    Event,
    LoginAssigned,
    ProjectDefined,
    ProjectRole,
    RoleGranted,
    RoleRevoked,
)
from failproof_es.events.access import AccessEvent
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.access import (
    Project,
    ProjectGrant,
    read_grants,
    read_logins,
    read_projects,
)
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append
from failproof_es.store.writing.event_header import Draft, EventHeader

LONGEST_NAME = 200
"""Most characters of the name of a project or a person, of a glob, and of a tag."""
LONGEST_LOGIN = 63
"""Most bytes of a login: PostgreSQL cuts longer names off."""
MOST_CHOICES = 100
"""Most globs of a project, and most tags."""
T = TypeVar("T", bound=Event)


def define_project(
    store: Store,
    project: str,
    *,
    run_names: Sequence[str] = (),
    tags: Sequence[str] = (),
    all_runs: bool = False,
    who: str | None = None,
) -> ProjectDefined | None:
    """Record the runs of a project, in place of an earlier definition; `None` without a change.

    `who` is the person who does it, by default the user of this process. Raises `InvalidInput` for
    an invalid name or a project without any choice of runs, else as `append` does.
    """
    for what, text in (
        ("project", project),
        *(("run name", glob) for glob in run_names),
        *(("tag", tag) for tag in tags),
    ):
        _require_name(what, text)
    _require_choice(run_names, tags, all_runs=all_runs)
    wanted = Project(project, list(dict.fromkeys(run_names)), list(dict.fromkeys(tags)), all_runs)

    def decide(connection: Connection) -> Iterator[Draft]:
        if read_projects(connection).get(project) != wanted:
            yield _draft(
                ProjectDefined,
                who,
                project=project,
                run_names=tuple(wanted.run_names),
                tags=tuple(wanted.tags),
                all_runs=all_runs,
            )

    return _first(append(store, decide), ProjectDefined)


def grant_role(
    store: Store, project: str, person: str, role: ProjectRole, *, who: str | None = None
) -> RoleGranted | None:
    """Give the person a role in the project; `None` if they have it.

    Raises `InvalidInput` for an unknown project or an invalid name, else as `append` does.
    """
    _require_name("person", person)

    def decide(connection: Connection) -> Iterator[Draft]:
        _require_project(connection, project)
        if ProjectGrant(project, person, role) not in read_grants(connection):
            yield _draft(RoleGranted, who, project=project, person=person, role=role)

    return _first(append(store, decide), RoleGranted)


def revoke_role(
    store: Store, project: str, person: str, role: ProjectRole, *, who: str | None = None
) -> RoleRevoked | None:
    """Take a role in the project from the person; `None` if they do not have it.

    Raises `InvalidInput` for an unknown project, else as `append` does.
    """

    def decide(connection: Connection) -> Iterator[Draft]:
        _require_project(connection, project)
        if ProjectGrant(project, person, role) in read_grants(connection):
            yield _draft(RoleRevoked, who, project=project, person=person, role=role)

    return _first(append(store, decide), RoleRevoked)


def assign_login(
    store: Store, login: str, person: str | None, *, who: str | None = None
) -> LoginAssigned | None:
    """Let a login of the database be the person's, or nobody's; `None` without a change.

    Raises `InvalidInput` for an invalid name, else as `append` does.
    """
    _require_name("login", login)
    if len(login.encode()) > LONGEST_LOGIN:
        raise InvalidInput.because(
            "limit-exceeded",
            f"the login has more than {LONGEST_LOGIN} bytes",
            remedy="use the name that PostgreSQL knows",
        )
    if person is not None:
        _require_name("person", person)

    def decide(connection: Connection) -> Iterator[Draft]:
        logins = read_logins(connection)
        persons = {known.login: known.person for known in logins}
        if persons.get(login) != person:
            yield _draft(LoginAssigned, who, login=login, person=person)

    return _first(append(store, decide), LoginAssigned)


def _draft(kind: type[AccessEvent], who: str | None, **fields: Any) -> Draft:
    header = EventHeader(access_id(), None, who=who or current_user(), where=current_host())
    return Draft(kind, header, **fields)


def _first(events: Sequence[Event], kind: type[T]) -> T | None:
    return events[0] if events and isinstance(events[0], kind) else None


def _require_name(what: str, text: str) -> None:
    """Raise `InvalidInput` unless the text has 1 to 200 printable characters and no white space at
    its ends."""
    if not text or len(text) > LONGEST_NAME or not text.isprintable() or text != text.strip():
        raise InvalidInput.because(
            "invalid-value",
            f"{text!r} is no {what}",
            remedy=f"use 1 to {LONGEST_NAME} printable characters, without white space at the ends",
        )


def _require_choice(run_names: Sequence[str], tags: Sequence[str], *, all_runs: bool) -> None:
    if max(len(run_names), len(tags)) > MOST_CHOICES:
        raise InvalidInput.because(
            "limit-exceeded",
            "the project has too many run names or tags",
            remedy=f"use at most {MOST_CHOICES} of each",
        )
    if not (run_names or tags or all_runs):
        raise InvalidInput.because(
            "missing-option",
            "the project chooses no runs",
            remedy="give it --run-name, --tag or --all-runs",
        )


def _require_project(connection: Connection, project: str) -> None:
    projects = read_projects(connection)
    if project not in projects:
        raise InvalidInput.because(
            "unknown-project",
            f"there is no project {project!r}; there are: {', '.join(projects) or 'none'}",
            remedy="define it with `failproof-es project define`",
        )
