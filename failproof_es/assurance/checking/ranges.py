"""Verifies whole tiles of the log in worker processes, so that every core is used.

A worker (`range_checker.py`) reads the database's URL and then ranges of tiles from its standard
input, and answers each until the input ends. Its answer is `Sound` only if *every* row of the range
is what the tree holds. Else it is `None`, and the main process walks the rows from there on one by
one, which names the findings.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import chain
from typing import IO, Any, NamedTuple, Self

import psycopg

from failproof_es.assurance.checking.archived import leaves_between
from failproof_es.assurance.checking.columns import AT_NO_TIME, CLOCK_TOLERANCE_US, RunMarks
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.leaf import NoLeaf, leaf_hash
from failproof_es.ledger.merkle import TILE_WIDTH, perfect_root, split
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.connecting import connect
from failproof_es.store.ledger import Connection, LeafRow
from failproof_es.support.cores import usable_cores
from failproof_es.support.machine.sidecar import Sidecar

FEWEST_TILES = 300
"""With fewer tiles, starting the workers takes longer than they save."""
TILES_AT_ONCE = 64
CHECKER = "failproof_es.assurance.checking.range_checker"
_MOST_PROCESSES = 8
_LONG_AGO_US = -(1 << 70)


class TileRange(NamedTuple):
    """Consecutive full tiles of the tree."""

    after: int | None
    """Position of the last event before the range; `None` where there is none."""
    positions: list[bytes]
    """Positions in each tile, as 64-bit integers in this machine's byte order."""
    hashes: list[bytes]

    @property
    def last(self) -> int:
        """Position of the last event in the range."""
        return array("q", self.positions[-1])[-1]


class Sound(NamedTuple):
    """The answer for a range whose rows all match the tree."""

    roots: list[bytes]
    """Root of each tile."""
    run_starts: list[LeafRow]
    """The rows that begin a run."""
    earliest_us: int
    latest_us: int
    last_us: int
    """The earliest time of recording, the latest, and that of the last row."""
    archived: int
    """Number of leaves whose events are archived."""

    def follows(self, last_us: int) -> bool:
        """Whether the range was recorded after `last_us`, within the clock's tolerance."""
        return self.earliest_us >= last_us - CLOCK_TOLERANCE_US


def parts(tiles: Sequence[Tile], first: int, after: int | None) -> Iterator[TileRange]:
    """Ranges of full tiles from `first` on, up to the first that is missing or partial."""
    full: list[Tile] = []
    for number, tile in enumerate(tiles, first):
        if tile.tile != number or tile.width != TILE_WIDTH:
            break
        full.append(tile)
        if len(full) == TILES_AT_ONCE:
            yield (part := _tile_range(full, after))
            full, after = [], part.last
    if full:
        yield _tile_range(full, after)


def _tile_range(tiles: Sequence[Tile], after: int | None) -> TileRange:
    positions = [array("q", tile.positions or ()).tobytes() for tile in tiles]
    return TileRange(after, positions, [tile.hashes for tile in tiles])


def check(connection: Connection, part: TileRange) -> Sound | None:
    """Compare the rows of a range with the tree; `None` at any difference."""
    positions = chain.from_iterable(
        array("q", packed_positions) for packed_positions in part.positions
    )
    leaves = chain.from_iterable(map(split, part.hashes))
    archived = 0
    entries: Iterator[tuple[int, bytes]] = zip(positions, leaves, strict=True)
    if archived_leaves := leaves_between(connection, part.after, part.last):
        every = list(entries)
        log_leaves = [
            (position, leaf) for position, leaf in every if archived_leaves.get(position) != leaf
        ]
        entries, archived = iter(log_leaves), len(every) - len(log_leaves)
    marks = RunMarks()
    run_starts: list[LeafRow] = []
    earliest, latest, last = 1 << 70, _LONG_AGO_US, 0
    with closing(ledger.leaf_rows(connection, part.after, part.last)) as rows:
        try:
            for row, (position, leaf) in zip(rows, entries, strict=True):
                last = row.recorded_at_us
                if (
                    row.trouble is not None
                    or row.position != position
                    or leaf_hash(row.stream_id, row.version, row.topic, row.state) != leaf
                    or row.leaf_hash != leaf
                    or not marks.name(row)
                    or last in AT_NO_TIME
                    or last < latest - CLOCK_TOLERANCE_US
                ):
                    return None
                if row.topic == b"RunStarted":
                    run_starts.append(row)
                if last > latest:
                    latest = last
                if last < earliest:
                    earliest = last
        except (NoLeaf, ValueError):  # no event; or more rows than leaves, or fewer
            return None
    roots = [perfect_root(split(hashes)) for hashes in part.hashes]
    return Sound(roots, run_starts, earliest, latest, last, archived)


# -- processes -----------------------------------------------------------------------------------


class Checkers:
    """Worker processes, each of which checks one range at a time."""

    def __init__(self, url: str, processes: int) -> None:
        self._url = url
        self._count = processes
        self._running: list[Sidecar] = []
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as ending:
            for _ in range(self._count):
                process = Sidecar(CHECKER, pickle.dumps(self._url), answers=True)
                ending.callback(process.kill)
                self._running.append(process)
            self._ending = ending.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def check(self, parts: Iterator[TileRange]) -> Iterator[tuple[TileRange, Sound | None]]:
        """The answer for each range, in order.

        Raises `InvalidInput` when a worker ends before it has answered.
        """
        waiting: list[TileRange] = []
        for process in self._running:
            if (part := next(parts, None)) is not None:
                _send(process, part)
                waiting.append(part)
        turn = 0
        while waiting:
            process = self._running[turn % len(self._running)]
            answered, turn = waiting.pop(0), turn + 1
            sound = _receive(process)
            if (part := next(parts, None)) is not None:
                _send(process, part)
                waiting.append(part)
            yield answered, sound


def processes() -> int:
    """Number of workers that are useful on this machine."""
    return min(usable_cores(), _MOST_PROCESSES)


def _send(process: Sidecar, what: object) -> None:
    try:
        process.send(pickle.dumps(what))
    except OSError:
        raise _ended(process) from None


def _receive(process: Sidecar) -> Any:
    try:
        return _load_message(process.output)
    except (EOFError, OSError, pickle.UnpicklingError):
        raise _ended(process) from None


def _ended(process: Sidecar) -> InvalidInput:
    code = process.wait()
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return InvalidInput.because(
        "process-ended",
        f"a process that verified a part of the log was ended ({how}): nothing is verified",
        remedy="verify again; look for who ended it, or whether memory ran out",
    )


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer ranges until the input ends: the main loop of a worker.

    Without a connection every answer is `None`: the main process walks the rows.
    """
    url = _load_message(requests)
    with ExitStack() as closings, suppress(EOFError):
        try:
            connection = closings.enter_context(connect(url))
        except psycopg.OperationalError:  # no more connections are allowed, for example
            connection = None
        while True:
            part = _load_message(requests)
            sound = None
            if connection is not None:
                with suppress(Exception):  # the main process meets the error when it walks the rows
                    sound = check(connection, part)
            pickle.dump(sound, answers)
            answers.flush()


def _load_message(pipe: IO[bytes]) -> Any:
    """The next message of the other process. Unpickling is safe: both ends are ours."""
    return pickle.load(pipe)  # noqa: S301
