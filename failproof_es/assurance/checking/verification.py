"""Verifies the log: every row against the tree, the tree against signed and kept checkpoints.

Reads through the auditor's views alone and writes nothing. From most to least
trusted: a checkpoint kept outside the database, a checkpoint with a good signature, the tree's
tiles, the rows. When two disagree, the finding names the less trusted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count

from failproof_es.assurance.checking import ranges
from failproof_es.assurance.checking.archived import again_if_runs_moved, read_archived
from failproof_es.assurance.checking.catalog_checks import RunListCheck
from failproof_es.assurance.checking.columns import Columns, finding
from failproof_es.assurance.checking.expected_roots import ExpectedRoot, read_expected_roots
from failproof_es.assurance.checking.findings import (
    ARCHIVE_CHANGED,
    CHECKPOINT_REMOVED,
    HISTORY_FORKED,
    IN_BETWEEN,
    ROW_ADDED,
    ROW_CHANGED,
    ROW_IMPOSSIBLE,
    ROW_MISSING,
    ROWS_HIDDEN,
    RUN_RENUMBERED,
    TAIL_CUT,
    TREE_CHANGED,
    TREE_GOES_BACK,
    TREE_REBUILT,
    Verification,
    VerificationFinding,
    VerifiedPrefix,
)
from failproof_es.assurance.checking.old_tree import Leaves
from failproof_es.assurance.checking.replaced_trees import verify_replaced
from failproof_es.assurance.tree_history import read_trees
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.leaf import NoLeaf
from failproof_es.ledger.merkle import TILE_LEVELS, TILE_WIDTH, Frontier, perfect_root, split
from failproof_es.ledger.note import PublicKey
from failproof_es.store import ledger
from failproof_es.store.ledger import Connection, LeafRow, LedgerBroken
from failproof_es.store.schema.definitions import differences

_OR_RESTORED = "or an older backup restored"
_BEHIND_ALL = 1 << 63

_Entry = tuple[int, bytes]
"""A position in the log and the leaf that the tree holds for it."""


def verify_log(
    connection: Connection,
    key: PublicKey | None,
    trusted: Sequence[Checkpoint] = (),
    before: VerifiedPrefix | None = None,
    url: str | None = None,
) -> Verification:
    """Compare rows, tree and checkpoints.

    `key` is the log's public key; without one, checkpoints in the database are only compared with
    the tree, and the log is unsigned at best. `trusted` are checkpoints kept outside the database,
    whose signatures are checked already. After a repair, `key` and `trusted` may belong to an
    earlier tree. With `before`, the events verified then are not read again, so that later changes
    of them are not found.

    With the `url` of the same database as the same user, several processes read a long log; the
    findings are the same. Raises `InvalidInput` when one of the processes is ended. Verification is
    repeated if it has findings and a run is archived or attached meanwhile.
    """
    once = partial(_verify_once, connection, key, trusted, before, url)
    return again_if_runs_moved(connection, once)


def _verify_once(
    connection: Connection,
    key: PublicKey | None,
    trusted: Sequence[Checkpoint],
    before: VerifiedPrefix | None,
    url: str | None,
) -> Verification:
    trees = read_trees(connection)
    result = Verification(trees.current.origin)
    for problem in trees.problems:
        result.add(VerificationFinding(HISTORY_FORKED, problem))
    keys = trees.keys() if key is None else trees.keys(key)
    key = keys.get(result.origin, key)
    result.has_key = key is not None
    for difference in differences(connection):
        result.add(
            VerificationFinding(
                ROWS_HIDDEN if difference.hides_rows else IN_BETWEEN, difference.what
            )
        )
    if key is not None and key.name != result.origin:
        message = f"the key is of {key.name}, this log says it is {result.origin}"
        result.add(VerificationFinding(HISTORY_FORKED, message))
    if before is not None and before.origin != result.origin:
        before = None
    older = {tree.origin for tree, _ in trees.replaced}
    of_older = [checkpoint for checkpoint in trusted if checkpoint.origin in older]
    trusted = [checkpoint for checkpoint in trusted if checkpoint.origin not in older]
    numbers = RunListCheck(connection)
    archived = read_archived(connection, result)
    expected = read_expected_roots(connection, key, trusted, result)
    walk = _Walk(result, numbers, expected, before, archived)
    # Tiles are read before rows, so that events integrated meanwhile are among the rows.
    first = before.size >> TILE_LEVELS if before else 0
    tiles = _tiles(connection, first, result)
    upper_tiles = [] if before else _upper_tiles(connection, result)
    after = before.position if before else None
    if url is not None and len(tiles) >= ranges.FEWEST_TILES:
        after = walk.parts(url, ranges.parts(tiles, first, after), after)
    walked = walk.size >> TILE_LEVELS
    with closing(ledger.leaf_rows(connection, after)) as rows:
        walk.rows(rows, _entries(tiles[walked - first :], walked, result))
    walk.end()
    if before is None and result.archived != len(archived):
        extra = len(archived) - result.archived
        message = f"{extra} events are kept as archived that are in the log, or not in the tree"
        result.add(VerificationFinding(ARCHIVE_CHANGED, message))
    result.remarks += numbers.remarks()
    for run_id, message in numbers.differences(whole=before is None):
        result.add(VerificationFinding(RUN_RENUMBERED, message, stream_id=run_id))
    if before is None or of_older:
        verify_replaced(connection, trees, keys, of_older, result)
    if before is None:
        full = sum(tile.width == TILE_WIDTH for tile in tiles)
        _compare_upper_tiles(upper_tiles, full, walk.tile_roots, result)
    if result.genuine:
        result.verified = walk.verified()
    return result


class _Walk:
    """One pass over the rows in commit order, together with tiles and checkpoints.

    Checkpoints are compared with a tree made of the tiles' leaves, and of rows only behind the last
    tile: so a changed row and a changed tree are told apart.
    """

    def __init__(
        self,
        result: Verification,
        numbers: RunListCheck,
        expected: Sequence[ExpectedRoot],
        before: VerifiedPrefix | None,
        archived: Leaves,
    ) -> None:
        self._result = result
        self._archived = archived
        self._numbers = numbers
        self.size = before.size if before else 0
        self._expected = sorted(
            (expected_root for expected_root in expected if expected_root.size >= self.size),
            key=lambda expected_root: expected_root.size,
        )
        self._whole_tiles = Frontier(self.size, before.roots if before else ())
        self._last_whole = (before.position, before.recorded_at_us) if before else (0, 0)
        self._block: list[bytes] = []
        self.tile_roots: list[bytes] = []
        self._good = 0
        self._look = Columns(result, self._last_whole[1])
        self._compare_due()

    def verified(self) -> VerifiedPrefix:
        """The extent of the verified rows, up to the last whole tile."""
        tree, (position, recorded_at_us) = self._whole_tiles, self._last_whole
        return VerifiedPrefix(self._result.origin, tree.size, tree.roots, position, recorded_at_us)

    def parts(self, url: str, parts: Iterator[ranges.TileRange], after: int | None) -> int | None:
        """Take in the answers of the workers, up to the first range that is not sound.

        Returns the position up to which rows are verified; the rows behind it are to be walked.
        """
        with ranges.Checkers(url, ranges.processes()) as checkers:
            for part, sound in checkers.check(parts):
                if sound is None or not sound.follows(self._look.last_us):
                    break
                for hashes, root in zip(part.hashes, sound.roots, strict=True):
                    self._push_tile(hashes, root)
                self._result.archived += sound.archived
                self._result.events -= sound.archived
                for row in sound.run_starts:
                    self._numbers.at(row)
                self._look.last_us = max(self._look.last_us, sound.latest_us)
                after = part.last
                self._last_whole = (after, sound.last_us)
        return after

    def _push_tile(self, hashes: bytes, root: bytes) -> None:
        self._result.events += TILE_WIDTH
        if self._expected and self._expected[0].size <= self.size + TILE_WIDTH:
            for leaf in split(hashes):
                self._push(leaf)
            return
        self._whole_tiles.append(root, TILE_LEVELS)
        self.tile_roots.append(root)
        self.size += TILE_WIDTH

    def rows(self, rows: Iterable[LeafRow], entries: Iterator[_Entry]) -> None:
        """Join the rows with the tree's entries by their position."""
        nothing = (_BEHIND_ALL, b"")
        last = self._last_whole[0]
        position, recorded = next(entries, nothing)
        for row in rows:
            self._result.events += 1
            try:
                leaf, why = row.leaf(), None
            except NoLeaf as error:
                leaf, why = b"", str(error)
            while position < row.position:
                last = self._without_row(position, recorded, last)
                position, recorded = next(entries, nothing)
            last = row.position
            if position == row.position:
                if recorded != leaf or row.leaf_hash != leaf:
                    self._add_finding(ROW_CHANGED, row, why or _what_changed(row, leaf))
                leaf = recorded
                position, recorded = next(entries, nothing)
            elif why is not None:
                self._add_finding(ROW_IMPOSSIBLE, row, why)
                continue
            elif position != _BEHIND_ALL:
                self._add_finding(
                    ROW_ADDED, row, "the tree has events after this one, and not this one"
                )
                continue
            elif row.leaf_hash != leaf:
                self._add_finding(ROW_CHANGED, row, _what_changed(row, leaf))
            self._look.at(row, self.size)
            self._numbers.at(row)
            self._push(leaf)
            if not self._block:
                self._last_whole = (row.position, row.recorded_at_us)
        while position != _BEHIND_ALL:
            last = self._without_row(position, recorded, last)
            position, recorded = next(entries, nothing)

    def end(self) -> None:
        """At the end of the log: report checkpoints that sign more events than there are."""
        self._result.tree_size = self.size
        self._result.root = self._root()
        for expected_root in self._expected:
            message = (
                f"{expected_root.source} signs {expected_root.size} events; the log has {self.size}"
            )
            if expected_root.outside:
                message = f"{message}: the tail was cut, {_OR_RESTORED}"
            self._result.add(VerificationFinding(TAIL_CUT, message, index=self.size))

    # -- helpers ---------------------------------------------------------------------------

    def _push(self, leaf: bytes) -> None:
        self._block.append(leaf)
        self.size += 1
        if len(self._block) == TILE_WIDTH:
            root = perfect_root(self._block)
            self._whole_tiles.append(root, TILE_LEVELS)
            self.tile_roots.append(root)
            self._block.clear()
        self._compare_due()

    def _compare_due(self) -> None:
        while self._expected and self._expected[0].size <= self.size:
            self._compare(self._expected.pop(0))

    def _root(self) -> bytes:
        whole = self._whole_tiles.copy()
        whole.extend(self._block)
        return whole.root()

    def _compare(self, expected: ExpectedRoot) -> None:
        if expected.size < self.size:
            return  # an empty tree has one root, and `opened` knows it
        if self._root() != expected.root:
            message = (
                f"{expected.source} signs another root: at least one of the first "
                f"{expected.size} events is not what it was, and the tree was made to fit"
            )
            kind = HISTORY_FORKED if expected.outside else TREE_REBUILT
            self._result.add(VerificationFinding(kind, message, index=self._good_size()))
        elif expected.outside:
            self._result.anchored_size = max(self._result.anchored_size, expected.size)
            if expected.removed:
                message = (
                    f"{expected.source} is not in the database any more: it was deleted, "
                    f"{_OR_RESTORED}"
                )
                self._result.add(VerificationFinding(CHECKPOINT_REMOVED, message))
        else:
            self._good = expected.size

    def _good_size(self) -> int:
        """The first index that no checkpoint covers."""
        return max(self._good, self._result.anchored_size)

    def _without_row(self, position: int, leaf: bytes, last: int) -> int:
        """Take in a leaf without a row: archived, or missing. Returns the last position then."""
        if position > last and self._archived.find(position, leaf) >= 0:
            self._result.archived += 1
            last = position
        else:
            self._report_missing_row(position, last)
        self._push(leaf)
        if not self._block and last == position:
            self._last_whole = (position, self._last_whole[1])
        return last

    def _report_missing_row(self, position: int, last: int) -> None:
        """Add a finding: the tree's next event is not among the rows behind position `last`."""
        kind = ROW_MISSING
        message = f"the event at position {position} is in the tree and not in the log"
        if 0 < position <= last:
            kind = TREE_GOES_BACK
            message = (
                f"the tree goes back to position {position}: it holds events twice, or out of "
                "their order"
            )
        self._result.add(VerificationFinding(kind, message, self.size, position))

    def _add_finding(self, kind: str, row: LeafRow, message: str) -> None:
        self._result.add(finding(kind, row, message, self.size))


