"""A store that several threads use at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from failproof_es.store.store import Store

THREADS = 8


def test_threads_that_ask_for_the_log_at_once_get_the_same_one(store: Store) -> None:
    for _ in range(5):
        together = Barrier(THREADS)
        fresh = Store(store.url)

        def log(fresh: Store = fresh, together: Barrier = together) -> int:
            together.wait()
            return id(fresh.log)

        with fresh, ThreadPoolExecutor(THREADS) as threads:
            assert len(set(threads.map(lambda _: log(), range(THREADS)))) == 1
