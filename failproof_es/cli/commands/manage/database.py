"""`db`: the database that holds the log."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click
import psycopg
from psycopg.conninfo import make_conninfo

from failproof_es.assurance.signing.opened_store import make_key_aloud
from failproof_es.cli.app.chosen_run import say_left_out
from failproof_es.cli.app.errors import ExitCode
from failproof_es.cli.app.program import CliGroup, session
from failproof_es.cli.rendering.output import Format, format_option, say
from failproof_es.cli.rendering.protection import print_protection, protection
from failproof_es.cli.usage import WrongUsage
from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import connect, parameters_of
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.environment import DATABASE_URL
from failproof_es.store.named_database import named_database
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.schema.protection_layers import Layer
from failproof_es.store.store import Store
from failproof_es.store.url_redaction import redact_message, redact_url

_ADMINISTRATOR = (
    "warning: you are the server's superuser. Read no view and no read model: the engine's login "
    "can put code into them, which would run with your rights. Read as the auditor."
)
_NO_ADMINISTRATOR = (
    "you are failproof_auditor, who may read everything. To be the server's superuser add --insist"
)


_as_option = click.option(
    "--as",
    "role",
    type=click.Choice(("auditor", "writer", "projector", "administrator")),
    help="As whom, on the embedded server.  [default: auditor]",
)


@click.group(cls=CliGroup)
def db() -> None:
    """Start, stop and inspect the database that holds the log."""


@db.command("start")
def start_server() -> None:
    """Start the embedded server if it is not running, and upgrade the schema."""
    _require_embedded("start")
    with session().open_store() as store:
        for remark in store.embedded.loosened if store.embedded else []:
            say(f"note: {remark}")
        say("the embedded server is running")


@db.command()
@format_option()
def init(output_format: Format) -> None:
    """Create or upgrade the schema, the roles and the guards, as far as this user may.

    It also makes the key that signs the log, on this host, if nobody has signed the log before.
    Keep a copy of the key's file. Other hosts record without it; `ledger sign --follow` signs.

    No other command makes or changes the schema on a server of your own. It says which layers of
    protection are missing afterwards, and why.
    """
    store = Store.reach(session().database_url)
    done = store.install()
    for line in make_key_aloud(store):
        say(line)
    facts, missing = protection(store)
    applied = [f"{migration.number:04}_{migration.name}" for migration in done.migrations]
    facts = {**facts, "migrations": applied, "problems": list(done.problems)}
    print_protection(facts, missing, output_format, not_permitted=done.problems)


@db.command("stop")
def stop_server() -> None:
    """Stop the embedded server. The next command that needs it starts it again."""
    _require_embedded("stop")
    stopped = EmbeddedServer().stop()
    say("the embedded server is stopped" if stopped else "the embedded server was not running")


@db.command()
@format_option()
def status(output_format: Format) -> None:
    """Show whether the database can be reached, its kind, and the protection that it lacks.

    Exits 1 if it cannot be reached, or this user may not read it.
    """
    external = _external_url()
    facts = _external_status(external) if external else _embedded_status()
    missing: Sequence[Layer] = ()
    if facts["running"]:
        protection_facts, missing = protection(Store.reach(external))
        facts |= protection_facts
    print_protection(facts, missing, output_format)
    if "error" in facts or not facts["running"]:
        click.get_current_context().exit(ExitCode.FAILED)


@db.command()
@_as_option
def url(role: str | None) -> None:
    """Print the database's URL for `psql` and other tools, with secrets as `***`.

    It is that of the auditor, who reads everything and changes nothing. The engine's own is
    printed with --as writer.
    """
    click.echo(redact_url(_url_as(role or "auditor", is_explicit=role is not None)))


@db.command()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- PSQL_ARGUMENTS...]")
@_as_option
@click.option("--insist", is_flag=True, help="Be the administrator with --as administrator.")
def shell(arguments: tuple[str, ...], role: str | None, insist: bool) -> None:
    """Open `psql` on the database. The view failproof.readable_log is made for reading.

    `--as administrator` also needs --insist, or the shell opens as the auditor. The reason: a view
    runs the code of whoever made it, with the rights of whoever reads it.

    It exits with the code of psql. That is 0 even after a failed statement, and 3 with
    `-- -v ON_ERROR_STOP=1`.
    """
    if insist and role != "administrator":
        raise WrongUsage("options-conflict", "--insist goes with --as administrator")
    refused = role == "administrator" and not insist
    url = _url_as("auditor" if refused else role or "auditor", is_explicit=role is not None)
    if role == "administrator":
        say(_NO_ADMINISTRATOR if refused else _ADMINISTRATOR)
    if role != "administrator" or refused:
        with suppress(psycopg.Error, InvalidInput), connect(url) as connection:
            say_left_out(connection)
    conninfo, environment = separate_password(url)
    done = subprocess.run(
        [_psql(), *arguments, conninfo], env={**os.environ, **environment}, check=False
    )
    click.get_current_context().exit(done.returncode)


def separate_password(url: str) -> tuple[str, dict[str, str]]:
    """The connection string without its password, and the environment that carries it.

    The environment is empty without a password. Everyone on the machine could read a password among
    a process's arguments.
    """
    parts = parameters_of(url)
    password = parts.pop("password", None)
    return make_conninfo("", **parts), {"PGPASSWORD": password} if password else {}


def _external_url() -> str | None:
    return named_database(session().database_url)


def _require_embedded(verb: str) -> None:
    if _external_url():
        raise InvalidInput.because(
            "options-conflict",
            f"`db {verb}` is for the embedded server, and --database-url or {DATABASE_URL} "
            "names another one",
            remedy="leave that out, or use that server's own tools",
        )


def _url_as(role: str, *, is_explicit: bool) -> str:
    """The database's URL for a role of the embedded server, with its schema installed.

    Another server's URL is returned as it is. Raises `InvalidInput` if the role was named
    explicitly for another server.
    """
    if external := _external_url():
        if is_explicit:
            raise InvalidInput.because(
                "options-conflict",
                "--as is for the embedded server: another server's URL names its user",
                remedy="leave it out, and name the user in the URL",
            )
        return external
    with session().open_store() as store:
        assert store.embedded is not None
        if role == "administrator":
            return store.embedded.url
        return store.embedded.url_as(f"failproof_{role}")


def _embedded_status() -> dict[str, Any]:
    status = EmbeddedServer().status()
    return {
        "server": "embedded",
        "running": status.running,
        "process": status.pid,
        "data": str(status.data_dir),
        "url": None if status.url is None else redact_url(EmbeddedServer().url_as(WRITER)),
        "version": status.version,
    }


def _external_status(url: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"server": "external", "running": False, "url": redact_url(url)}
    try:
        with connect(url) as connection:
            facts["running"] = True
            facts["version"] = connection.info.parameter_status("server_version")
    except psycopg.Error as error:
        facts["error"] = redact_message(" ".join(str(error).split()))
    return facts


def _psql() -> str:
    """Path of the machine's `psql`, else of that of the embedded server."""
    return shutil.which("psql") or EmbeddedServer().psql[0]
