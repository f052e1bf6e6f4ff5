"""The right edge of a tiled tree, and how the tree grows there.

The edge follows from the last tile of leaves: its number and width give the number of leaves, and
so the full tiles on every level above. At a multiple of a tile's width a level has no partial
tile, so stored partial tiles are never looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from failproof_es.ledger.merkle import TILE_LEVELS, Frontier, perfect_root, split


class InvalidTree(Exception):
    """The tiles do not form one tree over the log, or an event does not fit into it."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Up to 256 neighbouring hashes on one level of tiles."""

    level: int
    tile: int
    width: int
    hashes: bytes
    positions: list[int] | None = None
    """On level 0: the positions of the leaves' events in the log."""


ReadTiles = Callable[[int, int], Iterable[Tile]]
"""Returns a level's tiles from an index on, the widest at each index."""


@dataclass(slots=True)
class Edge:
    """The right edge of a tree: all that is needed to add leaves to it."""

    levels: int = TILE_LEVELS
    """Levels of the tree in one tile. A full tile is 2^levels hashes wide."""
    frontier: Frontier = field(default_factory=Frontier)
    """The tree of the full tiles of leaves."""
    upper: list[list[bytes]] = field(default_factory=list)
    """For each level of tiles above the leaves, the hashes of its partial last tile."""
    leaves: list[bytes] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    """The leaves after the last full tile, and the positions of their events."""
    last_position: int = 0
    """The position of the last event in the tree; 0 while the tree is empty."""

    @property
    def size(self) -> int:
        """Number of events in the tree."""
        return self.frontier.size + len(self.leaves)

    def root(self) -> bytes:
        """The root of the tree."""
        whole = self.frontier.copy()
        whole.extend(self.leaves)
        return whole.root()

    def add(self, position: int, leaf_hash: bytes) -> list[Tile]:
        """Add the next event; return the tiles that it fills, from the leaves up.

        Raises `InvalidTree` if its position is not after that of the last event in the tree.
        """
        self._require_no_duplicates()
        if position <= self.last_position:
            raise InvalidTree(
                f"the event at position {position} does not follow the tree's last one, at "
                f"position {self.last_position}"
            )
        self.leaves.append(leaf_hash)
        self.positions.append(position)
        self.last_position = position
        return self._fill() if len(self.leaves) == 1 << self.levels else []

    def partial(self) -> list[Tile]:
        """The tiles at the edge that are not full yet, from the leaves up."""
        tiles = []
        if self.leaves:
            number = self.frontier.size >> self.levels
            leaves = b"".join(self.leaves)
            tiles.append(Tile(0, number, len(self.leaves), leaves, list(self.positions)))
        for level, row in enumerate(self.upper, 1):
            if row:
                number = self.frontier.size >> self.levels * (level + 1)
                tiles.append(Tile(level, number, len(row), b"".join(row)))
        return tiles

    def _fill(self) -> list[Tile]:
        width = 1 << self.levels
        number = self.frontier.size >> self.levels
        filled = [Tile(0, number, width, b"".join(self.leaves), self.positions)]
        root = perfect_root(self.leaves)
        self.frontier.append(root, self.levels)
        self.leaves, self.positions = [], []
        for level, row in enumerate(self.upper, 1):
            row.append(root)
            if len(row) < width:
                return filled
            number >>= self.levels
            filled.append(Tile(level, number, width, b"".join(row)))
            root = perfect_root(row)
            row.clear()
        self.upper.append([root])
        return filled

    def _require_no_duplicates(self) -> None:
        if self.size > self.last_position:
            raise InvalidTree(
                f"the tree holds {self.size} events, and its last one is at position "
                f"{self.last_position}: there are fewer positions, so it holds some events twice"
            )


def edge_of(last: Tile | None, tiles: ReadTiles, levels: int = TILE_LEVELS) -> Edge:
    """The edge of the tree whose last tile of leaves is `last`; of the empty tree for `None`.

    Reads at most 2^levels tiles on each level. Raises `InvalidTree` if one of them is missing, or
    the tree holds an event twice.
    """
    edge = Edge(levels)
    if last is None:
        return edge
    width = 1 << levels
    size = (last.tile << levels) + last.width
    heights = [levels]
    while size >> heights[-1] + levels:
        heights.append(heights[-1] + levels)
    # From the top down: each level goes on where the full tiles of the level above end.
    for level, height in reversed(list(enumerate(heights))):
        first, end = edge.frontier.size >> height, size >> height
        row = [
            perfect_root(split(tile.hashes))
            for tile in tiles(level, first)
            if tile.width == width and tile.tile < end
        ]
        if len(row) != end - first:
            raise InvalidTree(
                f"tiles are missing: of the full tiles {first} to {end - 1} of level {level}, "
                f"{len(row)} are there"
            )
        for root in row:
            edge.frontier.append(root, height)
        edge.upper.insert(0, row)
    edge.last_position = (last.positions or [0])[-1]
    if last.width < width:
        edge.leaves, edge.positions = split(last.hashes), list(last.positions or ())
    edge._require_no_duplicates()
    return edge
