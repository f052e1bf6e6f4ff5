"""Creates, finds and swaps the tables and views of projections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from failproof_es.problems import InvalidInput
from projections.protocol import Projection, sql_file

Connection = psycopg.Connection[Any]

LIVE: LiteralString = "projections"
BUILDING: LiteralString = "projections_building"
PATIENCE_MS = 500
"""Milliseconds for which a swap waits for readers, while new readers wait for the swap."""


def create_schemas(connection: Connection) -> None:
    """Create the schemas of live and of rebuilt tables if they are missing, as the current role."""
    connection.execute(sql_file("schemas"))


def enter(connection: Connection, schema: LiteralString) -> None:
    """Let unqualified names mean the relations in `schema` until the transaction ends.

    The commit does not wait for the disk: rows that a crash loses are computed again from the log.
    `random_page_cost` is 1, because the pages were just written and are in memory.
    """
    connection.execute(
        "SELECT set_config('search_path', %s, true), set_config('random_page_cost', '1', true), "
        "set_config('synchronous_commit', 'off', true)",
        (schema,),
    )


def is_whole(connection: Connection, projection: Projection) -> bool:
    """Whether every live relation of this projection exists."""
    names = [f"{LIVE}.{relation.name}" for relation in projection.relations]
    row = connection.execute(
        "SELECT count(to_regclass(name)) FROM unnest(%s::text[]) AS name", (names,)
    ).fetchone()
    return row is not None and row[0] == len(names)


def create(connection: Connection, projection: Projection) -> None:
    """Create the live relations of this projection anew, empty.

    Raises `InvalidInput` if objects that are not ours depend on them, and `LockNotAvailable` if a
    session reads them for longer than `PATIENCE_MS`.
    """
    _lock(connection, [projection])
    refuse_dependents(connection, [projection])
    _drop(connection, projection)
    enter(connection, LIVE)
    connection.execute(projection.ddl())
    secure_rows(connection)


def secure_rows(connection: Connection) -> None:
    """Give new relations in the projections' schemas their row security, if the roles exist."""
    connection.execute(sql_file("row_security"))


def begin_building(connection: Connection, projections: Sequence[Projection]) -> None:
    """Create the projections' relations, empty, in the schema of rebuilds.

    Relations that an interrupted rebuild left there are removed first.
    """
    discard_building(connection)
    enter(connection, BUILDING)
    for projection in projections:
        connection.execute(projection.ddl())
    secure_rows(connection)


def discard_building(connection: Connection) -> None:
    """Remove all relations from the schema of rebuilds."""
    connection.execute(sql_file("clear_building"))


def replace(connection: Connection, projections: Sequence[Projection]) -> None:
    """Replace the live relations by those in the schema of rebuilds, under the same grants.

    Raises `InvalidInput`, naming them, if views or other objects that are not ours depend on the
    live relations: they would have to be dropped. Raises `LockNotAvailable` if a session reads the
    live relations for longer than `PATIENCE_MS`.
    """
    _lock(connection, projections)
    refuse_dependents(connection, projections)
    grants = connection.execute(sql_file("grants"), _name_relations(projections)).fetchall()
    for projection in projections:
        _drop(connection, projection)
        for relation in projection.relations:
            connection.execute(
                sql.SQL("ALTER {} {}.{} SET SCHEMA {}").format(
                    sql.SQL(relation.kind),
                    sql.Identifier(BUILDING),
                    sql.Identifier(relation.name),
                    sql.Identifier(LIVE),
                )
            )
    for (grant,) in grants:
        connection.execute(sql.SQL(grant))


def _lock(connection: Connection, projections: Sequence[Projection]) -> None:
    """Keep readers out of the live relations until the transaction ends.

    One statement locks the positions first, which readers of a snapshot hold (`hold_positions`).
    Other readers may hold one table and wait for the next: the lock gives up before the server
    looks for a deadlock (`deadlock_timeout`, 1 s), so that a reader is never the victim.
    """
    rows = connection.execute(sql_file("kinds"), _name_relations(projections)).fetchall()
    own = sorted(name for name, kind, is_own in rows if kind != "v" and is_own)
    tables = [sql.Identifier(LIVE, name) for name in own]
    if not tables:
        return
    connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{PATIENCE_MS}ms",))
    locked = sql.SQL(", ").join([sql.Identifier(LIVE, "positions"), *tables])
    connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(locked))


def refuse_dependents(connection: Connection, projections: Sequence[Projection]) -> None:
    """Raise `InvalidInput` if objects that are not ours depend on these projections' relations."""
    rows = connection.execute(sql_file("dependents"), _name_relations(projections)).fetchall()
    if rows:
        names = ", ".join(projection.name for projection in projections)
        raise InvalidInput.because(
            "dependent-objects",
            f"{names}: the tables cannot be replaced while {', '.join(row[0] for row in rows)} "
            "depends on them",
            remedy="drop what depends on them, rebuild, and create it again",
        )


def _name_relations(projections: Sequence[Projection]) -> dict[str, Any]:
    names = [relation.name for projection in projections for relation in projection.relations]
    return {"schema": LIVE, "names": names}


def _drop(connection: Connection, projection: Projection) -> None:
    """Drop the live relations of this projection, without CASCADE.

    Their kinds are read from the catalog, because another version may have created them.
    """
    rows = connection.execute(sql_file("kinds"), _name_relations([projection])).fetchall()
    kinds: dict[str, LiteralString] = {
        name: "VIEW" if kind == "v" else "TABLE" for name, kind, _ in rows
    }
    # Views are dropped before the tables that they read.
    for name, kind in sorted(kinds.items(), key=lambda item: item[1], reverse=True):
        connection.execute(
            sql.SQL("DROP {} {}.{}").format(
                sql.SQL(kind), sql.Identifier(LIVE), sql.Identifier(name)
            )
        )
