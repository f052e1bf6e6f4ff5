"""The tree as the database's tiles hold it."""

from __future__ import annotations

from dataclasses import dataclass, field

from failproof_es.ledger.merkle import (
    TILE_LEVELS,
    TILE_WIDTH,
    Frontier,
    TileTree,
    perfect_root,
    split,
)
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, Tile


@dataclass(slots=True)
class Edge:
    """Where the tree ends: what is needed to go on, whatever its size."""

    frontier: Frontier = field(default_factory=Frontier)
    full: list[list[bytes]] = field(default_factory=list)
    """By level above the leaves: the roots of full tiles that fill no tile of that level yet."""
    leaves: list[bytes] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    """The leaves behind the last full tile, and which events they are."""
    last_position: int = 0

    @property
    def size(self) -> int:
        """How many events the tree holds."""
        return self.frontier.size + len(self.leaves)

    def root(self) -> bytes:
        """The root over all of them."""
        whole = self.frontier.copy()
        whole.extend(self.leaves)
        return whole.root()

    def add(self, position: int, leaf_hash: bytes) -> list[Tile]:
        """Add the next event; return the tiles that it fills, from the leaves up."""
        self.leaves.append(leaf_hash)
        self.positions.append(position)
        self.last_position = position
        if len(self.leaves) < TILE_WIDTH:
            return []
        return self._fill()

    def _fill(self) -> list[Tile]:
        number = self.frontier.size >> TILE_LEVELS
        filled = [Tile(0, number, TILE_WIDTH, b"".join(self.leaves), self.positions)]
        root = perfect_root(self.leaves)
        self.frontier.append(root, TILE_LEVELS)
        self.leaves, self.positions = [], []
        for level in range(1, 8):
            if len(self.full) < level:
                self.full.append([])
            row = self.full[level - 1]
            row.append(root)
            if len(row) < TILE_WIDTH:
                break
            number >>= TILE_LEVELS
            filled.append(Tile(level, number, TILE_WIDTH, b"".join(row)))
            root = perfect_root(row)
            row.clear()
        return filled

    def partial(self) -> list[Tile]:
        """The tiles at the edge that are not full, as they stand now."""
        tiles = []
        if self.leaves:
            number = self.frontier.size >> TILE_LEVELS
            leaves = b"".join(self.leaves)
            tiles.append(Tile(0, number, len(self.leaves), leaves, list(self.positions)))
        for level, row in enumerate(self.full, 1):
            if row:
                number = self.frontier.size >> TILE_LEVELS * (level + 1)
                tiles.append(Tile(level, number, len(row), b"".join(row)))
        return tiles


def read_edge(connection: Connection) -> Edge:
    """Where the tree in the database ends. Reads one tile for each 256 of the level above."""
    edge = Edge()
    for level in reversed(range(ledger.levels(connection))):
        first = edge.frontier.size >> TILE_LEVELS * (level + 1)
        row: list[bytes] = []
        for tile in ledger.tiles(connection, level, first):
            if level == 0 and tile.positions:
                edge.last_position = tile.positions[-1]
            if tile.width == TILE_WIDTH:
                root = perfect_root(split(tile.hashes))
                edge.frontier.append(root, TILE_LEVELS * (level + 1))
                row.append(root)
            elif level == 0:
                edge.leaves = split(tile.hashes)
                edge.positions = list(tile.positions or [])
        edge.full.insert(0, row)
    return edge


def stored_tree(connection: Connection) -> TileTree:
    """The tree for proofs: tiles read as they are needed, each once."""
    known: dict[tuple[int, int], bytes] = {}

    def tile(level: int, number: int) -> bytes:
        if (level, number) not in known:
            found = ledger.tile(connection, level, number)
            known[level, number] = b"" if found is None else found.hashes
        return known[level, number]

    return TileTree(tile)
