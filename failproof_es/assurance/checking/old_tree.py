"""Checks whether a replaced tree still proves what was signed over it.

A signature over the old tree covers its leaves. The tree is built again from the tiles that are
kept. Where it has the root that was signed, each of those leaves must be in the log, at its
position and unchanged, and no other event may be between them. A tree that held
the log twice passes: it proves the same events, some of them twice. A tree that was never
signed proves nothing, and nothing is compared with it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from failproof_es.assurance.checking.findings import REPLACED_TREE, VerificationFinding
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.merkle import (
    HASH_BYTES,
    TILE_LEVELS,
    TILE_WIDTH,
    Frontier,
    perfect_root,
    split,
)


@dataclass(frozen=True, slots=True)
class SignedRoot:
    """A signed root of the old tree, and the checkpoint that signs it."""

    size: int
    root: bytes
    said_by: str
    outside: bool = False


class Leaves:
    """Position and leaf of every event of the log, in order; 40 bytes for each."""

    def __init__(self) -> None:
        self._positions: array[int] = array("q")
        self._hashes = bytearray()

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, position: int, leaf: bytes) -> None:
        """Append the next event."""
        self._positions.append(position)
        self._hashes += leaf

    def find(self, position: int, leaf: bytes) -> int:
        """Index of the event with this position and this leaf; -1 where there is none."""
        place = bisect_left(self._positions, position)
        begin = place * HASH_BYTES
        if place == len(self) or self._positions[place] != position:
            return -1
        return place if self._hashes[begin : begin + HASH_BYTES] == leaf else -1

    def position(self, place: int) -> int:
        """Log position of the event with this index."""
        return self._positions[place]


@dataclass(slots=True)
class OldTreeResult:
    """The result of checking an old tree."""

    events: int = 0
    """Number of leaves that the tiles hold without a gap."""
    signed_size: int = 0
    anchored_size: int = 0
    """The largest sizes that are proven: by any checkpoint, and by one kept outside."""
    anchored_events: int = 0
    """Number of events from the log's first one on that a checkpoint kept outside proves."""
    intact: bool = True
    """Whether there are no findings."""


def check_tree(
    tiles: Iterable[Tile],
    signed: Sequence[SignedRoot],
    log: Leaves,
    report: Callable[[VerificationFinding], None],
) -> OldTreeResult:
    """Compare the log with what was signed over the old tree; pass each mismatch to `report`.

    `tiles` are all well-formed tiles of the old tree's leaves, by number and width, and are read to
    their end. A number can occur several times: somebody may have added a wrong tile next to the
    right one.
    """
    return _Check(signed, log, report).of(tiles)


@dataclass(slots=True)
class _Run:
    """Consecutive leaves: the position of each, and its index in the log, -1 for none."""

    begin: int
    positions: array[int] = field(default_factory=lambda: array("q"))
    places: array[int] = field(default_factory=lambda: array("q"))


class _Check:
    def __init__(
        self,
        signed: Sequence[SignedRoot],
        log: Leaves,
        report: Callable[[VerificationFinding], None],
    ) -> None:
        self._log = log
        self._report = report
        self._due: dict[int, list[SignedRoot]] = {}
        for checkpoint in sorted(signed, key=lambda checkpoint: checkpoint.size):
            if checkpoint.size:  # an empty tree has one root, and proves no event
                self._due.setdefault((checkpoint.size - 1) >> TILE_LEVELS, []).append(checkpoint)
        self._whole = Frontier()
        self._waiting = _Run(0)
        """Leaves of full tiles behind the last proven size: judged once a larger one is proven."""
        self._proven = bytearray(len(log))
        self._last = -1
        self._named: set[tuple[int, int]] = set()
        self._result = OldTreeResult()

    def of(self, tiles: Iterable[Tile]) -> OldTreeResult:
        for number, group in groupby(tiles, key=lambda tile: tile.tile):
            variants = list(group)
            if number << TILE_LEVELS == self._whole.size:
                self._tile(number, variants)
        for checkpoints in self._due.values():
            for checkpoint in checkpoints:
                self._report_unproven(checkpoint)
        place = self._proven.find(0, 0, self._last + 1)
        while place >= 0:
            position = self._log.position(place)
            message = (
                f"the event at position {position} is not in the signed part of the old tree, "
                "which goes on behind it"
            )
            self._add_finding(message, None, position)
            place = self._proven.find(0, place + 1, self._last + 1)
        return self._result

    def _tile(self, number: int, variants: Sequence[Tile]) -> None:
        begin = number << TILE_LEVELS
        for checkpoint in self._due.pop(number, ()):
            width = checkpoint.size - begin
            fitting = (tile for tile in variants if self._has_root(tile, width, checkpoint.root))
            tile = next(fitting, None)
            if tile is None:
                self._report_unproven(checkpoint)
            else:
                run = _Run(begin)
                self._look_up(run, tile, width)
                self._prove(checkpoint, run)
        widest = variants[-1]
        self._result.events = begin + widest.width
        if widest.width == TILE_WIDTH:
            self._whole.append(perfect_root(split(widest.hashes)), TILE_LEVELS)
            self._look_up(self._waiting, widest, TILE_WIDTH)

    def _has_root(self, tile: Tile, width: int, root: bytes) -> bool:
        if tile.width < width:
            return False
        tree = self._whole.copy()
        tree.extend(split(tile.hashes)[:width])
        return tree.root() == root

    def _look_up(self, run: _Run, tile: Tile, width: int) -> None:
        for position, leaf in zip(tile.positions or (), split(tile.hashes)[:width], strict=False):
            run.positions.append(position)
            run.places.append(self._log.find(position, leaf))

    def _prove(self, signed: SignedRoot, last: _Run) -> None:
        for run in (self._waiting, last):
            for n, place in enumerate(run.places):
                if place >= 0:
                    self._proven[place] = 1
                    self._last = max(self._last, place)
                else:
                    self._report_difference(run.begin + n, run.positions[n])
        self._waiting = _Run(last.begin)
        self._result.signed_size = signed.size
        if signed.outside:
            self._result.anchored_size = signed.size
            self._result.anchored_events = self._last + 1

    def _report_difference(self, index: int, position: int) -> None:
        if (index, position) not in self._named:
            self._named.add((index, position))
            message = (
                f"the event at position {position} is not in the log as it was signed: it was "
                f"event {index} of the old tree"
            )
            self._add_finding(message, index, position)

    def _report_unproven(self, signed: SignedRoot) -> None:
        message = (
            f"{signed.said_by} signs {signed.size} events, and what is kept of the old tree "
            "does not give its root"
        )
        self._add_finding(message, None, None)

    def _add_finding(self, message: str, index: int | None, position: int | None) -> None:
        self._result.intact = False
        self._report(VerificationFinding(REPLACED_TREE, message, index, position))
