"""Finds the Merkle tree of all events up to a past position."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from failproof_es.assurance.tree import stored_tree
from failproof_es.ledger.merkle import TILE_WIDTH, tree_root
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, LedgerBroken


@dataclass(frozen=True, slots=True)
class TreeAsOf:
    """The Merkle tree of every event up to a position; a checkpoint of that size has its root."""

    size: int
    root: bytes


def tree_as_of(connection: Connection, position: int) -> TreeAsOf | None:
    """The tree of all events up to `position`; `None` where the stored tiles do not reach it.

    Tiles at the edge are stored with each checkpoint, so `None` is usual until the next one; a tile
    that somebody removed or damaged looks the same. Needs no more rights than the auditor's.
    Nothing is compared with the rows: `verify` does that.
    """
    try:
        return _tree_as_of(connection, position)
    except (KeyError, LedgerBroken):
        return None


def _tree_as_of(connection: Connection, position: int) -> TreeAsOf | None:
    tile = ledger.tile_of(connection, position)
    size, last = 0, 0
    if tile is not None:
        positions = tile.positions or []
        within = bisect_right(positions, position)
        size, last = tile.tile * TILE_WIDTH + within, positions[within - 1]
    if list(ledger.leaf_rows(connection, after=last, up_to=position, limit=1)):
        return None
    return TreeAsOf(size, tree_root(stored_tree(connection).subtree, size))
