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
"""Maximum number of pieces in a shard, so that a worker that loses a shard loses little."""
WORKERS_SERVED = 16
"""Number of workers for which a run has a shard each, if it has as many pieces."""


class ShardId(NamedTuple):
    """The identity of a shard: its run, and its number from 0."""

    run_id: UUID
    shard: int

    def __str__(self) -> str:
        return f"{self.run_id}/{self.shard}"


class ChunkSlice(NamedTuple):
    """The part of a shard that lies in one recorded chunk of the plan."""

    chunk: int
    first: int
    """The first case in the chunk, from 0."""
    end: int
    """The end of the cases in the chunk, exclusive."""


class PlanPart(NamedTuple):
    """The part of a plan that a shard holds."""

    pieces: range
    """Indices among all pieces of the run."""
    of_case: int
    """Number of pieces of each case: one for each repetition, or 1."""

    @property
    def cases(self) -> range:
        """Indices in the plan of the cases with pieces in this part."""
        return range(self.pieces.start // self.of_case, -(-self.pieces.stop // self.of_case))

    def repetitions(self, case: int, planned: int) -> range:
        """The repetitions, from 1, of the case with this index in the plan that the part holds.

        `planned` is the number of repetitions in the plan.
        """
        if self.of_case == 1:
            return range(1, planned + 1)
        before = case * self.of_case
        first = max(self.pieces.start - before, 0)
        return range(first + 1, min(self.pieces.stop - before, self.of_case) + 1)


class Cut(NamedTuple):
    """Division of a run into shards: `pieces` in the run, `of_case` in each case."""

    pieces: int
    of_case: int
    size: int
    """Number of pieces in each shard; the last shard may hold fewer."""

    @property
    def shards(self) -> int:
        """Number of shards."""
        return shard_count(self.pieces, self.size)

    def part(self, shard: int) -> PlanPart:
        """The part of the plan that the shard holds. Raises `IndexError` for an unknown shard."""
        return PlanPart(shard_pieces(self.pieces, self.size, shard), self.of_case)


def cut_of(cases: int, repetitions: int, pieces: int, size: int) -> Cut | None:
    """The cut of a run into shards of `size` pieces; `None` if `pieces` does not fit the plan.

    A plan of `cases` has one piece for each case, or one for each repetition of each case.
    """
    if pieces == cases:
        return Cut(pieces, 1, size)
    return Cut(pieces, repetitions, size) if pieces == cases * repetitions else None


def shard_size(planned_pieces: int) -> int:
    """Number of pieces in each shard of a new run: from 1 to `MOST_PIECES`.

    Raises `ValueError` for a negative number of pieces.
    """
    if planned_pieces < 0:
        raise ValueError(f"a run cannot plan {planned_pieces} pieces")
    return min(MOST_PIECES, max(1, planned_pieces // WORKERS_SERVED))


def shard_count(planned_pieces: int, size: int) -> int:
    """Number of shards of `size` pieces that hold all pieces. Raises `ValueError` if `size` < 1."""
    if size < 1:
        raise ValueError(f"a shard cannot hold {size} pieces")
    return -(-planned_pieces // size)


def shard_pieces(planned_pieces: int, size: int, shard: int) -> range:
    """The indices, from 0, of the pieces of the shard with this number, for shards of `size`.

    Raises `IndexError` if there is no such shard.
    """
    if not 0 <= shard < shard_count(planned_pieces, size):
        raise IndexError(f"there is no shard {shard} of {planned_pieces} pieces by {size}")
    return range(shard * size, min((shard + 1) * size, planned_pieces))


def chunk_slices(cases: range) -> Iterator[ChunkSlice]:
    """The parts of the plan's recorded chunks that hold these cases, in plan order.

    `cases` are indices in the plan.
    """
    at = cases.start
    while at < cases.stop:
        chunk, first = divmod(at, CHUNK)
        end = min(cases.stop, (chunk + 1) * CHUNK)
        yield ChunkSlice(chunk, first, end - chunk * CHUNK)
        at = end