def _tiles(connection: Connection, first: int, result: Verification) -> list[Tile]:
    """The well-formed tiles of leaves from `first` on."""
    for stray in ledger.no_tiles(connection):
        message = f"a tree has no tile {stray.tile} of level {stray.level}"
        result.add(VerificationFinding(TREE_CHANGED, message))
    tiles: list[Tile] = []
    try:
        tiles.extend(ledger.tiles(connection, 0, first))
    except LedgerBroken as error:
        result.add(
            VerificationFinding(TREE_CHANGED, str(error), index=(first + len(tiles)) * TILE_WIDTH)
        )
    return tiles


def _entries(tiles: Sequence[Tile], first: int, result: Verification) -> Iterator[_Entry]:
    """Every leaf from tile `first` on. Stops at a gap in the tiles, which becomes a finding."""
    for number, tile in enumerate(tiles, first):
        last = tile is tiles[-1]
        if tile.tile != number or (tile.width < TILE_WIDTH and not last):
            message = f"the tiles of the leaves leave a gap at tile {number}"
            result.add(VerificationFinding(TREE_CHANGED, message, index=number * TILE_WIDTH))
            return
        yield from zip(tile.positions or (), split(tile.hashes), strict=True)


def _what_changed(row: LeafRow, leaf: bytes) -> str:
    if row.leaf_hash == leaf:
        return "the row is not what was put into the tree"
    return "the row is not what its writer recorded"


