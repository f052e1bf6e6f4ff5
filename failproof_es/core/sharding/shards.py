"""Shards: slices of a run's plan, each driven by one worker at a time. Pure.

Each planned case is cut into *pieces*: one for each repetition. A piece holds the evaluations of
one case and one repetition by every model. A run of P pieces is cut in plan order into shards of S
pieces. S is chosen once, from P, and recorded with the run: what a shard holds never changes. Runs
that were cut before 24 November 2026 have whole cases as pieces, with all repetitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from failproof_es.core.run import CHUNK

MOST_PIECES = 250
"""The most pieces of one shard: who loses a shard loses little."""
WORKERS_SERVED = 16
"""So many workers have a shard each, where there are as many pieces."""


class ShardId(NamedTuple):
    """The identity of a shard: its run, and its number from 0."""

    run_id: UUID
    shard: int

    def __str__(self) -> str:
        return f"{self.run_id}/{self.shard}"


class ChunkSlice(NamedTuple):
    """The part of a shard that stands in one recorded chunk of the plan."""

    chunk: int
    first: int
    """The first case in the chunk, from 0."""
    end: int
    """The case behind the last one."""


class PlanPart(NamedTuple):
    """The part of a plan that a shard holds."""

    pieces: range
    """Their places among all pieces of the run, from 0."""
    of_case: int
    """Each case is cut into so many: one for each repetition, or 1."""

    @property
    def cases(self) -> range:
        """The places in the plan, from 0, of the cases that it has pieces of."""
        return range(self.pieces.start // self.of_case, -(-self.pieces.stop // self.of_case))

    def repetitions(self, case: int, planned: int) -> range:
        """Which of the `planned` repetitions of the case at this place it holds, from 1."""
        if self.of_case == 1:
            return range(1, planned + 1)
        before = case * self.of_case
        first = max(self.pieces.start - before, 0)
        return range(first + 1, min(self.pieces.stop - before, self.of_case) + 1)


class Cut(NamedTuple):
    """How a run is cut into shards."""

    pieces: int
    of_case: int
    size: int
    """How many pieces each shard holds; the last one may hold fewer."""

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return shard_count(self.pieces, self.size)

    def part(self, shard: int) -> PlanPart:
        """What the shard holds. Raises `IndexError` for no such shard."""
        return PlanPart(shard_pieces(self.pieces, self.size, shard), self.of_case)


def cut_of(cases: int, repetitions: int, pieces: int, size: int) -> Cut | None:
    """The cut that is on record with so many pieces; `None` where it is not one of this plan."""
    if pieces == cases:
        return Cut(pieces, 1, size)
    return Cut(pieces, repetitions, size) if pieces == cases * repetitions else None


def shard_size(planned_pieces: int) -> int:
    """How many pieces each shard of a new run holds: from 1 to `MOST_PIECES`.

    Raises `ValueError` for a negative number of pieces.
    """
    if planned_pieces < 0:
        raise ValueError(f"a run cannot plan {planned_pieces} pieces")
    return min(MOST_PIECES, max(1, planned_pieces // WORKERS_SERVED))


def shard_count(planned_pieces: int, size: int) -> int:
    """How many shards of this size hold all pieces. Raises `ValueError` for a size below 1."""
    if size < 1:
        raise ValueError(f"a shard cannot hold {size} pieces")
    return -(-planned_pieces // size)


def shard_pieces(planned_pieces: int, size: int, shard: int) -> range:
    """The places, from 0, of a shard's pieces. Raises `IndexError` for no such shard."""
    if not 0 <= shard < shard_count(planned_pieces, size):
        raise IndexError(f"there is no shard {shard} of {planned_pieces} pieces by {size}")
    return range(shard * size, min((shard + 1) * size, planned_pieces))


def chunk_slices(cases: range) -> Iterator[ChunkSlice]:
    """Where in the recorded chunks of a plan these cases stand, in plan order."""
    at = cases.start
    while at < cases.stop:
        chunk, first = divmod(at, CHUNK)
        end = min(cases.stop, (chunk + 1) * CHUNK)
        yield ChunkSlice(chunk, first, end - chunk * CHUNK)
        at = end
