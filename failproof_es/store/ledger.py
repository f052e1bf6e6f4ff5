"""The ledger's tables: tiles, checkpoints, and which log this is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import LiteralString

from psycopg.rows import class_row, tuple_row

from failproof_es.ledger.merkle import HASH_BYTES, TILE_LEVELS, TILE_WIDTH
from failproof_es.store.leaf_rows import INFINITELY_EARLY as INFINITELY_EARLY
from failproof_es.store.leaf_rows import INFINITELY_LATE as INFINITELY_LATE
from failproof_es.store.leaf_rows import Connection as Connection
from failproof_es.store.leaf_rows import LeafRow as LeafRow
from failproof_es.store.leaf_rows import LedgerBroken as LedgerBroken
from failproof_es.store.leaf_rows import checked_leaf as checked_leaf
from failproof_es.store.leaf_rows import leaf_rows as leaf_rows
from failproof_es.store.leaf_rows import run_rows as run_rows
from failproof_es.store.leaf_rows import stream_rows as stream_rows
from failproof_es.visible import shortened

_TILES_AT_ONCE = 1_000
_LEVELS = 8
"""Levels of tiles in a tree of 2^63 events."""
_LONGEST_ORIGIN = 200
_LONGEST_NOTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Tile:
    """Up to 256 hashes that stand side by side on one level of tiles."""

    level: int
    tile: int
    width: int
    hashes: bytes
    positions: list[int] | None = None

    def checked(self) -> Tile:
        """This tile, if it is one. Raises `LedgerBroken` for what no tree has."""
        if why := self._why_none():
            raise LedgerBroken(f"tile {self.tile} of level {self.level} is no tile: {why}")
        return self

    def _why_none(self) -> str | None:
        """A superuser can drop every constraint: so nothing is as its column says."""
        if type(self.level) is not int or not 0 <= self.level < _LEVELS:
            return f"levels are 0 to {_LEVELS - 1}"
        if type(self.tile) is not int or not 0 <= self.tile < 1 << 63 - TILE_LEVELS * (
            self.level + 1
        ):
            return "no tree has a tile of this number"
        if type(self.width) is not int or not 0 < self.width <= TILE_WIDTH:
            return f"its width is {self.width}"
        if type(self.hashes) is not bytes or len(self.hashes) != HASH_BYTES * self.width:
            return f"it does not hold {self.width} hashes"
        if self.level == 0:
            there = self.positions or []
            if len(there) != self.width or any(type(each) is not int for each in there):
                return f"it does not hold {self.width} positions"
        return None


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A signed checkpoint as the database keeps it; nothing in it has been checked.

    A note that is longer than any checkpoint is cut off, and so is none any more.
    """

    tree_size: int
    note: str


def origin(connection: Connection) -> str:
    """Which log this is. There is one; an attacker's second one is for `verify` to notice.

    Raises `LedgerBroken` where the database names none.
    """
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "SELECT textsend(origin) FROM failproof.ledger_origin ORDER BY created_at LIMIT 1"
        ).fetchone()
    if row is None or row[0] is None:
        raise LedgerBroken("the database does not say which log it holds: no origin is there")
    named = bytes(row[0]).decode(errors="backslashreplace")
    if not named.isprintable() or not 0 < len(named) <= _LONGEST_ORIGIN:
        raise LedgerBroken(
            f"the database says that its log is {shortened(named, _LONGEST_ORIGIN)!r}: "
            "no log has such a name"
        )
    return named


def tiles(connection: Connection, level: int, first: int = 0) -> Iterator[Tile]:
    """A level's tiles from `first` on, the widest of each place; some are read at once.

    Raises `LedgerBroken` at what is no tile.
    """
    while True:
        with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
            found = cursor.execute(
                "SELECT DISTINCT ON (tile) level, tile, width, hashes, positions "
                "FROM failproof.ledger_tile_list WHERE level = %s AND tile >= %s "
                "ORDER BY tile, width DESC LIMIT %s",
                (level, first, _TILES_AT_ONCE),
            ).fetchall()
        for each in found:
            yield each.checked()
        if len(found) < _TILES_AT_ONCE:
            return
        first = found[-1].tile + 1


