"""Shards: slices of a run's planned cases, each driven by one worker at a time. Pure.

A run of P planned cases is cut in plan order into shards of S cases. All evaluations of a case, of
every model and repetition, are in the shard of the case. S is chosen once, from P, and recorded
with the run: what a shard holds never changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from failproof_es.core.run import CHUNK

MOST_CASES = 250
"""The most cases of one shard: who loses a shard loses little."""
WORKERS_SERVED = 16
"""So many workers have a shard each, where there are as many cases."""


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


def shard_size(planned_cases: int) -> int:
    """How many cases each shard of a new run holds: from 1 to `MOST_CASES`.

    Raises `ValueError` for a negative number of cases.
    """
    if planned_cases < 0:
        raise ValueError(f"a run cannot plan {planned_cases} cases")
    return min(MOST_CASES, max(1, planned_cases // WORKERS_SERVED))


def shard_count(planned_cases: int, size: int) -> int:
    """How many shards of this size hold all cases. Raises `ValueError` for a size below 1."""
    if size < 1:
        raise ValueError(f"a shard cannot hold {size} cases")
    return -(-planned_cases // size)


def shard_cases(planned_cases: int, size: int, shard: int) -> range:
    """The places in the plan, from 0, of a shard's cases. Raises `IndexError` for no such shard."""
    if not 0 <= shard < shard_count(planned_cases, size):
        raise IndexError(f"there is no shard {shard} of {planned_cases} cases by {size}")
    return range(shard * size, min((shard + 1) * size, planned_cases))


def chunk_slices(cases: range) -> Iterator[ChunkSlice]:
    """Where in the recorded chunks of a plan these cases stand, in plan order."""
    at = cases.start
    while at < cases.stop:
        chunk, first = divmod(at, CHUNK)
        end = min(cases.stop, (chunk + 1) * CHUNK)
        yield ChunkSlice(chunk, first, end - chunk * CHUNK)
        at = end
