"""Reads who may see which runs: projects, the roles of people in them, and logins of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from failproof_es.events import ProjectRole
from failproof_es.store.reading.reader import Connection

ROLES: tuple[ProjectRole, ...] = get_args(ProjectRole)


@dataclass(frozen=True, slots=True)
class Project:
    """A project: the set of its runs. `run_names` are globs."""

    project: str
    run_names: list[str]
    tags: list[str]
    all_runs: bool


@dataclass(frozen=True, slots=True, order=True)
class ProjectGrant:
    """A role of a person in a project."""

    project: str
    person: str
    role: ProjectRole


@dataclass(frozen=True, slots=True, order=True)
class PersonLogin:
    """A login of the database, and the person that it belongs to."""

    login: str
    person: str


def roles_of(connection: Connection, person: str, run_id: UUID) -> frozenset[ProjectRole]:
    """The roles of the person in the projects that the run belongs to; empty: no access."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT g.role FROM failproof.project_grant_list AS g "
            "JOIN failproof.project_run_list AS r USING (project) "
            "WHERE g.person = %s AND r.run_id = %s",
            (person, run_id),
        )
        return frozenset(rows)


def visible_runs(connection: Connection, person: str) -> frozenset[UUID]:
    """The runs of the projects in which the person has a role."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT r.run_id FROM failproof.project_grant_list AS g "
            "JOIN failproof.project_run_list AS r USING (project) WHERE g.person = %s",
            (person,),
        )
        return frozenset(rows)


def read_projects(connection: Connection) -> dict[str, Project]:
    """Every project by its name, in the order of names."""
    with connection.cursor(row_factory=class_row(Project)) as cursor:
        cursor.execute(
            "SELECT project, run_names, tags, all_runs FROM failproof.project_list ORDER BY project"
        )
        return {project.project: project for project in cursor}


def read_grants(connection: Connection) -> list[ProjectGrant]:
    """Every role of a person in a project, by project and person."""
    with connection.cursor(row_factory=class_row(ProjectGrant)) as cursor:
        cursor.execute("SELECT project, person, role FROM failproof.project_grant_list")
        return sorted(cursor)


def read_logins(connection: Connection) -> list[PersonLogin]:
    """Every login that belongs to a person, by name."""
    with connection.cursor(row_factory=class_row(PersonLogin)) as cursor:
        cursor.execute("SELECT login, person FROM failproof.person_login_list")
        return sorted(cursor)


def runs_by_project(connection: Connection) -> dict[str, int]:
    """The number of runs of each project that has any."""
    rows = connection.execute(
        "SELECT project, count(*) FROM failproof.project_run_list GROUP BY project"
    ).fetchall()
    return dict(rows)


def has_projects(connection: Connection) -> bool:
    """Whether a project is defined; without one, everybody reads everything."""
    row = connection.execute("SELECT EXISTS (SELECT FROM failproof.project_list)").fetchone()
    return row == (True,)


def narrow(connection: Connection, person: str) -> None:
    """Let the present transaction see the rows of the person's projects alone.

    For a login with failproof_auditor or failproof_writer. Raises `psycopg.Error` where the
    database has no roles.
    """
    connection.execute("SELECT set_config('failproof.person', %s, true)", (person,))
    connection.execute("SET LOCAL ROLE failproof_reader")
