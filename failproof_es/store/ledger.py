"""The ledger's tables: tiles, checkpoints, and the log's origin."""

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
"""The SQLSTATE for a tile or checkpoint that the database refuses, as it does not fit the log."""
_TREE: LiteralString = "coalesce(%s, (SELECT max(tree) FROM failproof.ledger_origin))"
"""SQL for the number of a tree; of the log's newest tree for `None`."""
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
    """A stored checkpoint, with its id in the database and the time of its recording there."""

    checkpoint_id: int
    tree_size: int
    note: str
    recorded_at: datetime | None


def trees(connection: Connection) -> list[LogTree]:
    """Every tree that the log ever had, the current one last.

    One tree for each number: `verify` reports a second tree under the same number. If the list
    of trees was emptied, one tree without a name.
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


def _require_valid(tile: Tile) -> Tile:
    """The tile itself. Raises `LedgerBroken` if it is not valid."""
    if why := _find_defect(tile):
        raise LedgerBroken(_describe_invalid(tile, why))
    return tile


def _describe_invalid(tile: Tile, why: str) -> str:
    return f"tile {tile.tile} of level {tile.level} is not a tile: {why}"


def _find_defect(tile: Tile) -> str | None:
    """Why the row is not a valid tile; else `None`. Assumes no constraint: a superuser can drop
    them."""
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
    """A level's tiles from `first` on, the widest at each index; of the current tree for `None`.

    Reads several at once. Raises `LedgerBroken` at a row that is not a valid tile.
    """
    while True:
        with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
            rows = cursor.execute(
                "SELECT DISTINCT ON (tile) level, tile, width, hashes, positions "
                f"FROM failproof.ledger_tile_list WHERE tree = {_TREE} AND level = %s "
                "AND tile >= %s ORDER BY tile, width DESC LIMIT %s",
                (tree, level, first, _TILES_AT_ONCE),
            ).fetchall()
        yield from map(_require_valid, rows)
        if len(rows) < _TILES_AT_ONCE:
            return
        first = rows[-1].tile + 1


def no_tiles(connection: Connection) -> list[Tile]:
    """Rows in the table of tiles that have no place in a tree, at most 100."""
    with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
        return cursor.execute(
            "SELECT level, tile, width, NULL AS hashes FROM failproof.ledger_tile_list "
            "WHERE (level BETWEEN 0 AND %s AND tile >= 0) IS NOT TRUE LIMIT 100",
            (_LEVELS - 1,),
        ).fetchall()


def leaf_tiles(connection: Connection, tree: int, no_tile: Callable[[str], None]) -> Iterator[Tile]:
    """Stream every tile of leaves of a tree; at each index, the narrower tiles first.

    A row that is not a valid tile is skipped, and its description passed to `no_tile`.
    """
    with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
        rows = cursor.stream(
            "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
            "WHERE tree = %s AND level = 0 AND tile >= 0 ORDER BY tile, width",
            (tree,),
        )
        for row in rows:
            if why := _find_defect(row):
                no_tile(_describe_invalid(row, why))
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
    return None if row is None else _require_valid(row)


def last_tile(connection: Connection) -> Tile | None:
    """The last tile of leaves, in its widest form. Raises `LedgerBroken` if it is not valid."""
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    row = cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        f"WHERE tree = {_TREE} AND level = 0 ORDER BY tile DESC, width DESC LIMIT 1",
        (None,),
    ).fetchone()
    return None if row is None else _require_valid(row)


def levels(connection: Connection) -> int:
    """Number of levels of tiles in the current tree."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "SELECT coalesce(max(level) + 1, 0) FROM failproof.ledger_tile_list "
            f"WHERE tree = {_TREE} AND level < %s",
            (None, _LEVELS),
        ).fetchone()
    assert row is not None
    return int(row[0])


