"""The schema of the queue: what the package `procrastinate` keeps in the database, and where.

It stands in a schema of its own, made by the package's own statements. A job is only a hint that a
shard may be worth a look, so a queue of another version of the package is dropped and made anew:
workers fill it again from the log.
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
    """Make the schema of the queue unless it is there; return what the server refused.

    In the caller's transaction. `has_roles`: the schema then belongs to the migrator, and only the
    writer may change what is in it.
    """
    try:
        with connection.transaction():
            if not has_queue(connection):
                _make(connection, has_roles=has_roles)
            if has_roles:
                connection.execute(_own("grants"))
    except psycopg.errors.InsufficientPrivilege as error:
        return [f"queue: {error.diag.message_primary}"]
    return []


def has_queue(connection: psycopg.Connection[Any]) -> bool:
    """Whether the queue of this version of the package is there."""
    row = connection.execute(_COMMENT).fetchone()
    return row is not None and next(iter(_values(row))) == _version()


def require_queue(connection: psycopg.Connection[Any]) -> None:
    """Raise `InvalidInput` unless this user can use the queue of this version."""
    if not has_queue(connection):
        raise InvalidInput.because(
            f"the database has no queue for workers (schema {QUEUE}), or one of another version",
            remedy="make it with `failproof-es db init`, as a user who may",
        )
    row = connection.execute(
        "SELECT pg_catalog.has_schema_privilege('failproof_queue', 'USAGE') AND "
        "pg_catalog.has_table_privilege('failproof_queue.procrastinate_jobs', 'INSERT')"
    ).fetchone()
    if row is None or not next(iter(_values(row))):
        raise InvalidInput.because(
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
    connection.execute(_schema())
    connection.execute(_SET, (next(iter(_values(before))),))
    connection.execute(_own("own_parts"))
    version = sql.Literal(_version())
    comment = sql.SQL("COMMENT ON SCHEMA failproof_queue IS {}").format(version)
    connection.execute(comment.as_bytes(connection))
    if has_roles:
        connection.execute("SELECT pg_catalog.set_config('role', 'none', true)")


def _values(row: Any) -> Any:
    return row.values() if isinstance(row, dict) else row


@cache
def _schema() -> LiteralString:
    """The statements that the package makes its schema with. It is not imported for that."""
    spec = importlib.util.find_spec("procrastinate")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent.joinpath("sql", "schema.sql").read_text("utf-8")


@cache
def _version() -> str:
    """The digest of all statements that made the schema; the schema's comment."""
    made_of = _schema() + _own("own_parts")
    return f"made by procrastinate: {hashlib.sha256(made_of.encode()).hexdigest()}"


def _own(name: LiteralString) -> LiteralString:
    return resources.files("failproof_es.store").joinpath("queue", f"{name}.sql").read_text("utf-8")
