"""Catching up with the log, and rebuilding from it.

A projection's position moves in the transaction that writes its rows: whatever dies, the
two agree. Several processes may follow at once; a lock makes them take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import args_row

from failproof_es.store.reader import RecordedEvent, max_position
from projections import PROJECTIONS, Projection
from projections.protocol import Fact, sql_file

Connection = psycopg.Connection[Any]

LIVE: LiteralString = "projections"
BUILDING: LiteralString = "projections_building"
BATCH_EVENTS = 10_000
BATCH_BYTES = 64_000_000

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('failproof.projections', 0))"


_LOCK_REBUILD: LiteralString = (
    "SELECT pg_advisory_lock(hashtextextended('failproof.projections.rebuild', 0))"
)
_UNLOCK_REBUILD: LiteralString = (
    "SELECT pg_advisory_unlock(hashtextextended('failproof.projections.rebuild', 0))"
)


class OutdatedProjection(RuntimeError):
    """The tables were written by another version of the projection than this program's."""


class UnknownProjection(LookupError):
    """There is no projection of that name."""

    def __init__(self, name: str) -> None:
        known = ", ".join(projection.name for projection in PROJECTIONS)
        super().__init__(f"there is no projection {name!r}; there are: {known}")


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """How far a projection is. `behind` counts positions, not events it wants."""

    name: str
    version: int
    position: int
    behind: int
    updated_at: datetime | None


def status(connection: Connection) -> list[ProjectionStatus]:
    """How every projection stands."""
    head = max_position(connection)
    prepare(connection)
    rows = connection.execute(
        "SELECT name, version, position, updated_at FROM projections.positions"
    ).fetchall()
    found = {row[0]: row for row in rows}
    return [
        ProjectionStatus(
            projection.name,
            found[projection.name][1],
            found[projection.name][2],
            max(0, head - found[projection.name][2]),
            found[projection.name][3],
        )
        for projection in PROJECTIONS
    ]


def prepare(connection: Connection) -> None:
    """Create what is missing: a projection without its tables begins again at 0.

    One whose version in the code is another than the one that wrote its tables does too:
    it is rebuilt beside them, and swapped.
    """
    with connection.transaction():
        connection.execute(_LOCK)
        connection.execute(sql_file("positions"))
        outdated = []
        for projection in PROJECTIONS:
            row = connection.execute(
                "SELECT version FROM projections.positions WHERE name = %s", (projection.name,)
            ).fetchone()
            if row is None or not _is_whole(connection, projection):
                _create(connection, projection, LIVE)
                _set_position(connection, projection, 0)
            elif row[0] != projection.version:
                outdated.append(projection.name)
    if outdated:
        rebuild(connection, outdated)


def catch_up(connection: Connection, projections: Sequence[Projection] = PROJECTIONS) -> int:
    """Take in the next batch, in one transaction; return how many events it held.

    Raises `OutdatedProjection` when another version of this program rebuilt the tables.
    """
    with connection.transaction():
        connection.execute(_LOCK)
        positions = {
            projection.name: _position(connection, projection) for projection in projections
        }
        batch = _read_batch(connection, min(positions.values()))
        if not batch:
            return 0
        _enter(connection, LIVE)
        _apply(connection, projections, positions, batch)
        for projection in projections:
            if positions[projection.name] < batch[-1].position:
                _set_position(connection, projection, batch[-1].position)
    return len(batch)


