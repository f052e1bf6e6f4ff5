"""`project`: which runs make up a project, and which people may see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import click

from failproof_es.cli.app.following import exit_if_changed, signed_and_followed
from failproof_es.cli.app.program import CliGroup, session
from failproof_es.cli.rendering.output import Column, Format, format_option, print_rows, say
from failproof_es.engine import projects
from failproof_es.events import Event, ProjectRole
from failproof_es.store.reading.access import (
    ROLES,
    read_grants,
    read_logins,
    read_projects,
    runs_by_project,
)
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store

_COLUMNS = (
    Column("project", "project"),
    Column("runs", "runs", right=True),
    Column("chosen by", "chosen_by"),
    Column("people", "roles"),
)
_ROLE = click.argument("role", type=click.Choice(ROLES))


@click.group(cls=CliGroup)
def project() -> None:
    """Define projects, and who may see the runs of each."""


@project.command()
@click.argument("name")
@click.option(
    "--run-name",
    "run_names",
    multiple=True,
    metavar="GLOB",
    help="Add runs by name: * is any text, ? one character. Can be repeated.",
)
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="Add runs by tag. Can be repeated."
)
@click.option("--all-runs", is_flag=True, help="Add every run.")
def define(name: str, run_names: tuple[str, ...], tags: tuple[str, ...], all_runs: bool) -> None:
    """Define the runs of the project NAME, in place of an earlier definition.

    A run counts under the name that lists show. Later runs join as they begin or get a tag.
    """
    _record(
        lambda store: projects.define_project(
            store, name, run_names=run_names, tags=tags, all_runs=all_runs
        )
    )


@project.command()
@click.argument("name")
@click.argument("person")
@_ROLE
def grant(name: str, person: str, role: str) -> None:
    """Give PERSON a role in the project NAME. Every role sees the project's runs."""
    _record(lambda store: projects.grant_role(store, name, person, cast("ProjectRole", role)))


@project.command()
@click.argument("name")
@click.argument("person")
@_ROLE
def revoke(name: str, person: str, role: str) -> None:
    """Take a role in the project NAME from PERSON."""
    _record(lambda store: projects.revoke_role(store, name, person, cast("ProjectRole", role)))


@project.command()
@click.argument("login")
@click.argument("person", required=False)
def login(login: str, person: str | None) -> None:
    """Let LOGIN, a login of the database, see what PERSON may see; without PERSON, nothing.

    The login needs the role failproof_reader, and no other: `GRANT failproof_reader TO LOGIN`.
    """
    _record(lambda store: projects.assign_login(store, login, person))


@project.command("list")
@format_option()
def list_projects(output_format: Format) -> None:
    """List the projects, their runs, and who may see them."""
    with session().open_store() as store, store.lend() as connection:
        rows = list(_project_rows(connection))
    if output_format is Format.TABLE:
        rows = [{**row, **_table_texts(row)} for row in rows]
    empty = "there is no project; `failproof-es project define` defines one"
    print_rows(rows, _COLUMNS, output_format, when_empty=empty)


def _record(change: Callable[[Store], Event | None]) -> None:
    """Make the change, or say that there is nothing to change."""
    with session().open_store() as store:
        with signed_and_followed(store) as signer:
            recorded = change(store)
        if recorded is None:
            say("it is so already: nothing is recorded")
        exit_if_changed(signer)


def _project_rows(connection: Connection) -> Iterator[dict[str, Any]]:
    """A row for each project, with the people who have a role in it and their logins."""
    runs = runs_by_project(connection)
    grants = read_grants(connection)
    logins = read_logins(connection)
    for name, defined in read_projects(connection).items():
        people = [
            {
                "person": grant.person,
                "role": grant.role,
                "logins": [login.login for login in logins if login.person == grant.person],
            }
            for grant in grants
            if grant.project == name
        ]
        yield {
            "project": name,
            "runs": runs.get(name, 0),
            "run_names": defined.run_names,
            "tags": defined.tags,
            "all_runs": defined.all_runs,
            "people": people,
        }


def _table_texts(row: dict[str, Any]) -> dict[str, str]:
    """What a table shows of a project in place of its lists."""
    choices = [*row["run_names"], *(f"tag {tag}" for tag in row["tags"])]
    return {
        "chosen_by": "all runs" if row["all_runs"] else ", ".join(choices),
        "roles": ", ".join(f"{held['person']} ({held['role']})" for held in row["people"]),
    }
