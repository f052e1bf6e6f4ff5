"""The Merkle tree of RFC 6962 § 2.1 (RFC 9162 § 2.1), and its proofs.

Functions read a tree through the hashes of its *perfect* subtrees: `subtree(level, index)` is the
root of the 2^level leaves from index * 2^level on. `TileTree` computes it from tiles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

HASH_BYTES = 32
TILE_LEVELS = 8
"""A tile holds this many levels of the tree (C2SP tlog-tiles)."""
TILE_WIDTH = 1 << TILE_LEVELS
EMPTY_ROOT = hashlib.sha256(b"").digest()

Subtree = Callable[[int, int], bytes]

_NODE = b"\x01"


class InvalidProof(Exception):
    """A proof is invalid."""


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return hashlib.sha256(_NODE + left + right).digest()


def perfect_root(hashes: Sequence[bytes]) -> bytes:
    """The root over neighbouring hashes of one level. Raises `ValueError` unless their number is a
    power of two."""
    if not hashes or len(hashes) & (len(hashes) - 1):
        raise ValueError(f"{len(hashes)} hashes are not a power of two")
    sha256 = hashlib.sha256
    row = list(hashes)
    while len(row) > 1:
        pairs = iter(row)
        row = [
            sha256(_NODE + left + right).digest() for left, right in zip(pairs, pairs, strict=True)
        ]
    return row[0]


class Frontier:
    """A tree that only grows, stored as the roots of its maximal perfect subtrees.

    Holds at most 64 hashes, whatever the number of leaves.
    """

    def __init__(self, size: int = 0, roots: Sequence[bytes] = ()) -> None:
        if len(roots) != size.bit_count() or any(len(root) != HASH_BYTES for root in roots):
            raise ValueError(f"a tree of {size} leaves does not have these {len(roots)} subtrees")
        self.size = size
        self._roots = list(roots)

    @property
    def roots(self) -> tuple[bytes, ...]:
        """The roots of the maximal perfect subtrees, the largest subtree first."""
        return tuple(self._roots)

    def append(self, root: bytes, level: int = 0) -> None:
        """Add a perfect subtree of 2^level leaves. The present size must be a multiple of that."""
        if self.size & ((1 << level) - 1):
            raise ValueError(f"a subtree of level {level} does not begin at leaf {self.size}")
        merges = self.size >> level
        self.size += 1 << level
        while merges & 1:
            root = node_hash(self._roots.pop(), root)
            merges >>= 1
        self._roots.append(root)

    def extend(self, leaf_hashes: Iterable[bytes]) -> None:
        """Add leaves in order."""
        for leaf in leaf_hashes:
            self.append(leaf)

    def root(self) -> bytes:
        """The root of the whole tree."""
        if not self._roots:
            return EMPTY_ROOT
        root = self._roots[-1]
        for sibling in reversed(self._roots[:-1]):
            root = node_hash(sibling, root)
        return root

    def copy(self) -> Frontier:
        """A copy of the tree, which grows independently."""
        return Frontier(self.size, self._roots)


class TileTree:
    """Subtree hashes from tiles: `tile(level, index)` returns the joined hashes of a tile.

    A tile holds `levels` levels of the tree: on tile level n, its hashes are the roots of subtrees
    of 2^(levels * n) leaves.
    """

    def __init__(self, tile: Callable[[int, int], bytes], levels: int = TILE_LEVELS) -> None:
        self._tile = tile
        self._levels = levels

    def subtree(self, level: int, index: int) -> bytes:
        """The hash of a perfect subtree. Raises `KeyError` if the tiles do not cover it."""
        tile_level, height = divmod(level, self._levels)
        first = index << height
        tile, place = divmod(first, 1 << self._levels)
        begin = place * HASH_BYTES
        hashes = self._tile(tile_level, tile)[begin : begin + (HASH_BYTES << height)]
        if len(hashes) != HASH_BYTES << height:
            raise KeyError((level, index))
        return perfect_root(split(hashes))


def split(hashes: bytes) -> list[bytes]:
    """Split joined hashes of 32 bytes."""
    if len(hashes) % HASH_BYTES:
        raise ValueError(f"{len(hashes)} bytes are not a whole number of hashes")
    return [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]


# -- proofs ----------------------------------------------------------------------------------


def range_root(subtree: Subtree, begin: int, end: int) -> bytes:
    """The hash of the tree's node over leaves `begin` to `end` (exclusive)."""
    width = end - begin
    if width <= 0:
        raise ValueError(f"no node covers the leaves {begin} to {end}")
    if not width & (width - 1) and not begin % width:
        return subtree(width.bit_length() - 1, begin // width)
    middle = begin + _left_width(width)
    return node_hash(range_root(subtree, begin, middle), range_root(subtree, middle, end))


def tree_root(subtree: Subtree, size: int) -> bytes:
    """The root of the tree of the first `size` leaves."""
    return range_root(subtree, 0, size) if size else EMPTY_ROOT


def inclusion_proof(subtree: Subtree, index: int, size: int) -> list[bytes]:
    """The proof that leaf `index` is in the tree of `size` leaves (RFC 9162 § 2.1.3.1).

    Raises `ValueError` if there is no such leaf.
    """
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has no leaf {index}")
    path = []
    begin, end = 0, size
    while end - begin > 1:
        middle = begin + _left_width(end - begin)
        if index < middle:
            path.append(range_root(subtree, middle, end))
            end = middle
        else:
            path.append(range_root(subtree, begin, middle))
            begin = middle
    return path[::-1]


def verify_inclusion(
    leaf_hash: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> None:
    """Check an inclusion proof (RFC 9162 § 2.1.3.2). Raises `InvalidProof`."""
    if not 0 <= index < size:
        raise InvalidProof(f"a tree of {size} leaves has no leaf {index}")
    place, last, computed = index, size - 1, leaf_hash
    for sibling in proof:
        if last == 0:
            raise InvalidProof("the inclusion proof is too long")
        if place & 1 or place == last:
            computed = node_hash(sibling, computed)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            computed = node_hash(computed, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise InvalidProof("the inclusion proof is too short")
    if computed != root:
        raise InvalidProof(f"leaf {index} is not in the tree of size {size} with this root")


def consistency_proof(subtree: Subtree, old: int, new: int) -> list[bytes]:
    """The proof that the tree of `new` leaves continues that of `old` (RFC 9162 § 2.1.4.1)."""
    if not 0 < old <= new:
        raise ValueError(f"no consistency proof leads from size {old} to size {new}")
    path = []
    begin, end, whole = 0, new, True
    while old != end:
        middle = begin + _left_width(end - begin)
        if old <= middle:
            path.append(range_root(subtree, middle, end))
            end = middle
        else:
            path.append(range_root(subtree, begin, middle))
            begin, whole = middle, False
    if not whole:
        path.append(range_root(subtree, begin, end))
    return path[::-1]


def verify_consistency(
    old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]
) -> None:
    """Check a consistency proof (RFC 9162 § 2.1.4.2). Raises `InvalidProof`."""
    if not 0 <= old <= new:
        raise InvalidProof(f"a tree of {new} leaves does not continue one of {old}")
    if old in (0, new):
        expected = EMPTY_ROOT if old == 0 else new_root
        if proof or old_root != expected:
            raise InvalidProof(f"size {old}: the roots differ, or a proof is given and none is due")
        return
    remaining = iter(proof if old & (old - 1) else [old_root, *proof])
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    try:
        computed_old = computed_new = next(remaining)
        for sibling in remaining:
            if last == 0:
                raise InvalidProof("the consistency proof is too long")
            if place & 1 or place == last:
                computed_old = node_hash(sibling, computed_old)
                computed_new = node_hash(sibling, computed_new)
                while place and not place & 1:
                    place, last = place >> 1, last >> 1
            else:
                computed_new = node_hash(computed_new, sibling)
            place, last = place >> 1, last >> 1
    except StopIteration:
        raise InvalidProof("the consistency proof is too short") from None
    if last:
        raise InvalidProof("the consistency proof is too short")
    if computed_old != old_root or computed_new != new_root:
        raise InvalidProof(f"the tree of size {new} does not continue that of size {old}")


# -- many leaves at once -----------------------------------------------------------------------


def multiproof(subtree: Subtree, indices: Sequence[int], size: int) -> list[bytes]:
    """The hashes from which, with the leaves at `indices` (ascending), the root is computed.

    They are, from left to right, the nodes over none of these leaves whose parent is over one.
    """
    _check_indices(indices, size)
    return [
        range_root(subtree, begin, end)
        for begin, end, place in _cover(indices, size)
        if place is None
    ]


def root_from_multiproof(
    indices: Sequence[int], leaf_hashes: Sequence[bytes], size: int, proof: Sequence[bytes]
) -> bytes:
    """The root that results from the leaves at `indices` and a `multiproof`.

    Raises `InvalidProof`.
    """
    _check_indices(indices, size)
    if len(indices) != len(leaf_hashes):
        raise InvalidProof(f"{len(indices)} places for {len(leaf_hashes)} leaves")
    if size == 0:
        if proof:
            raise InvalidProof("an empty tree has no proof")
        return EMPTY_ROOT
    remaining = iter(proof)
    stack: list[tuple[int, int, bytes]] = []
    for begin, end, place in _cover(indices, size):
        node = next(remaining, None) if place is None else leaf_hashes[place]
        if node is None:
            raise InvalidProof("the proof is too short")
        stack.append((begin, end, node))
        while len(stack) > 1 and _are_siblings(stack[-2], stack[-1], size):
            (low, _, a), (_, high, b) = stack[-2:]
            stack[-2:] = [(low, high, node_hash(a, b))]
    if next(remaining, None) is not None:
        raise InvalidProof("the proof is too long")
    return stack[0][2]


def _cover(indices: Sequence[int], size: int) -> Iterator[tuple[int, int, int | None]]:
    """(begin, end, place in `indices`) of the leaves, and of the nodes between them (`None`)."""
    if not size:
        return
    pending = [(0, size, 0, len(indices))]
    while pending:
        begin, end, first, last = pending.pop()
        if first == last:
            yield begin, end, None
        elif end - begin == 1:
            yield begin, end, first
        else:
            middle = begin + _left_width(end - begin)
            cut = _first_not_below(indices, middle, first, last)
            pending.append((middle, end, cut, last))
            pending.append((begin, middle, first, cut))


def _are_siblings(left: tuple[int, int, bytes], right: tuple[int, int, bytes], size: int) -> bool:
    """Whether two nodes (begin, end, hash) are the two children of one node of the tree."""
    width = left[1] - left[0]
    if left[1] != right[0] or width & (width - 1) or left[0] % (2 * width):
        return False
    return right[1] == min(left[0] + 2 * width, size)


def _first_not_below(indices: Sequence[int], value: int, low: int, high: int) -> int:
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def _check_indices(indices: Sequence[int], size: int) -> None:
    if any(a >= b for a, b in pairwise(indices)):
        raise InvalidProof("the leaves are not in ascending order")
    if indices and not 0 <= indices[0] <= indices[-1] < size:
        raise InvalidProof(f"a tree of {size} leaves does not have all of these leaves")


def _left_width(width: int) -> int:
    """The largest power of two below `width`: the number of leaves under the left child."""
    return 1 << (width - 1).bit_length() - 1
