"""Shards cut a plan once, whole, in order."""

from __future__ import annotations

from itertools import pairwise
from uuid import UUID

import pytest

from failproof_es.core.run import CHUNK
from failproof_es.core.sharding.shards import (
    MOST_PIECES,
    WORKERS_SERVED,
    Cut,
    ShardId,
    chunk_slices,
    cut_of,
    shard_count,
    shard_pieces,
    shard_size,
)
from tests.every import every

PLANS = (0, 1, 2, 15, 16, 17, 31, 32, 33, 249, 250, 251, 999, 1_000, 1_001, 3_999, 4_000, 4_001,
         4_016, 1_000_000)  # fmt: skip


@every("cases", PLANS)
def test_every_case_is_in_one_shard_in_plan_order(cases: int) -> None:
    size = shard_size(cases)
    shards = [shard_pieces(cases, size, k) for k in range(shard_count(cases, size))]
    assert all(shards), "no shard is empty"
    assert sum(map(len, shards)) == cases
    assert all(before.stop == after.start for before, after in pairwise(shards))
    if shards:
        assert (shards[0].start, shards[-1].stop) == (0, cases)


@every("cases", PLANS)
def test_a_shard_is_small_and_sixteen_workers_have_work(cases: int) -> None:
    size = shard_size(cases)
    assert 1 <= size <= MOST_PIECES
    assert shard_count(cases, size) >= min(cases, WORKERS_SERVED)


@every(
    ("cases", "size", "shards"),
    [
        (0, 1, 0),
        (1, 1, 1),
        (16, 1, 16),
        (17, 1, 17),
        (249, 15, 17),
        (250, 15, 17),
        (251, 15, 17),
        (999, 62, 17),
        (1_000, 62, 17),
        (1_001, 62, 17),
        (1_000_000, 250, 4_000),
    ],
)
def test_the_size_is_recorded_with_runs_and_so_never_changes(
    cases: int, size: int, shards: int
) -> None:
    assert (shard_size(cases), shard_count(cases, size)) == (size, shards)


@every("cases", PLANS)
def test_a_shard_is_found_in_the_recorded_chunks(cases: int) -> None:
    size = shard_size(cases)
    wanted = sorted({0, 1, CHUNK // size - 1, CHUNK // size, shard_count(cases, size) - 1})
    for shard in (k for k in wanted if 0 <= k < shard_count(cases, size)):
        found = [
            each.chunk * CHUNK + place
            for each in chunk_slices(shard_pieces(cases, size, shard))
            for place in range(each.first, each.end)
        ]
        assert found == list(shard_pieces(cases, size, shard))


def test_a_shard_can_reach_over_the_edge_of_a_chunk() -> None:
    assert list(chunk_slices(range(992, 1_054))) == [(0, 992, 1_000), (1, 0, 54)]


@every("shard", [-1, 17])
def test_there_is_no_shard_outside_the_plan(shard: int) -> None:
    with pytest.raises(IndexError):
        shard_pieces(1_000, 62, shard)


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="-1 pieces"):
        shard_size(-1)
    with pytest.raises(ValueError, match="0 pieces"):
        shard_count(10, 0)


def test_a_shard_is_named_by_its_run_and_number() -> None:
    run = UUID(int=7)
    assert str(ShardId(run, 3)) == f"{run}/3"


def held(cut: Cut, repetitions: int) -> list[tuple[int, int]]:
    """Every case and repetition that the shards hold, in their order."""
    parts = [cut.part(shard) for shard in range(cut.shards)]
    assert all(part.pieces for part in parts)
    return [
        (case, repetition)
        for part in parts
        for case in part.cases
        for repetition in part.repetitions(case, repetitions)
    ]


@every("as_before", [False, True])
@every("size", [1, 2, 3, 5, 7, 250])
@every("repetitions", [1, 2, 3, 10])
@every("cases", [0, 1, 2, 7])
def test_every_repetition_of_every_case_is_in_one_shard_in_plan_order(
    cases: int, repetitions: int, size: int, as_before: bool
) -> None:
    pieces = cases if as_before else cases * repetitions
    cut = cut_of(cases, repetitions, pieces, size)
    assert cut is not None
    planned = [(case, each) for case in range(cases) for each in range(1, repetitions + 1)]
    assert held(cut, repetitions) == planned


def test_one_case_with_many_repetitions_is_cut() -> None:
    pieces = 1 * 10_000
    cut = cut_of(1, 10_000, pieces, shard_size(pieces))
    assert cut == Cut(10_000, 10_000, 250)
    assert cut.shards == 40
    assert cut.part(39).cases == range(1)
    assert cut.part(39).repetitions(0, 10_000) == range(9_751, 10_001)


@every("pieces", [0, 6, 8, 20, 22])
def test_shards_of_another_plan_are_no_cut(pieces: int) -> None:
    assert cut_of(7, 3, pieces, 2) is None
