"""The ledger's tables: tiles, checkpoints, and the rows that leaves are computed from."""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import class_row, tuple_row

from failproof_es.ledger.edge import Tile

Connection = psycopg.Connection[Any]

_COPY = sql.SQL(
    "COPY (SELECT notification_id, originator_id, originator_version, topic, state, run_id, "
    "recorded_at, leaf_hash FROM failproof.stored_events "
    "WHERE {which} ORDER BY notification_id LIMIT {limit}) TO STDOUT (FORMAT BINARY)"
)
_BETWEEN = sql.SQL("notification_id > {after} AND notification_id <= {up_to}")
_UP_TO = sql.SQL("notification_id <= {up_to}")
_OF_RUN = sql.SQL("run_id = {run_id}")
_OF_STREAMS = sql.SQL("originator_id = ANY ({stream_ids})")
_STREAMS_AT_ONCE = 1_000
_EVERY = (1 << 63) - 1
_COPY_HEADER = 19
_TREE: LiteralString = "coalesce(%s, (SELECT max(tree) FROM failproof.ledger_origin))"
"""The number of a tree; of the log's own for `None`."""
_FIXED = struct.Struct(">hiqi16siqi")
"""Fields in the row, then length and value: position, stream id, version; the topic's length."""
_LENGTH = struct.Struct(">i")
_MICROSECONDS = struct.Struct(">q")
_POSTGRES_EPOCH_US = 946_684_800_000_000
REFUSED = "FP006"
"""What the database says to a tile or a checkpoint that does not fit the log."""


class LeafRow(NamedTuple):
    """What the log's row of one event holds. Ids are bytes: a million of them are read."""

    position: int
    stream_id: bytes
    version: int
    topic: bytes
    state: bytes
    run_id: bytes | None
    recorded_at_us: int
    """Microseconds since 1970, by the database's clock."""
    leaf_hash: bytes | None
    """As the writer computed it."""


@dataclass(frozen=True, slots=True)
class LogTree:
    """A tree over the log. Its number counts the repairs before it."""

    number: int
    origin: str


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A signed checkpoint as the database keeps it; nothing in it has been checked."""

    tree_size: int
    note: str


def trees(connection: Connection) -> list[LogTree]:
    """Every tree that the log ever had, the log's own last.

    One for each number; an attacker's second one under a number is for `verify` to notice. A log
    whose trees were taken off the list has one without a name.
    """
    with connection.cursor(row_factory=class_row(LogTree)) as cursor:
        found = cursor.execute(
            "SELECT DISTINCT ON (tree) tree AS number, origin FROM failproof.ledger_origin "
            "ORDER BY tree, created_at"
        ).fetchall()
    return found or [LogTree(0, "")]


def origin(connection: Connection) -> str:
    """Which log this is: the name that its checkpoints are signed for."""
    return trees(connection)[-1].origin


def leaf_rows(
    connection: Connection, after: int | None = 0, up_to: int = _EVERY, limit: int | None = None
) -> Generator[LeafRow]:
    """Stream the rows with positions in (after, up_to], in commit order.

    Positions begin at 1. With `after=None`, rows that somebody put below that come, too.
    """
    which = _UP_TO.format(up_to=sql.Literal(up_to))
    if after is not None:
        which = _BETWEEN.format(after=sql.Literal(after), up_to=sql.Literal(up_to))
    return _rows(connection, _COPY.format(which=which, limit=sql.Literal(limit)))


def run_rows(connection: Connection, run_id: UUID) -> Iterator[LeafRow]:
    """Stream the rows that are filed under a run, in commit order. Prompts are not among them."""
    which = _OF_RUN.format(run_id=sql.Literal(run_id))
    return _rows(connection, _COPY.format(which=which, limit=sql.Literal(None)))


def stream_rows(connection: Connection, stream_ids: Sequence[UUID]) -> Iterator[LeafRow]:
    """Stream the rows of these streams; in commit order within each thousand streams."""
    for first in range(0, len(stream_ids), _STREAMS_AT_ONCE):
        chosen = list(stream_ids[first : first + _STREAMS_AT_ONCE])
        which = _OF_STREAMS.format(stream_ids=sql.Literal(chosen))
        yield from _rows(connection, _COPY.format(which=which, limit=sql.Literal(None)))


def _rows(connection: Connection, statement: sql.Composed) -> Generator[LeafRow]:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        first = True
        for data in copy:
            row = bytes(data)
            if first:
                row, first = row[_COPY_HEADER:], False
            if len(row) > 2:
                yield _leaf_row(row)


def _leaf_row(row: bytes) -> LeafRow:
    _, _, position, _, stream_id, _, version, length = _FIXED.unpack_from(row)
    at = _FIXED.size
    topic = row[at : at + length]
    at += length
    (length,) = _LENGTH.unpack_from(row, at)
    state = row[at + 4 : at + 4 + length]
    at += 4 + length
    run_id = None
    if row[at] == 0:
        run_id = row[at + 4 : at + 20]
        at += 16
    (recorded_at,) = _MICROSECONDS.unpack_from(row, at + 8)
    leaf_hash = row[at + 20 : at + 52] if len(row) > at + 20 else None
    return LeafRow(
        position, stream_id, version, topic, state, run_id,
        recorded_at + _POSTGRES_EPOCH_US, leaf_hash,
    )  # fmt: skip


def tiles(
    connection: Connection, level: int, first: int = 0, tree: int | None = None
) -> Iterator[Tile]:
    """Stream a level's tiles from `first` on, the widest of each place; of the log's own tree."""
    with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
        yield from cursor.stream(
            "SELECT DISTINCT ON (tile) level, tile, width, hashes, positions "
            f"FROM failproof.ledger_tile_list WHERE tree = {_TREE} AND level = %s AND tile >= %s "
            "ORDER BY tile, width DESC",
            (tree, level, first),
        )


def leaf_tiles(connection: Connection, tree: int) -> Iterator[Tile]:
    """Stream every tile of leaves of a tree, the narrower ones of a place first."""
    with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
        yield from cursor.stream(
            "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
            "WHERE tree = %s AND level = 0 ORDER BY tile, width",
            (tree,),
        )


def tile(connection: Connection, level: int, number: int) -> Tile | None:
    """One tile, the widest there is of it."""
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    return cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        f"WHERE tree = {_TREE} AND level = %s AND tile = %s ORDER BY width DESC LIMIT 1",
        (None, level, number),
    ).fetchone()


def last_tile(connection: Connection) -> Tile | None:
    """The last tile of leaves, the widest there is of it."""
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    return cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        f"WHERE tree = {_TREE} AND level = 0 ORDER BY tile DESC, width DESC LIMIT 1",
        (None,),
    ).fetchone()


def levels(connection: Connection) -> int:
    """How many levels of tiles there are."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "SELECT coalesce(max(level) + 1, 0) FROM failproof.ledger_tile_list "
            f"WHERE tree = {_TREE}",
            (None,),
        ).fetchone()
    assert row is not None
    return int(row[0])


