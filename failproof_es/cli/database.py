"""`db`: the database that holds the log."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import click
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from failproof_es.cli.database_url import masked
from failproof_es.cli.errors import ExitCode
from failproof_es.cli.output import Format, format_option, print_facts, print_json, say
from failproof_es.cli.program import Group, session
from failproof_es.problems import InvalidInput
from failproof_es.store.embedded import EmbeddedServer
from failproof_es.store.store import DATABASE_URL


@click.group(cls=Group)
def db() -> None:
    """Start, stop and look at the database that holds the log."""


@db.command("start")
def start_server() -> None:
    """Start the embedded server, unless it is running, and bring the schema up to date."""
    _require_embedded("start")
    with session().open_store() as store:
        for remark in store.embedded.loosened if store.embedded else []:
            say(f"note: {remark}")
        say("the embedded server is running")


@db.command("stop")
def stop_server() -> None:
    """Stop the embedded server. The next command that needs it starts it again."""
    _require_embedded("stop")
    stopped = EmbeddedServer().stop()
    say("the embedded server is stopped" if stopped else "the embedded server was not running")


@db.command()
@format_option()
def status(output_format: Format) -> None:
    """Say whether the database can be reached, and what it is. Exits 1 if it cannot."""
    external = _external_url()
    facts = _external_status(external) if external else _embedded_status()
    if output_format is Format.TABLE:
        print_facts(facts)
    else:
        print_json(facts, indent=output_format is Format.JSON)
    if not facts["running"]:
        click.get_current_context().exit(ExitCode.FAILED)


@db.command()
def url() -> None:
    """Print the database's URL, its password masked, for `psql` and other tools."""
    external = _external_url()
    click.echo(masked(external or EmbeddedServer().ensure_running()))


@db.command()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- PSQL_ARGUMENTS...]")
def shell(arguments: tuple[str, ...]) -> None:
    """Open `psql` on the database. The view failproof.event_log is made for reading."""
    with session().open_store() as store:
        conninfo, environment = without_password(store.url)
    done = subprocess.run(
        [_psql(), *arguments, conninfo], env={**os.environ, **environment}, check=False
    )
    click.get_current_context().exit(done.returncode)


def without_password(url: str) -> tuple[str, dict[str, str]]:
    """The connection string without its password, and the environment that carries it.

    A password among a process's arguments could be read by everyone on the machine.
    """
    parts = conninfo_to_dict(url)
    password = parts.pop("password", None)
    return make_conninfo("", **parts), {"PGPASSWORD": str(password)} if password else {}


def _external_url() -> str | None:
    return session().database_url or os.environ.get(DATABASE_URL)


def _require_embedded(verb: str) -> None:
    if _external_url():
        raise InvalidInput.because(
            f"`db {verb}` is for the embedded server, and --database-url or {DATABASE_URL} "
            "names another one",
            remedy="leave that out, or use that server's own tools",
        )


def _embedded_status() -> dict[str, Any]:
    status = EmbeddedServer().status()
    return {
        "server": "embedded",
        "running": status.running,
        "process": status.pid,
        "data": str(status.data_dir),
        "url": None if status.url is None else masked(status.url),
        "version": status.version,
    }


def _external_status(url: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"server": "external", "running": False, "url": masked(url)}
    try:
        with psycopg.connect(url, connect_timeout=10) as connection:
            facts["running"] = True
            facts["version"] = connection.info.parameter_status("server_version")
    except psycopg.Error as error:
        facts["error"] = masked(" ".join(str(error).split()))
    return facts


def _psql() -> str:
    """The machine's `psql`, else the one that comes with the embedded server."""
    return shutil.which("psql") or EmbeddedServer().psql[0]