def rebuild(
    connection: Connection,
    names: Sequence[str] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Build the named projections (all, if none is named) anew beside the live ones, and swap.

    Readers see the old rows until one transaction replaces them by the new. Interrupted, it
    leaves the live ones as they were and can be repeated. `progress` gets the position
    reached and the newest one. Returns the position of the swapped tables. Raises
    `UnknownProjection`.
    """
    chosen = _chosen(names)
    # One rebuild at a time, for its whole length: they share the schema they build in.
    connection.execute(_LOCK_REBUILD)
    try:
        return _rebuild(connection, chosen, progress)
    finally:
        connection.execute(_UNLOCK_REBUILD)


def _rebuild(
    connection: Connection,
    chosen: Sequence[Projection],
    progress: Callable[[int, int], None] | None,
) -> int:
    with connection.transaction():
        connection.execute(_LOCK)
        connection.execute(sql_file("positions"))
        connection.execute(
            sql.SQL("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}").format(
                sql.Identifier(BUILDING)
            )
        )
        for projection in chosen:
            _create(connection, projection, BUILDING)
    position = 0
    while True:
        head = max_position(connection)
        with connection.transaction():
            # Up to here the live ones may move on; the last stretch holds them still.
            batch = _read_batch(connection, position)
            if not batch:
                connection.execute(_LOCK)
                batch = _read_batch(connection, position)
                if not batch:
                    _swap(connection, chosen, position)
                    return position
            _enter(connection, BUILDING)
            _apply(connection, chosen, dict.fromkeys((p.name for p in chosen), position), batch)
        position = batch[-1].position
        if progress is not None:
            progress(position, head)


def _chosen(names: Sequence[str]) -> list[Projection]:
    by_name = {projection.name: projection for projection in PROJECTIONS}
    for name in names:
        if name not in by_name:
            raise UnknownProjection(name)
    return [p for p in PROJECTIONS if not names or p.name in names]


def _swap(connection: Connection, projections: Sequence[Projection], position: int) -> None:
    for projection in projections:
        _drop(connection, projection, LIVE)
        for relation in projection.relations:
            connection.execute(
                sql.SQL("ALTER {} {}.{} SET SCHEMA {}").format(
                    sql.SQL(relation.kind),
                    sql.Identifier(BUILDING),
                    sql.Identifier(relation.name),
                    sql.Identifier(LIVE),
                )
            )
        _set_position(connection, projection, position)


def _apply(
    connection: Connection,
    projections: Sequence[Projection],
    positions: dict[str, int],
    batch: Sequence[RecordedEvent],
) -> None:
    facts = [Fact(recorded) for recorded in batch]
    with connection.cursor() as cursor:
        for projection in projections:
            position, topics = positions[projection.name], projection.topics
            wanted = [f for f in facts if f.topic in topics and f.position > position]
            if wanted:
                projection.apply(cursor, wanted)


def _read_batch(connection: Connection, position: int) -> list[RecordedEvent]:
    """The next events, bounded by number and by bytes, one at least."""
    batch: list[RecordedEvent] = []
    size = 0
    with connection.cursor("projections_batch", row_factory=args_row(RecordedEvent)) as cursor:
        cursor.itersize = 2_500
        cursor.execute(sql_file("read_batch"), (position, BATCH_EVENTS), binary=True)
        for recorded in cursor:
            batch.append(recorded)
            size += len(recorded.state)
            if size >= BATCH_BYTES:
                break
    return batch


# -- tables and positions ------------------------------------------------------------------


def _is_whole(connection: Connection, projection: Projection) -> bool:
    names = [f"{LIVE}.{relation.name}" for relation in projection.relations]
    row = connection.execute(
        "SELECT count(to_regclass(name)) FROM unnest(%s::text[]) AS name", (names,)
    ).fetchone()
    return row is not None and row[0] == len(names)


def _create(connection: Connection, projection: Projection, schema: LiteralString) -> None:
    _drop(connection, projection, schema)
    _enter(connection, schema)
    connection.execute(projection.ddl())


def _drop(connection: Connection, projection: Projection, schema: LiteralString) -> None:
    for relation in reversed(projection.relations):
        connection.execute(
            sql.SQL("DROP {} IF EXISTS {}.{} CASCADE").format(
                sql.SQL(relation.kind), sql.Identifier(schema), sql.Identifier(relation.name)
            )
        )


def _enter(connection: Connection, schema: LiteralString) -> None:
    """Let a projection's unqualified names mean the relations in `schema`."""
    connection.execute(sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(schema)))


def _position(connection: Connection, projection: Projection) -> int:
    row = connection.execute(
        "SELECT position, version FROM projections.positions WHERE name = %s",
        (projection.name,),
    ).fetchone()
    if row is None:
        return 0
    if row[1] != projection.version:
        raise OutdatedProjection(
            f"{projection.name}: its tables are of version {row[1]}, this program writes "
            f"version {projection.version}"
        )
    return int(row[0])


def _set_position(connection: Connection, projection: Projection, position: int) -> None:
    connection.execute(
        "INSERT INTO projections.positions (name, version, position) VALUES (%s, %s, %s) "
        "ON CONFLICT (name) DO UPDATE SET version = excluded.version, "
        "position = excluded.position, updated_at = clock_timestamp()",
        (projection.name, projection.version, position),
    )