def _upper_tiles(connection: Connection, result: Verification) -> list[list[Tile]]:
    """The well-formed tiles above the leaves, level by level."""
    levels: list[list[Tile]] = []
    for level in range(1, ledger.levels(connection)):
        levels.append([])
        try:
            levels[-1].extend(ledger.tiles(connection, level))
        except LedgerBroken as error:
            result.add(VerificationFinding(TREE_CHANGED, str(error)))
    return levels


def _compare_upper_tiles(
    levels: Sequence[Sequence[Tile]], full: int, below: Sequence[bytes], result: Verification
) -> None:
    """Check that tiles above the leaves hold the roots of those below, and that full ones exist.

    `full` is the number of full tiles of leaves, `below` the root of each block of leaves.
    """
    for level in count(1):
        full >>= TILE_LEVELS
        there = levels[level - 1] if level <= len(levels) else ()
        if not full and level > len(levels):
            return
        for tile in there:
            begin = tile.tile * TILE_WIDTH
            if split(tile.hashes) != below[begin : begin + tile.width]:
                message = f"tile {tile.tile} of level {level} is not what the leaves give"
                index = begin << TILE_LEVELS * level
                result.add(VerificationFinding(TREE_CHANGED, message, index=index))
        whole_tiles = (tile.tile for tile in there if tile.width == TILE_WIDTH)
        for number in sorted(set(range(full)).difference(whole_tiles)):
            message = f"tile {number} of level {level} is missing, or is not full"
            index = number << TILE_LEVELS * (level + 1)
            result.add(VerificationFinding(TREE_CHANGED, message, index=index))
        begins = range(0, len(below) - TILE_WIDTH + 1, TILE_WIDTH)
        below = [perfect_root(below[at : at + TILE_WIDTH]) for at in begins]
