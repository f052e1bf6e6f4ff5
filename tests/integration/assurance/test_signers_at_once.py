"""Threads and processes that keep one checkpoint at the same time."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from failproof_es.assurance.signing.kept_checkpoints import read_kept
from failproof_es.ledger.note import SigningKey
from tests.unit.assurance.test_trusted import KEY, keep, signed

SIGNINGS = 200


def keep_many(place: Path, secret: str, sizes: list[int]) -> list[int]:
    key = SigningKey.parse(secret)
    return [keep(place, signed(size, key=key), key) for size in sizes]


@pytest.mark.slow
def test_signers_at_once_never_move_it_back(tmp_path: Path) -> None:
    """Threads, then processes: 400 times, and what each sees afterwards only grows."""
    pools: list[Executor] = [
        ThreadPoolExecutor(4),
        ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
    ]
    for number, pool in enumerate(pools):
        place = tmp_path / str(number)
        sizes = list(range(1, SIGNINGS + 1))
        Random(number).shuffle(sizes)
        with pool:
            signers = [
                pool.submit(keep_many, place, KEY.dump(), sizes[first::4]) for first in range(4)
            ]
            for each in signers:
                seen = each.result()
                assert seen == sorted(seen)
        newest = read_kept(str(place), KEY.public)
        assert newest is not None
        assert newest.size == SIGNINGS
