"""The edge of a tree of tiles: read again at every size, it goes on as if it had never stopped."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.ledger import merkle
from failproof_es.ledger.edge import Edge, InvalidTree, Tile, edge_of
from failproof_es.ledger.merkle import Frontier, TileTree
from tests.every import every
from tests.unit.ledger import naive


class Stored:
    """Tiles as the database keeps them: one that stands already stays, the widest counts."""

    def __init__(self, levels: int = 8) -> None:
        self.levels = levels
        self.tiles: dict[tuple[int, int, int], Tile] = {}

    def add(self, tiles: Iterable[Tile]) -> None:
        for tile in tiles:
            assert 0 < tile.width <= 1 << self.levels
            assert len(tile.hashes) == 32 * tile.width
            self.tiles.setdefault((tile.level, tile.tile, tile.width), tile)

    def widest(self, level: int, first: int = 0) -> list[Tile]:
        ordered = sorted(each for each in self.tiles if each[0] == level and each[1] >= first)
        return [self.tiles[each] for each in {each[1]: each for each in ordered}.values()]

    def edge(self) -> Edge:
        leaves = self.widest(0)
        return edge_of(leaves[-1] if leaves else None, self.widest, self.levels)

    def tree(self) -> TileTree:
        def tile(level: int, number: int) -> bytes:
            return next((t.hashes for t in self.widest(level, number) if t.tile == number), b"")

        return TileTree(tile, self.levels)


def leaf(number: int) -> bytes:
    return naive.leaf_hash(number.to_bytes(8, "big"))


def grow(stored: Stored, sizes: Iterable[int], *, full_only: bool = False) -> None:
    """Put events in up to each size, reading the edge again in between. Positions leave gaps."""
    for size in sizes:
        edge = stored.edge()
        for number in range(edge.size, size):
            stored.add(edge.add(2 * number + 1, leaf(number)))
        if not full_only:
            stored.add(edge.partial())


def assert_is_the_tree_of(stored: Stored, size: int) -> None:
    """The tree that was stored is that of the definition, whole, at its edge and in between."""
    expected = Frontier()
    expected.extend(leaf(number) for number in range(size))
    edge = stored.edge()
    assert (edge.size, edge.root()) == (size, expected.root())
    assert edge.last_position == (2 * size - 1 if size else 0)
    assert merkle.tree_root(stored.tree().subtree, size) == expected.root()
    positions = [p for tile in stored.widest(0) for p in tile.positions or ()]
    assert positions == [2 * number + 1 for number in range(size)]


@every("levels", [1, 2])
@pytest.mark.long
def test_a_tree_that_is_read_again_at_every_step_is_the_tree_of_the_definition(
    levels: int,
) -> None:
    """Across four levels of tiles, and past the second full tile of the fourth."""
    stored = Stored(levels)
    data: list[bytes] = []
    for size in range((1 << levels * 4) * 2 + (1 << levels) + 2):
        edge = stored.edge()
        assert (edge.size, edge.root()) == (size, naive.root(data))
        assert merkle.tree_root(stored.tree().subtree, size) == edge.root()
        stored.add(edge.add(2 * size + 1, leaf(size)))
        stored.add(edge.partial())
        data.append(size.to_bytes(8, "big"))
    assert max(level for level, _, _ in stored.tiles) >= 4


@given(st.integers(1, 3), st.lists(st.integers(1, 40), min_size=1, max_size=12), st.booleans())
def test_a_tree_grows_alike_in_whatever_steps(
    levels: int, steps: list[int], full_only: bool
) -> None:
    """With `full_only` the narrow tiles are not stored: those events are put in again."""
    sizes = [sum(steps[: n + 1]) for n in range(len(steps))]
    stored = Stored(levels)
    grow(stored, sizes, full_only=full_only)
    if full_only:
        assert stored.edge().size == sizes[-1] >> levels << levels
        grow(stored, sizes[-1:])
    assert_is_the_tree_of(stored, sizes[-1])


BOUNDARIES = [
    *(0, 1, 255, 256, 257, 511, 512, 513),
    *(65_535, 65_536, 65_537, 65_791, 65_792, 65_793),
    *(131_071, 131_072, 131_073, 131_327, 131_328, 131_329),
]


@pytest.fixture(scope="module")
def grown() -> dict[int, tuple[Edge, bytes]]:
    """The edge and the root, at each boundary and two steps behind it, of one growing tree."""
    stored, tree, found = Stored(), Frontier(), {}
    edge = stored.edge()
    wanted = {size + step for size in BOUNDARIES for step in (0, 1, 2)}
    for number in range(max(wanted) + 1):
        if number in wanted:
            stored.add(edge.partial())
            edge = stored.edge()
            found[number] = (stored.edge(), tree.root())
        stored.add(edge.add(2 * number + 1, leaf(number)))
        tree.append(leaf(number))
    return found


@every("size", BOUNDARIES)
@pytest.mark.long
def test_the_edge_of_tiles_of_256_goes_on_from_every_boundary(
    grown: dict[int, tuple[Edge, bytes]], size: int
) -> None:
    for at in (size, size + 1, size + 2):
        edge, root = grown[at]
        assert (edge.size, edge.root()) == (at, root)
        assert edge.last_position == (2 * at - 1 if at else 0)


def test_three_full_levels_are_gone_on_from() -> None:
    """What 2^24 events are to tiles of 256, 64 are to tiles of 4."""
    for size in (63, 64, 65, 67, 68, 79, 80, 81, 127, 128, 129, 255, 256, 257):
        stored = Stored(2)
        grow(stored, (size, size + 1, size + 5))
        assert_is_the_tree_of(stored, size + 5)


@every("size", [0, 1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 100])
def test_every_proof_out_of_tiles_is_that_of_the_definition(size: int) -> None:
    stored = Stored(2)
    grow(stored, [size])
    data = [number.to_bytes(8, "big") for number in range(size)]
    subtree = stored.tree().subtree
    for index in range(size):
        assert merkle.inclusion_proof(subtree, index, size) == naive.inclusion_path(index, data)
    for old in range(1, size + 1):
        assert merkle.consistency_proof(subtree, old, size) == naive.consistency_path(old, data)


# -- what is refused ---------------------------------------------------------------------------


@every("size", [1, 3, 4, 16, 64])
def test_an_event_that_is_in_the_tree_is_refused(size: int) -> None:
    stored = Stored(2)
    grow(stored, [size])
    for position in (0, 1, 2 * size - 1):
        with pytest.raises(InvalidTree, match=f"position {position} does not follow"):
            stored.edge().add(position, leaf(size))


def test_a_tree_that_does_not_know_its_last_event_is_refused() -> None:
    """As every tree of 65,536 events was read once: what is put in next would be there already."""
    edge = Edge(2, Frontier(4, [leaf(0)]), [[leaf(0)]])
    with pytest.raises(InvalidTree, match="holds 4 events, and its last one is at position 0"):
        edge.add(1, leaf(4))


def test_a_tree_that_holds_events_twice_is_refused() -> None:
    stored, edge = Stored(2), Edge(2)
    for number in range(16):
        stored.add(edge.add(number + 1, leaf(number)))
    edge.last_position = 0
    with pytest.raises(InvalidTree, match="it holds some events twice"):
        edge.add(1, leaf(0))
    again = [leaf(number) for number in range(4)]
    stored.add([Tile(0, 4, 4, b"".join(again), [1, 2, 3, 4])])
    with pytest.raises(InvalidTree, match="holds 20 events, and its last one is at position 4"):
        stored.edge()


@every(("size", "level", "number"), [(85, 0, 20), (96, 1, 5), (65, 2, 0)])
def test_a_full_tile_that_is_missing_at_the_edge_is_refused(
    size: int, level: int, number: int
) -> None:
    stored = Stored(2)
    grow(stored, [size])
    del stored.tiles[level, number, 4]
    with pytest.raises(InvalidTree, match=f"of level {level}"):
        stored.edge()


def test_tiles_at_the_end_that_are_missing_are_made_again() -> None:
    """Tiles are derived: the tree goes on from the last leaves that it has."""
    stored = Stored(2)
    grow(stored, [70])
    whole = dict(stored.tiles)
    stored.tiles = {at: tile for at, tile in whole.items() if at[0] > 0 or at[1] < 10}
    assert stored.edge().size == 40
    grow(stored, [70])
    assert_is_the_tree_of(stored, 70)
    assert stored.tiles.keys() >= whole.keys()
    assert all(a < b for a, b in pairwise(p for t in stored.widest(0) for p in t.positions or ()))