def no_tiles(connection: Connection) -> list[Tile]:
    """Some of the rows among the tiles that stand nowhere in a tree, and are read by nobody."""
    with connection.cursor(row_factory=class_row(Tile), binary=True) as cursor:
        return cursor.execute(
            "SELECT level, tile, width, NULL AS hashes FROM failproof.ledger_tile_list "
            "WHERE (level BETWEEN 0 AND %s AND tile >= 0) IS NOT TRUE LIMIT 100",
            (_LEVELS - 1,),
        ).fetchall()


def tile(connection: Connection, level: int, number: int) -> Tile | None:
    """One tile, the widest there is of it. Raises `LedgerBroken` for what is no tile."""
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    found = cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        "WHERE level = %s AND tile = %s ORDER BY width DESC LIMIT 1",
        (level, number),
    ).fetchone()
    return None if found is None else found.checked()


def levels(connection: Connection) -> int:
    """How many levels of tiles there are."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(
            "SELECT coalesce(max(level) + 1, 0) FROM failproof.ledger_tile_list WHERE level < %s",
            (_LEVELS,),
        ).fetchone()
    assert row is not None
    return int(row[0])


def tile_of(connection: Connection, position: int) -> Tile | None:
    """The tile of leaves that an event at this position would stand in.

    Raises `LedgerBroken` for what is no tile.
    """
    cursor = connection.cursor(row_factory=class_row(Tile), binary=True)
    found = cursor.execute(
        "SELECT level, tile, width, hashes, positions FROM failproof.ledger_tile_list "
        "WHERE level = 0 AND positions[1] <= %s ORDER BY positions[1] DESC, width DESC LIMIT 1",
        (position,),
    ).fetchone()
    return None if found is None else found.checked()


def lock(connection: Connection) -> None:
    """Until the transaction ends, nobody else integrates."""
    connection.execute("SELECT failproof.lock_ledger()")


def add_tiles(connection: Connection, new: list[Tile]) -> None:
    """Record tiles. One that stands already stays as it is."""
    with connection.cursor() as cursor:
        cursor.executemany(
            "SELECT failproof.add_tile(%b::smallint, %b::bigint, %b::smallint, %b::bytea, "
            "%b::bigint[])",
            [(each.level, each.tile, each.width, each.hashes, each.positions) for each in new],
        )


def checkpoints(connection: Connection) -> list[StoredCheckpoint]:
    """Every checkpoint, the smallest tree first."""
    return _checkpoints(connection, "ORDER BY tree_size, checkpoint_id")


def newest_checkpoint(connection: Connection) -> StoredCheckpoint | None:
    """The checkpoint of the largest tree, with the most signatures recorded for it."""
    newest = "ORDER BY tree_size DESC, length(note) DESC, checkpoint_id DESC LIMIT 1"
    return next(iter(_checkpoints(connection, newest)), None)


def _checkpoints(connection: Connection, which: LiteralString) -> list[StoredCheckpoint]:
    """Notes are taken as bytes: what is there may be no text of this database's encoding."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(
            "SELECT tree_size, substring(textsend(note) FROM 1 FOR %s) "
            f"FROM failproof.checkpoint_list {which}",
            (_LONGEST_NOTE,),
        ).fetchall()
    return [
        StoredCheckpoint(tree_size, bytes(note or b"").decode(errors="surrogateescape"))
        for tree_size, note in rows
    ]


def count_events(connection: Connection) -> int:
    """How many events the log has."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute("SELECT count(*) FROM failproof.stored_events").fetchone()
    assert row is not None
    return int(row[0])


def add_checkpoint(connection: Connection, tree_size: int, note: str) -> None:
    """Record a signed checkpoint. The same note twice is recorded once."""
    connection.execute("SELECT failproof.add_checkpoint(%b::bigint, %b::text)", (tree_size, note))
