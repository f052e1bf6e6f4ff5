"""Threads and processes that write one file at the same time."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from failproof_es.support.atomic_file import atomic_write
from tests.unit.support.test_atomic_file import assert_whole, content, names

WRITES = 400


@pytest.mark.slow
@pytest.mark.wide
def test_two_writers_of_one_file_never_tear_each_other_s(tmp_path: Path) -> None:
    """Eight threads, then eight processes: 800 writes, and each reader sees a whole one."""
    path = tmp_path / "results.csv"
    atomic_write(path, [content(0)])
    spawned = multiprocessing.get_context("spawn")
    pools: list[Executor] = [ThreadPoolExecutor(8), ProcessPoolExecutor(8, spawned)]
    for pool in pools:
        with pool:
            writes = [pool.submit(write_one, path, number) for number in range(WRITES)]
            while not all(write.done() for write in writes):
                assert_whole(path)
            assert [write.exception() for write in writes] == [None] * WRITES
        assert_whole(path)
    assert names(tmp_path) == ["results.csv"]


def write_one(path: Path, number: int) -> None:
    whole = content(number)
    atomic_write(path, [whole[:1_000], whole[1_000:]])
