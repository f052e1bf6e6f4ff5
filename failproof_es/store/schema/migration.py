"""Creates and upgrades the schema with the numbered migrations in `migrations/`.

A migration is a file `0002_name.sql`, or a folder `0001_name` of files that are run in the order of
their names. Each runs once, in order, in one transaction with its record, under a lock: of two
processes that open a new database at the same moment, one runs it. A migration names no role:
`roles/` has the rights, which `store/schema/installation.py` grants.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from failproof_es.problems import InvalidInput

_LOCK = "hashtextextended('failproof.migrate', 0)"
_LONGEST_WAIT_MS = 60_000
SCHEMAS = ("failproof", "failproof_guard", "promptguard")
"""The schemas that hold only objects that the SQL files of `store/` define."""
_TAKEN_OVER = (*SCHEMAS, "failproof_queue", "projections", "projections_building")
"""All schemas that an installation takes over: their relations get other owners, or are dropped."""
_TAKEN = (
    "SELECT c.oid::regclass::text FROM pg_catalog.pg_class AS c "
    "WHERE c.relnamespace::regnamespace::text = ANY (%s) ORDER BY c.oid LIMIT 1"
)
_HOLDERS = (
    "SELECT held.pid, holder.usename FROM pg_catalog.pg_locks AS held "
    "JOIN pg_catalog.pg_stat_activity AS holder ON holder.pid = held.pid "
    "WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 1 "
    "AND holder.datname = pg_catalog.current_database() "
    f"AND ((held.classid::bigint << 32) | held.objid::bigint) = {_LOCK} ORDER BY 1"
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The digest recorded beside the migration, to notice a changed file."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Every migration that ships with this version, in order."""
    shipped_migrations = []
    for shipped in resources.files("failproof_es.store").joinpath("migrations").iterdir():
        if match := re.fullmatch(r"(\d{4})_(\w+?)(\.sql)?", shipped.name):
            shipped_migrations.append(Migration(int(match[1]), match[2], _sql_of(shipped)))
    return sorted(shipped_migrations, key=lambda migration: migration.number)


def _sql_of(shipped: Traversable) -> str:
    """The text of a migration; of a folder, all of its files."""
    if shipped.is_file():
        return shipped.read_text("utf-8")
    files = sorted(shipped.iterdir(), key=lambda file: file.name)
    return "\n".join(file.read_text("utf-8") for file in files)


def pending(connection: psycopg.Connection[Any]) -> list[Migration] | None:
    """The migrations that the database lacks; `None` if it has no schema at all.

    Raises `InvalidInput` when a newer version of this package made the database, or when an
    applied migration differs from the shipped one.
    """
    applied = _applied(connection)
    if applied is None:
        return None
    shipped = migrations()
    _check(applied, shipped)
    return [migration for migration in shipped if migration.number not in applied]


def lock_schema(connection: psycopg.Connection[Any]) -> None:
    """Lock the schema: no other session changes it until the transaction ends.

    Any session of the database can take this lock, and any reader of a table blocks its change.
    So the wait has a limit, after which it raises `InvalidInput`, which names the blocking session.
    """
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = {_LONGEST_WAIT_MS}".encode())
            connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})".encode())
    except psycopg.errors.LockNotAvailable:
        rows = connection.execute(_HOLDERS.encode()).fetchall()
        holders = ", ".join(f"process {pid} of user {user}" for pid, user in rows)
        raise InvalidInput.because(
            "database-busy",
            f"another session is changing the schema, or blocks it: {holders}",
            remedy="wait for that one to end, or end it with pg_terminate_backend, and try again",
        ) from None


def migrate(connection: psycopg.Connection[Any]) -> list[Migration]:
    """Apply the pending migrations, and return them.

    Raises `InvalidInput` as `pending` does, and when there is no log, but a schema of one of our
    names that is not empty.
    """
    with connection.transaction():
        lock_schema(connection)
        new = pending(connection)
        if new is None:
            _require_free_names(connection)
            new = migrations()
            connection.execute("CREATE SCHEMA IF NOT EXISTS failproof")
            connection.execute(
                "CREATE TABLE failproof.migrations ("
                "number integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, "
                "applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"
            )
        for migration in new:
            connection.execute(migration.sql.encode())
            connection.execute(
                "INSERT INTO failproof.migrations (number, name, sha256) VALUES (%s, %s, %s)",
                (migration.number, migration.name, migration.sha256),
            )
    return new


def _require_free_names(connection: psycopg.Connection[Any]) -> None:
    with connection.cursor(row_factory=tuple_row) as cursor:
        taken = cursor.execute(_TAKEN, (list(_TAKEN_OVER),)).fetchone()
    if taken is not None:
        raise InvalidInput.because(
            "schema-taken",
            f"{taken[0]} is in this database, and no log: another program made it, or the schema "
            "`failproof` was dropped",
            remedy="give failproof-es a database of its own (`createdb evaluations`), or restore "
            "the log from a backup",
        )


def _applied(connection: psycopg.Connection[Any]) -> dict[int, str] | None:
    with connection.cursor(row_factory=tuple_row) as cursor:
        exists = cursor.execute("SELECT to_regclass('failproof.migration_log')").fetchone()
        if exists is None or exists[0] is None:
            return None
        cursor.execute("SELECT number, sha256 FROM failproof.migration_log")
        return dict(cursor.fetchall())


def _check(applied: dict[int, str], shipped: list[Migration]) -> None:
    by_number = {migration.number: migration for migration in shipped}
    if unknown := sorted(set(applied) - set(by_number)):
        raise InvalidInput.because(
            "schema-newer",
            f"the database has migration {unknown[-1]:04}, which this version does not know",
            remedy="use the version of failproof-es that made it, or a newer one",
        )
    for number, sha256 in applied.items():
        if by_number[number].sha256 != sha256:
            raise InvalidInput.because(
                "schema-changed",
                f"migration {number:04} in the database differs from the one that ships",
                remedy="the database was made by a modified version; use that one",
            )
