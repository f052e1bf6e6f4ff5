"""The ledger's tables: tiles, checkpoints, and which log this is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString, NamedTuple
from uuid import UUID

from psycopg.rows import class_row, tuple_row

from failproof_es.ledger.edge import Tile
from failproof_es.ledger.merkle import HASH_BYTES, TILE_LEVELS, TILE_WIDTH
from failproof_es.store.reading.leaf_rows import INFINITELY_EARLY as INFINITELY_EARLY
from failproof_es.store.reading.leaf_rows import INFINITELY_LATE as INFINITELY_LATE
from failproof_es.store.reading.leaf_rows import Connection as Connection
from failproof_es.store.reading.leaf_rows import LeafRow as LeafRow
from failproof_es.store.reading.leaf_rows import LedgerBroken as LedgerBroken
from failproof_es.store.reading.leaf_rows import checked_leaf as checked_leaf
from failproof_es.store.reading.leaf_rows import leaf_rows as leaf_rows
from failproof_es.store.reading.leaf_rows import rows_at as rows_at
from failproof_es.store.reading.leaf_rows import run_rows as run_rows
from failproof_es.store.reading.leaf_rows import stream_rows as stream_rows
from failproof_es.support.untrusted_text import shortened

REFUSED = "FP006"
"""The SQLSTATE with which the database refuses a tile or checkpoint that does not fit the log."""
_TREE: LiteralString = "coalesce(%s, (SELECT max(tree) FROM failproof.ledger_origin))"
"""The number of a tree; of the log's own for `None`."""
_TILES_AT_ONCE = 1_000
_LEVELS = 8
"""Levels of tiles in a tree of 2^63 events."""
_LONGEST_ORIGIN = 200
"""In bytes: it is part of a file's name."""
_LONGEST_NOTE = 1 << 20
_FEW = 8
_TILES_LOOKED_AT = 2_000


@dataclass(frozen=True, slots=True)
class LogTree:
    """A tree over the log. Its number is the number of repairs before it."""

    number: int
    origin: str
    """Empty if the database has no valid origin."""
    unnamed: str = ""
    """Why the origin is empty."""


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A signed checkpoint as the database keeps it; nothing in it has been checked.

    A note that is longer than any checkpoint is cut off, which makes it invalid.
    """

    tree_size: int
    note: str


@dataclass(frozen=True, slots=True)
class DatedCheckpoint:
    """The same, with its id in the database and when it was recorded there."""

    checkpoint_id: int
    tree_size: int
    note: str
    recorded_at: datetime | None


def trees(connection: Connection) -> list[LogTree]:
    """Every tree that the log ever had, the log's own last.

    One for each number: `verify` reports a second tree under the same number. A log
    whose list of trees was emptied has one tree without a name.
    """
    with connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT ON (tree) tree, textsend(origin) FROM failproof.ledger_origin "
            "ORDER BY tree, created_at"
        ).fetchall()
    return [_log_tree(number, origin) for number, origin in rows or [(0, None)]]


def origin(connection: Connection) -> str:
    """The log's origin: the name that its checkpoints are signed for.

    Raises `LedgerBroken` if the database has no origin, or an invalid one.
    """
    newest = trees(connection)[-1]
    if newest.unnamed:
        raise LedgerBroken(newest.unnamed)
    return newest.origin


def _log_tree(number: int, origin: bytes | None) -> LogTree:
    if not origin:
        why = "the database does not say which log it holds: its origin is missing"
        return LogTree(number, "", why)
    name = origin.decode(errors="backslashreplace")
    if name.encode() == origin and name.isprintable() and len(origin) <= _LONGEST_ORIGIN:
        return LogTree(number, name)
    excerpt = shortened(name, _LONGEST_ORIGIN)
    why = f"the database says that its log is {excerpt!r}: that is not a log's name"
    return LogTree(number, "", why)


def _checked(tile: Tile) -> Tile:
    """The row as a tile. Raises `LedgerBroken` if it is not a valid one."""
    if why := _why_none(tile):
        raise LedgerBroken(_no_tile(tile, why))
    return tile


def _no_tile(tile: Tile, why: str) -> str:
    return f"tile {tile.tile} of level {tile.level} is not a tile: {why}"


def _why_none(tile: Tile) -> str | None:
    """Why the row is not a tile. A superuser can drop every constraint, so nothing is assumed."""
    if type(tile.level) is not int or not 0 <= tile.level < _LEVELS:
        return f"levels are 0 to {_LEVELS - 1}"
    most = 1 << 63 - TILE_LEVELS * (tile.level + 1)
    if type(tile.tile) is not int or not 0 <= tile.tile < most:
        return "no tree has a tile of this number"
    if type(tile.width) is not int or not 0 < tile.width <= TILE_WIDTH:
        return f"its width is {tile.width}"
    if type(tile.hashes) is not bytes or len(tile.hashes) != HASH_BYTES * tile.width:
        return f"it does not hold {tile.width} hashes"
    if tile.level == 0:
        there = tile.positions or []
        if len(there) != tile.width or any(type(position) is not int for position in there):
            return f"it does not hold {tile.width} positions"
    return None


def tiles(
    connection: Connection, level: int, first: int = 0, tree: int | None = None
) -> Iterator[Tile]:
    """A level's tiles from `first` on, the widest at each index, in the log's own tree.

    Reads several at once. Raises `LedgerBroken` at a row that is not a tile.
    """
    while True:
        with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
            rows = cursor.execute(
                "SELECT DISTINCT ON (tile) level, tile, width, hashes, positions "
                f"FROM failproof.ledger_tile_list WHERE tree = {_TREE} AND level = %s "
                "AND tile >= %s ORDER BY tile, width DESC LIMIT %s",
                (tree, level, first, _TILES_AT_ONCE),
            ).fetchall()
        yield from map(_checked, rows)
        if len(rows) < _TILES_AT_ONCE:
            return
        first = rows[-1].tile + 1


def no_tiles(connection: Connection) -> list[Tile]:
    """Some of the rows in the table of tiles that belong to no place in a tree."""
    with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
        return cursor.execute(
            "SELECT level, tile, width, NULL AS hashes FROM failproof.ledger_tile_list "
            "WHERE (level BETWEEN 0 AND %s AND tile >= 0) IS NOT TRUE LIMIT 100",
            (_LEVELS - 1,),
        ).fetchall()


def leaf_tiles(connection: Connection, tree: int, no_tile: Callable[[str], None]) -> Iterator[Tile]:
    """Stream every tile of leaves of a tree; at each index, the narrower ones first.

    A row in the tree that is not a valid tile is passed to `no_tile` and skipped.
    """
    with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
        rows = cursor.stream(
            "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
            "WHERE tree = %s AND level = 0 AND tile >= 0 ORDER BY tile, width",
            (tree,),
        )
        for row in rows:
            if why := _why_none(row):
                no_tile(_no_tile(row, why))
            else:
                yield row


def tile(connection: Connection, level: int, number: int) -> Tile | None:
    """The widest tile at an index. Raises `LedgerBroken` if it is not a valid tile."""
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    row = cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        f"WHERE tree = {_TREE} AND level = %s AND tile = %s ORDER BY width DESC LIMIT 1",
        (None, level, number),
    ).fetchone()
    return None if row is None else _checked(row)


def last_tile(connection: Connection) -> Tile | None:
    """The last tile of leaves, in its widest form. Raises `LedgerBroken` if it is not valid."""
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    row = cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        f"WHERE tree = {_TREE} AND level = 0 ORDER BY tile DESC, width DESC LIMIT 1",
        (None,),
    ).fetchone()
    return None if row is None else _checked(row)


def levels(connection: Connection) -> int:
    """How many levels of tiles there are."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "SELECT coalesce(max(level) + 1, 0) FROM failproof.ledger_tile_list "
            f"WHERE tree = {_TREE} AND level < %s",
            (None, _LEVELS),
        ).fetchone()
    assert row is not None
    return int(row[0])