def tile_of(connection: Connection, position: int) -> Tile | None:
    """The tile of leaves that an event at this position would stand in."""
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    return cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        f"WHERE tree = {_TREE} AND level = 0 AND positions[1] <= %s "
        "ORDER BY positions[1] DESC, width DESC LIMIT 1",
        (None, position),
    ).fetchone()


def lock(connection: Connection) -> None:
    """Until the transaction ends, nobody else integrates."""
    connection.execute("SELECT failproof.lock_ledger()")


def begin_tree(connection: Connection, repair_stream: UUID, repair_version: int) -> None:
    """Begin the tree that a `LedgerRepaired` on record calls for; what is added now is its own."""
    connection.execute("SELECT failproof.begin_tree(%b, %b)", (repair_stream, repair_version))


def add_tiles(connection: Connection, new: list[Tile]) -> None:
    """Record tiles, from the leaves up. One that stands already stays as it is.

    Raises `psycopg.DatabaseError` with the SQLSTATE `REFUSED` for one that is not what the
    log gives.
    """
    with connection.cursor() as cursor:
        cursor.executemany(
            "SELECT failproof.add_tile(%b::smallint, %b::bigint, %b::smallint, %b::bytea, "
            "%b::bigint[])",
            [(each.level, each.tile, each.width, each.hashes, each.positions) for each in new],
        )


def checkpoints(connection: Connection, tree: int | None = None) -> list[StoredCheckpoint]:
    """Every checkpoint of a tree, the log's own for `None`; the smallest size first."""
    with connection.cursor(row_factory=class_row(StoredCheckpoint)) as cursor:
        return cursor.execute(
            f"SELECT tree_size, note FROM failproof.checkpoint_list WHERE tree = {_TREE} "
            "ORDER BY tree_size, checkpoint_id",
            (tree,),
        ).fetchall()


def newest_checkpoint(connection: Connection) -> StoredCheckpoint | None:
    """The checkpoint of the largest tree, with the most signatures recorded for it."""
    return next(newest_checkpoints(connection), None)


def newest_checkpoints(connection: Connection) -> Iterator[StoredCheckpoint]:
    """Every checkpoint of the log's own tree, the largest and the most signatures first."""
    with connection.cursor(row_factory=class_row(StoredCheckpoint)) as cursor:
        yield from cursor.execute(
            f"SELECT tree_size, note FROM failproof.checkpoint_list WHERE tree = {_TREE} "
            "ORDER BY tree_size DESC, length(note) DESC, checkpoint_id DESC",
            (None,),
        )


def checkpoint_of(connection: Connection, tree_size: int) -> StoredCheckpoint | None:
    """The checkpoint of the log's own tree at that size, with the most signatures."""
    with connection.cursor(row_factory=class_row(StoredCheckpoint)) as cursor:
        return cursor.execute(
            f"SELECT tree_size, note FROM failproof.checkpoint_list WHERE tree = {_TREE} "
            "AND tree_size = %s ORDER BY length(note) DESC, checkpoint_id DESC LIMIT 1",
            (None, tree_size),
        ).fetchone()


def count_events(connection: Connection) -> int:
    """How many events the log has."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute("SELECT count(*) FROM failproof.stored_events").fetchone()
    assert row is not None
    return int(row[0])


def add_checkpoint(connection: Connection, tree_size: int, note: str) -> None:
    """Record a signed checkpoint. The same note twice is recorded once.

    Raises `psycopg.DatabaseError` with the SQLSTATE `REFUSED` for one of another log or tree.
    """
    connection.execute("SELECT failproof.add_checkpoint(%b::bigint, %b::text)", (tree_size, note))