def tile_of(connection: Connection, position: int) -> Tile | None:
    """The last tile of leaves that begins at or before this position; it covers the event there.

    Raises `LedgerBroken` if it is not a valid tile.
    """
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    row = cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        f"WHERE tree = {_TREE} AND level = 0 AND positions[1] <= %s "
        "ORDER BY positions[1] DESC, width DESC LIMIT 1",
        (None, position),
    ).fetchone()
    return None if row is None else _require_valid(row)


@dataclass(frozen=True, slots=True)
class LeafLocation:
    """The position of a leaf, and the extent of the search for it."""

    position: int | None
    looked_at: int
    """Number of leaves searched, the newest of the tree."""
    complete: bool
    """Whether all leaves were searched."""


def find_leaf(connection: Connection, leaf: bytes) -> LeafLocation:
    """Search the newest tiles of the tree for the event with this leaf."""
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
    """Lock the tree: no other session adds leaves until the transaction ends."""
    connection.execute("SELECT failproof.lock_ledger()")


def begin_tree(connection: Connection, repair_stream: UUID, repair_version: int) -> None:
    """Begin the tree of a recorded `LedgerRepaired`, to which all further tiles belong."""
    connection.execute("SELECT failproof.begin_tree(%b, %b)", (repair_stream, repair_version))


def add_tiles(connection: Connection, new: list[Tile]) -> None:
    """Record tiles, from the leaves up. A tile that exists is not changed.

    Raises `psycopg.DatabaseError` with the SQLSTATE `REFUSED` for a tile that differs from the
    hashes of the log's events.
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
    """Every checkpoint of a tree, the smallest size first; of the current tree for `None`."""
    return _checkpoints(connection, "ORDER BY tree_size, checkpoint_id", tree)


def newest_checkpoint(connection: Connection) -> StoredCheckpoint | None:
    """The newest checkpoint: of the largest size and, of that, with the longest note."""
    return next(newest_checkpoints(connection), None)


def newest_checkpoints(connection: Connection) -> Iterator[StoredCheckpoint]:
    """Every checkpoint of the current tree, the largest size and the longest note first.

    Reads a few at first: callers mostly want the newest one.
    """
    newest: LiteralString = "ORDER BY tree_size DESC, length(note) DESC, checkpoint_id DESC"
    few = _checkpoints(connection, newest + f" LIMIT {_FEW}", None)
    yield from few
    if len(few) == _FEW:
        yield from _checkpoints(connection, newest + f" OFFSET {_FEW}", None)


def dated_checkpoints(
    connection: Connection, *, limit: int, before: int | None = None
) -> list[DatedCheckpoint]:
    """The newest checkpoints of the current tree, at most `limit`; with `before`, of lower ids."""
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
    """Read checkpoints. Notes are read as bytes, since they may be invalid text."""
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
    """Number of events in the log, or after a position. Counts every row."""
    statement: LiteralString = "SELECT count(*) FROM failproof.stored_events"
    if after is not None:
        statement += " WHERE notification_id > %s"
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(statement, None if after is None else (after,)).fetchone()
    assert row is not None
    return int(row[0])


COUNTED_EXACTLY = 10_000
"""Maximum number of events that are counted while a user waits; beyond it, a bound is given."""


class EventsBehind(NamedTuple):
    """The number of events that follow a position, or an upper bound of it."""

    events: int
    exact: bool
    """Whether `events` is exact; else it is an upper bound."""


def events_behind(connection: Connection, after: int = 0, most: int | None = None) -> EventsBehind:
    """Number of events after a position, counted up to `most` (`None`: `COUNTED_EXACTLY`).

    Beyond that, the number of positions is the bound: some may hold no event. The cost is bounded
    by `most`.
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
    """Record a signed checkpoint. The same note is recorded only once.

    Raises `psycopg.DatabaseError` with the SQLSTATE `REFUSED` for a checkpoint of another log or
    tree.
    """
    connection.execute("SELECT failproof.add_checkpoint(%b::bigint, %b::text)", (tree_size, note))