def tile_of(connection: Connection, position: int) -> Tile | None:
    """The tile of leaves that covers an event at this position.

    Raises `LedgerBroken` if it is not a valid tile.
    """
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    row = cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        f"WHERE tree = {_TREE} AND level = 0 AND positions[1] <= %s "
        "ORDER BY positions[1] DESC, width DESC LIMIT 1",
        (None, position),
    ).fetchone()
    return None if row is None else _checked(row)


@dataclass(frozen=True, slots=True)
class LeafLocation:
    """Where a leaf is, and how far was looked for it."""

    position: int | None
    looked_at: int
    """Leaves: the newest ones in the tree."""
    complete: bool
    """Whether those were all."""


def find_leaf(connection: Connection, leaf: bytes) -> LeafLocation:
    """The position of the event with this leaf, looked for in the newest tiles of the tree."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        looked, first, position = cursor.execute(
            "SELECT coalesce(sum(width), 0)::bigint, min(tile), min(CASE WHEN at > 0 "
            "AND (at - 1) %% 32 = 0 THEN positions[(at - 1) / 32 + 1] END) FROM ("
            "SELECT DISTINCT ON (tile) tile, width, positions, position(%s::bytea IN hashes) AS at "
            "FROM (SELECT tile, width, positions, hashes FROM failproof.ledger_tile_list "
            f"WHERE tree = {_TREE} AND level = 0 ORDER BY tile DESC, width DESC LIMIT %s) "
            "AS newest ORDER BY tile DESC, width DESC) AS looked_at",
            (leaf, None, _TILES_LOOKED_AT),
        ).fetchone() or (0, None, None)
    return LeafLocation(position, looked, first in (0, None))


def lock(connection: Connection) -> None:
    """Lock the tree: nobody else adds leaves until the transaction ends."""
    connection.execute("SELECT failproof.lock_ledger()")


def begin_tree(connection: Connection, repair_stream: UUID, repair_version: int) -> None:
    """Begin the tree of a recorded `LedgerRepaired`. Tiles added from now on belong to it."""
    connection.execute("SELECT failproof.begin_tree(%b, %b)", (repair_stream, repair_version))


def add_tiles(connection: Connection, new: list[Tile]) -> None:
    """Record tiles, from the leaves up. A tile that exists is not changed.

    Raises `psycopg.DatabaseError` with the SQLSTATE `REFUSED` for a tile that differs from
    what the log's events give.
    """
    with connection.cursor() as cursor:
        cursor.executemany(
            "SELECT failproof.add_tile(%b::smallint, %b::bigint, %b::smallint, %b::bytea, "
            "%b::bigint[])",
            [
                (new_tile.level, new_tile.tile, new_tile.width, new_tile.hashes, new_tile.positions)
                for new_tile in new
            ],
        )


def checkpoints(connection: Connection, tree: int | None = None) -> list[StoredCheckpoint]:
    """Every checkpoint of a tree, the smallest size first. `None` is the log's own tree."""
    return _checkpoints(connection, "ORDER BY tree_size, checkpoint_id", tree)


