"""The schema `failproof_queue`: the tables of the package `procrastinate`.

It is created by the package's own statements. A job is only a hint that a shard may have work, so a
queue of another version of the package is dropped and created again: workers refill it from the
log.
"""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from failproof_es.problems import InvalidInput

QUEUE: LiteralString = "failproof_queue"
_PATH: LiteralString = "failproof_queue, pg_catalog, pg_temp"
_ROLE: LiteralString = "failproof_migrator"
_SET: LiteralString = "SELECT pg_catalog.set_config('search_path', %s, true)"
_COMMENT: LiteralString = (
    "SELECT pg_catalog.obj_description(pg_catalog.to_regnamespace('failproof_queue')::oid, "
    "'pg_namespace')"
)


def install_queue(connection: psycopg.Connection[Any], *, has_roles: bool) -> list[str]:
    """Create the schema of the queue unless it exists; return the refusals of the server.

    In the caller's transaction. With `has_roles` the schema belongs to the migrator, and only the
    writer may change its rows.
    """
    try:
        with connection.transaction():
            if not has_queue(connection):
                _make(connection, has_roles=has_roles)
            if has_roles:
                connection.execute(_queue_file("grants"))
    except psycopg.errors.InsufficientPrivilege as error:
        return [f"queue: {error.diag.message_primary}"]
    return []


def has_queue(connection: psycopg.Connection[Any]) -> bool:
    """Whether the database has the queue of this version of the package."""
    row = connection.execute(_COMMENT).fetchone()
    return row is not None and next(iter(_values(row))) == _version()


def require_queue(connection: psycopg.Connection[Any]) -> None:
    """Raise `InvalidInput` unless this user can use the queue of this version."""
    if not has_queue(connection):
        raise InvalidInput.because(
            "schema-not-current",
            f"the database has no queue for workers (schema {QUEUE}), or one of another version",
            remedy="make it with `failproof-es db init`, as a user who may",
        )
    row = connection.execute(
        "SELECT pg_catalog.has_schema_privilege('failproof_queue', 'USAGE') AND "
        "pg_catalog.has_table_privilege('failproof_queue.procrastinate_jobs', 'INSERT')"
    ).fetchone()
    if row is None or not next(iter(_values(row))):
        raise InvalidInput.because(
            "permission-denied",
            "this database user may not use the queue for workers",
            remedy="use one that was granted failproof_writer",
        )


def _make(connection: psycopg.Connection[Any], *, has_roles: bool) -> None:
    connection.execute("DROP SCHEMA IF EXISTS failproof_queue CASCADE")
    if has_roles:
        connection.execute("CREATE SCHEMA failproof_queue AUTHORIZATION failproof_migrator")
        connection.execute("SELECT pg_catalog.set_config('role', %s, true)", (_ROLE,))
    else:
        connection.execute("CREATE SCHEMA failproof_queue")
    before = connection.execute("SELECT pg_catalog.current_setting('search_path')").fetchone()
    assert before is not None
    connection.execute(_SET, (_PATH,))
    connection.execute(_package_statements())
    connection.execute(_SET, (next(iter(_values(before))),))
    connection.execute(_queue_file("own_parts"))
    version = sql.Literal(_version())
    comment = sql.SQL("COMMENT ON SCHEMA failproof_queue IS {}").format(version)
    connection.execute(comment.as_bytes(connection))
    if has_roles:
        connection.execute("SELECT pg_catalog.set_config('role', 'none', true)")


def _values(row: Any) -> Any:
    return row.values() if isinstance(row, dict) else row


@cache
def _package_statements() -> LiteralString:
    """The statements by which the package creates its schema, read without importing it."""
    spec = importlib.util.find_spec("procrastinate")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent.joinpath("sql", "schema.sql").read_text("utf-8")


@cache
def _version() -> str:
    """The digest of all statements that create the schema, stored as the schema's comment."""
    made_of = _package_statements() + _queue_file("own_parts")
    return f"made by procrastinate: {hashlib.sha256(made_of.encode()).hexdigest()}"


def _queue_file(name: LiteralString) -> LiteralString:
    return resources.files("failproof_es.store").joinpath("queue", f"{name}.sql").read_text("utf-8")
