"""Proves one run from the log, as its evidence would, without making the file.

Every event is hashed and parsed once, and its leaf index is looked up by tile. The rows must hash
to the leaves of their tiles, and the tiles to the root that the checkpoint signs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from uuid import UUID

from failproof_es.assurance.run_evidence import (
    RowEvent,
    RunRows,
    evidence_lines,
    find_places,
    find_run,
    readable_tree,
    still_attached,
)
from failproof_es.assurance.tree import stored_tree
from failproof_es.ledger import bundle
from failproof_es.ledger.bundle import LogProof
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.merkle import (
    HASH_BYTES,
    TILE_LEVELS,
    TILE_WIDTH,
    Frontier,
    multiproof,
    node_hash,
    perfect_root,
    root_from_multiproof,
    split,
)
from failproof_es.ledger.note import PublicKey
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection


def prove_run(connection: Connection, run_id: UUID, key: PublicKey) -> LogProof:
    """Prove that the run is genuine and whole, as of the newest checkpoint that `key` signed.

    Accepts no run whose evidence `bundle.verify` refuses, and is stricter: a leaf hash stored with
    a row must be the tree's. Raises `NotProvenYet` when the run is not sealed, or its seal is not
    under the checkpoint; `EvidenceError` when the run is not what was sealed and signed.
    """
    found_run = find_run(connection, run_id, key=key)
    reader = bundle.EventReader(run_id)
    with still_attached(connection, run_id):
        try:
            places = _Places(connection, found_run)
            for event in places.events():
                reader.add(event)
            with readable_tree(found_run.size):
                root = places.root()
        except EvidenceError:
            # Exporting reads the tree from its beginning, so that its error names the first bad
            # tile.
            list(evidence_lines(connection, run_id, key=key))
            raise
        contents = reader.contents(_Places(connection, found_run).events())
    return bundle.judge(contents, reader.count, root, found_run.signed, key)


class _Places:
    """Leaf indices of a run's rows in a checkpoint's tree, and the root that the rows give."""

    def __init__(self, connection: Connection, found_run: RunRows) -> None:
        self._connection = connection
        self._found_run = found_run
        self._size = found_run.size
        self._touched: dict[int, bytes] = {}
        self._tile: Tile | None = None
        self._places: Sequence[int] = (0,)
        self._leaves: deque[bytes] = deque()
        self._fits = True

    def events(self) -> Iterator[RowEvent]:
        """The events with ascending leaf indices. Raises `EvidenceError` for a row outside the
        tree."""
        for row, index in self._found_run.rows(
            lambda positions: find_places(positions, self._place)
        ):
            event = RowEvent(row, index)
            if self._leaves.popleft() != event.leaf_hash():
                self._fits = False
            yield event
        self._note_tile_root(self._tile)

    def _place(self, position: int) -> int | None:
        """Leaf index of the next row; the leaf that the tree holds there is queued for `events`."""
        if position > self._places[-1]:
            self._note_tile_root(self._tile)
            self._tile = ledger.tile_of(self._connection, position)
            self._places = () if self._tile is None else self._tile.positions or ()
        tile, places = self._tile, self._places
        at = bisect_left(places, position)
        if tile is None or at == len(places) or places[at] != position:
            return None
        begin = at * HASH_BYTES
        self._leaves.append(tile.hashes[begin : begin + HASH_BYTES])
        return tile.tile * TILE_WIDTH + at

    def _note_tile_root(self, tile: Tile | None) -> None:
        if tile is not None:
            self._touched[tile.tile] = _tile_root(tile, self._size)

    def root(self) -> bytes | None:
        """The tree's root, computed from the rows; `None` where the tree holds other leaves."""
        if not self._fits:
            return None
        tree = stored_tree(self._connection)
        count = -(-self._size // TILE_WIDTH)

        def subtree(level: int, index: int) -> bytes:
            """The root of a subtree of tiles; the last tile may be partial."""
            if level == 0 and index == count - 1 and self._size % TILE_WIDTH:
                last = ledger.tile(self._connection, 0, index)
                if last is None or last.width < self._size % TILE_WIDTH:
                    raise KeyError((level, index))
                return _tile_root(last, self._size)
            if level and self._size % TILE_WIDTH and (index + 1) << level == count:
                # No node above a partial last tile is stored: it is computed from its children.
                return node_hash(subtree(level - 1, 2 * index), subtree(level - 1, 2 * index + 1))
            return tree.subtree(level + TILE_LEVELS, index)

        touched = sorted(self._touched)
        roots = [self._touched[number] for number in touched]
        return root_from_multiproof(touched, roots, count, multiproof(subtree, touched, count))


def _tile_root(tile: Tile, size: int) -> bytes:
    """The root over those leaves of a tile that are in the tree of `size`."""
    leaves = split(tile.hashes)[: size - tile.tile * TILE_WIDTH]
    if len(leaves) == TILE_WIDTH:
        return perfect_root(leaves)
    tree = Frontier()
    tree.extend(leaves)
    return tree.root()
