"""Verifies whole tiles of the log in processes of their own, so that every core is used.

Such a process (`range_checker.py`) reads the database's URL and then parts of the tree from its
standard input, and answers each with what it found, until the input ends. It only ever says of a
part that *every* row is what the tree holds. Where anything is otherwise it says nothing, and
the rows from there on are walked one after the other, which names what was found.
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
"""Of fewer tiles the processes would take longer to start than they help."""
TILES_AT_ONCE = 64
CHECKER = "failproof_es.assurance.checking.range_checker"
_MOST_PROCESSES = 8
_LONG_AGO_US = -(1 << 70)


class TileRange(NamedTuple):
    """Full tiles that stand side by side in the tree."""

    after: int | None
    """The position of the last event before them; `None` where there is none."""
    positions: list[bytes]
    """Of each tile, as 64-bit integers of this machine."""
    hashes: list[bytes]

    @property
    def last(self) -> int:
        """The position of the last event in them."""
        return array("q", self.positions[-1])[-1]


class Sound(NamedTuple):
    """What a part says whose rows are all what the tree holds."""

    roots: list[bytes]
    """Of each tile."""
    run_starts: list[LeafRow]
    """The rows that begin a run."""
    earliest_us: int
    latest_us: int
    last_us: int
    """When the first, the last by the clock, and the last by position were recorded."""
    archived: int
    """How many of the leaves are of archived events."""

    def follows(self, last_us: int) -> bool:
        """Whether the clock did not go back since what was recorded before."""
        return self.earliest_us >= last_us - CLOCK_TOLERANCE_US


def parts(tiles: Sequence[Tile], first: int, after: int | None) -> Iterator[TileRange]:
    """The full tiles from `first` on, up to where one is missing or narrower."""
    full: list[Tile] = []
    for number, tile in enumerate(tiles, first):
        if tile.tile != number or tile.width != TILE_WIDTH:
            break
        full.append(tile)
        if len(full) == TILES_AT_ONCE:
            yield (part := _part(full, after))
            full, after = [], part.last
    if full:
        yield _part(full, after)


def _part(tiles: Sequence[Tile], after: int | None) -> TileRange:
    positions = [array("q", tile.positions or ()).tobytes() for tile in tiles]
    return TileRange(after, positions, [tile.hashes for tile in tiles])


def check(connection: Connection, part: TileRange) -> Sound | None:
    """Compare the rows of a part with the tree; `None` where anything is not as it should be."""
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
    """Some processes that check parts, one part each at a time."""

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
        """What each part says, in their order.

        Raises `InvalidInput` when a process ends before it answered.
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
    """How many of them are of use here."""
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
        f"a process that verified a part of the log was ended ({how}): nothing is verified",
        remedy="verify again; look for who ended it, or whether memory ran out",
    )


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer parts, as the process does, until there are no more.

    Without a connection it says nothing of any part: the rows are walked by who asks.
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
                with suppress(Exception):  # whoever walks the rows meets it, too, and says it
                    sound = check(connection, part)
            pickle.dump(sound, answers)
            answers.flush()


def _load_message(pipe: IO[bytes]) -> Any:
    """What the other process wrote: it is our own, at the other end of a pipe of ours."""
    return pickle.load(pipe)  # noqa: S301
