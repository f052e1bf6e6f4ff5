"""The Merkle tree, read from the tiles in the database."""

from __future__ import annotations

from failproof_es.ledger.edge import Edge, Tile, edge_of
from failproof_es.ledger.merkle import TileTree
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection


def read_edge(connection: Connection) -> Edge:
    """The right edge of the stored Merkle tree, which appending to it needs.

    Raises `InvalidTree` if the stored tiles contradict each other.
    """

    def tiles(level: int, first: int) -> list[Tile]:
        return list(ledger.tiles(connection, level, first))

    return edge_of(ledger.last_tile(connection), tiles)


def stored_tree(connection: Connection) -> TileTree:
    """The stored tree, for proofs. Tiles are read on demand, each once."""
    tiles: dict[tuple[int, int], bytes] = {}

    def tile(level: int, number: int) -> bytes:
        if (level, number) not in tiles:
            stored_tile = ledger.tile(connection, level, number)
            tiles[level, number] = b"" if stored_tile is None else stored_tile.hashes
        return tiles[level, number]

    return TileTree(tile)
