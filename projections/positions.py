"""The position of each projection: `projections.positions`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

from projections.protocol import Projection, sql_file

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Position:
    """Up to where which version of a projection has written its rows."""

    name: str
    version: int
    position: int
    updated_at: datetime


def create_positions(connection: Connection) -> None:
    """Make the table, where it is missing."""
    connection.execute(sql_file("positions"))


def read_positions(connection: Connection) -> dict[str, Position]:
    """The position of every projection that has one. Writes nothing."""
    row = connection.execute("SELECT to_regclass('projections.positions') IS NULL").fetchone()
    if row == (True,):
        return {}
    with connection.cursor(row_factory=class_row(Position)) as cursor:
        cursor.execute("SELECT name, version, position, updated_at FROM projections.positions")
        return {position.name: position for position in cursor}


def hold_positions(connection: Connection) -> None:
    """Until the transaction ends, no projection's tables are replaced.

    Call it before the first query of a snapshot: it would see a table that was built since as it
    was when it was half full. Does nothing where there are no projections to read.
    """
    with (
        suppress(
            psycopg.errors.UndefinedTable,
            psycopg.errors.InvalidSchemaName,
            psycopg.errors.InsufficientPrivilege,
        ),
        connection.transaction(),
    ):
        connection.execute("LOCK TABLE projections.positions IN ACCESS SHARE MODE")


def move_positions(
    connection: Connection, projections: Sequence[Projection], position: int
) -> None:
    """Record that these projections, in this program's versions, have reached `position`."""
    names = [projection.name for projection in projections]
    versions = [projection.version for projection in projections]
    connection.execute(sql_file("move_positions"), (names, versions, [position] * len(projections)))


def begin_following(connection: Connection) -> None:
    """Tell readers, until the connection ends, that somebody brings the projections up."""
    connection.execute(
        "SELECT pg_advisory_lock_shared(hashtextextended('failproof.projections.following', 0))"
    )


def are_moved_by_others(connection: Connection, within_s: float) -> bool:
    """Whether somebody follows the log, and moved the projections within so many seconds.

    Who reads can leave them to that one then. Writes nothing.
    """
    row = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database "
        "WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objsubid = 1 "
        "AND (l.classid::bigint << 32 | l.objid::bigint) "
        "= hashtextextended('failproof.projections.following', 0)) "
        "AND EXISTS (SELECT FROM projections.positions "
        "WHERE updated_at > clock_timestamp() - make_interval(secs => %s))",
        (within_s,),
    ).fetchone()
    return row == (True,)
