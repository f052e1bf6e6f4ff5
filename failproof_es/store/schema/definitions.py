"""Checks, object by object, whether a database's schema is the one that was installed.

The expected digests are those of a fresh installation, in `definitions.json`: the database itself,
which may be forged, is not asked for them. The file is made by
`python -m tools.store_definitions > failproof_es/store/definitions.json`.

PostgreSQL 15 writes some views otherwise than 16 and later: the file has both digests of these. A
definition must also survive a dump and a restore. In a `UNION`, that takes a name for each column
of each part: `SELECT 'judge'` comes back as `SELECT 'judge' AS text`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.rows import tuple_row

from failproof_es.store.connecting import connect
from failproof_es.store.schema.installation import ROLES, install
from failproof_es.store.schema.migration import SCHEMAS
from failproof_es.store.writing.recorder import query

Connection = psycopg.Connection[Any]

_ALWAYS_THERE = re.compile(r"(?:.* on )?(?:\w+ )?failproof\.")
"""Objects that must exist. On some servers only the schema of the log can be installed."""
_ROW_SECURITY = ("row-level security on ", "policy ")
"""Objects that decide who sees which rows. Without the roles of the database there are none."""
_HAS_ROW_SECURITY: LiteralString = (
    "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace AS n "
    "JOIN pg_catalog.pg_roles AS owner ON owner.oid = n.nspowner "
    "WHERE n.nspname = 'failproof' AND owner.rolname = 'failproof_owner')"
)


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """An object in the database that differs from its installed definition."""

    what: str
    """The object and its difference, in words."""
    hides_rows: bool = False


def differences(connection: Connection) -> list[SchemaDifference]:
    """The objects and role settings that were changed, removed or added since the installation.

    Read from the catalog: an attacker who can forge the catalog can hide a change.
    """
    definitions = installed(connection, SCHEMAS)
    deviations = compare(definitions, required_of(connection, definitions, expected()))
    with catalog_transaction(connection), connection.cursor(row_factory=tuple_row) as cursor:
        settings = cursor.execute(query("role_settings"), {"roles": list(ROLES)}).fetchall()
    return [
        *deviations,
        *(SchemaDifference(f"the {setting} was not installed") for (setting,) in settings),
    ]


def required_of(
    connection: Connection, actual: Mapping[str, str], definitions: Mapping[str, str]
) -> dict[str, str]:
    """The definitions that this database must have: without our roles, no row security."""
    with catalog_transaction(connection), connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(_HAS_ROW_SECURITY).fetchone()
    if row == (True,):
        return dict(definitions)
    return {
        thing: digest
        for thing, digest in definitions.items()
        if thing in actual or not thing.startswith(_ROW_SECURITY)
    }


def compare(actual: Mapping[str, str], required: Mapping[str, str]) -> list[SchemaDifference]:
    """The objects that differ: first those that hide rows, then by name.

    `actual` has a digest for each object, `required` one or more, separated by a space.
    """
    deviations = []
    for thing in sorted(actual.keys() | required.keys()):
        if thing not in required:
            deviations.append(
                SchemaDifference(f"the {thing} was not installed", thing.startswith(_ROW_SECURITY))
            )
        elif thing not in actual:
            if _ALWAYS_THERE.match(thing):
                deviations.append(SchemaDifference(f"the {thing} is missing"))
        elif actual[thing] not in required[thing].split():
            what = f"the {thing} is not the one that was installed"
            deviations.append(SchemaDifference(what, thing.startswith(_ROW_SECURITY)))
    return sorted(deviations, key=lambda difference: not difference.hides_rows)


def installed(connection: Connection, schemas: Sequence[str]) -> dict[str, str]:
    """Every object in these schemas, with the SHA-256 of its definition in hexadecimal."""
    return {thing: _digest(text) for thing, text in _definitions(connection, schemas).items()}


def _definitions(connection: Connection, schemas: Sequence[str]) -> dict[str, str]:
    with catalog_transaction(connection), connection.cursor(row_factory=tuple_row) as cursor:
        return dict(cursor.execute(query("definitions"), {"schemas": list(schemas)}).fetchall())


def _digest(definition: str) -> str:
    return hashlib.sha256(definition.encode()).hexdigest()


@contextmanager
def catalog_transaction(connection: Connection) -> Iterator[None]:
    """A transaction in which queries of the catalog return the server's own definitions.

    No setting of the user can replace a function or change the form of a definition.
    """
    with connection.transaction():
        connection.execute(
            "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), "
            "pg_catalog.set_config('quote_all_identifiers', 'off', true)"
        )
        yield


@cache
def expected() -> dict[str, str]:
    """The objects of a fresh installation, with the digests that `compare` accepts."""
    file = resources.files("failproof_es.store").joinpath("definitions.json")
    read: dict[str, str] = json.loads(file.read_text("utf-8"))
    return read


def fresh(
    schemas: Sequence[str] = SCHEMAS, prepare: Callable[[Connection], None] | None = None
) -> dict[str, str]:
    """The objects of a new installation on a temporary server, with the digests for `compare`.

    `prepare` is called with its connection before the objects are read.
    """
    from failproof_es.store.embedded.server import EmbeddedServer  # a run needs none of its imports

    home = Path(tempfile.mkdtemp(prefix="failproof-es-definitions-"))
    home.chmod(0o755)
    server = EmbeddedServer(home)
    try:
        with connect(server.ensure_running()) as connection:
            install(connection)
            if prepare is not None:
                prepare(connection)
            return accepted(connection, schemas)
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def accepted(connection: Connection, schemas: Sequence[str]) -> dict[str, str]:
    """Every object in these schemas, with its digest on each supported version of PostgreSQL.

    For a superuser on the version of the embedded server.
    """
    digests = {}
    for thing, definition in _definitions(connection, schemas).items():
        spellings = [definition]
        if thing.startswith("view "):
            spellings.append(_on_version_15(connection, thing.removeprefix("view "), definition))
        digests[thing] = " ".join(dict.fromkeys(map(_digest, spellings)))
    return digests


def _on_version_15(connection: Connection, view: str, definition: str) -> str:
    """The definition of a view as PostgreSQL 15 writes it.

    That version repeats the name of the only relation before each column. Later versions do so in
    the body of a function alone.
    """
    with catalog_transaction(connection), connection.cursor(row_factory=tuple_row) as cursor:
        [[text]] = cursor.execute(
            "SELECT pg_get_viewdef(%s::regclass)", (view,), prepare=False
        ).fetchall()
        cursor.execute(
            "CREATE FUNCTION pg_temp.spelled() RETURNS SETOF record LANGUAGE sql "
            f"BEGIN ATOMIC {text} END".encode()
        )
        [[body]] = cursor.execute(
            "SELECT pg_get_function_sqlbody('pg_temp.spelled'::regproc)", prepare=False
        ).fetchall()
        cursor.execute("DROP FUNCTION pg_temp.spelled")
    older = body.removeprefix("BEGIN ATOMIC\n").removesuffix("\nEND").replace("\n ", "\n")
    return definition.replace(text, older)


def as_file(definitions: Mapping[str, str]) -> str:
    """The text of `definitions.json`: one object on each line, so that diffs are small."""
    return json.dumps(definitions, indent=0, sort_keys=True) + "\n"