def newest_checkpoint(connection: Connection) -> StoredCheckpoint | None:
    """The checkpoint of the largest tree, with the most signatures recorded for it."""
    return next(newest_checkpoints(connection), None)


def newest_checkpoints(connection: Connection) -> Iterator[StoredCheckpoint]:
    """Every checkpoint of the log's own tree, the largest and the most signatures first.

    Reads a few first: the newest one is mostly the one that is wanted.
    """
    newest: LiteralString = "ORDER BY tree_size DESC, length(note) DESC, checkpoint_id DESC"
    few = _checkpoints(connection, newest + f" LIMIT {_FEW}", None)
    yield from few
    if len(few) == _FEW:
        yield from _checkpoints(connection, newest + f" OFFSET {_FEW}", None)


def dated_checkpoints(
    connection: Connection, *, limit: int, before: int | None = None
) -> list[DatedCheckpoint]:
    """The newest checkpoints of the log's own tree, at most `limit`; of those before an id."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(
            "SELECT checkpoint_id, tree_size, substring(textsend(note) FROM 1 FOR %s), "
            "CASE WHEN recorded_at BETWEEN '0001-01-02' AND '9999-12-30' THEN recorded_at END "
            f"FROM failproof.checkpoint_list WHERE tree = {_TREE} "
            "AND (%s::bigint IS NULL OR checkpoint_id < %s) ORDER BY checkpoint_id DESC LIMIT %s",
            (_LONGEST_NOTE, None, before, before, limit),
        ).fetchall()
    return [
        DatedCheckpoint(number, size, bytes(note or b"").decode(errors="surrogateescape"), at)
        for number, size, note, at in rows
    ]


def _checkpoints(
    connection: Connection, which: LiteralString, tree: int | None
) -> list[StoredCheckpoint]:
    """Notes are read as bytes: they may not be valid text in the database's encoding."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(
            "SELECT tree_size, substring(textsend(note) FROM 1 FOR %s) "
            f"FROM failproof.checkpoint_list WHERE tree = {_TREE} {which}",
            (_LONGEST_NOTE, tree),
        ).fetchall()
    return [
        StoredCheckpoint(tree_size, bytes(note or b"").decode(errors="surrogateescape"))
        for tree_size, note in rows
    ]


def count_events(connection: Connection, after: int | None = None) -> int:
    """How many events the log has, or has after a position. Counts every row."""
    statement: LiteralString = "SELECT count(*) FROM failproof.stored_events"
    if after is not None:
        statement += " WHERE notification_id > %s"
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(statement, None if after is None else (after,)).fetchone()
    assert row is not None
    return int(row[0])


COUNTED_EXACTLY = 10_000
"""So many events are counted while somebody waits; of more an upper bound is told."""


class EventsBehind(NamedTuple):
    """How many events follow a position."""

    events: int
    exact: bool
    """If not, there are at most so many, and more than `COUNTED_EXACTLY`."""


def events_behind(connection: Connection, after: int = 0, most: int | None = None) -> EventsBehind:
    """How many events follow `after`, counted up to `most`: up to `COUNTED_EXACTLY` without.

    Of more the bound is the number of positions, some of which may hold no event. Its cost does
    not depend on how many there are.
    """
    most = COUNTED_EXACTLY if most is None else most
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "SELECT count(*), (SELECT max(notification_id) FROM failproof.stored_events) "
            "FROM (SELECT FROM failproof.stored_events WHERE notification_id > %s "
            "ORDER BY notification_id LIMIT %s) AS counted",
            (after, most + 1),
        ).fetchone()
    counted, head = (0, 0) if row is None else (row[0], row[1] or 0)
    return EventsBehind(counted, True) if counted <= most else EventsBehind(head - after, False)


def add_checkpoint(connection: Connection, tree_size: int, note: str) -> None:
    """Record a signed checkpoint. The same note twice is recorded once.

    Raises `psycopg.DatabaseError` with the SQLSTATE `REFUSED` for one of another log or tree.
    """
    connection.execute("SELECT failproof.add_checkpoint(%b::bigint, %b::text)", (tree_size, note))
