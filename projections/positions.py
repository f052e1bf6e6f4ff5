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
    """The version of a projection that wrote its rows, and the position that they reach."""

    name: str
    version: int
    position: int
    updated_at: datetime


def create_positions(connection: Connection) -> None:
    """Create the table `projections.positions` if it is missing."""
    connection.execute(sql_file("positions"))


def read_positions(connection: Connection) -> dict[str, Position]:
    """The recorded positions by name of the projection; empty without the table. Writes nothing."""
    row = connection.execute("SELECT to_regclass('projections.positions') IS NULL").fetchone()
    if row == (True,):
        return {}
    with connection.cursor(row_factory=class_row(Position)) as cursor:
        cursor.execute("SELECT name, version, position, updated_at FROM projections.positions")
        return {position.name: position for position in cursor}


def hold_positions(connection: Connection) -> None:
    """Prevent replacement of the projections' tables until the transaction ends.

    Call it before the first query of a snapshot, which would otherwise see a table replaced since
    as it was while it was being built. Does nothing if there are no readable projections.
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
    """Signal to readers, until the connection ends, that a follower updates the projections."""
    connection.execute(
        "SELECT pg_advisory_lock_shared(hashtextextended('failproof.projections.following', 0))"
    )


def are_moved_by_others(connection: Connection, within_s: float) -> bool:
    """Whether a follower is running, and updated some projection in the last `within_s` seconds.

    Then readers need not update them. Writes nothing.
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
