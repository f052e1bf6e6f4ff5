"""Evaluations per second, everything durable, against a bare loop that records nothing.

`python -m tests.benchmarks.evaluations [--cases 10000]`: the same
0 ms mock in a process of its own, 100 connections; the pair is measured in turn, several
times, and the ratios are printed with their median. `bare.py` says what the bare loop is.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import statistics
import tempfile
import time
from pathlib import Path

from failproof_es.configuration.loading import load_configuration
from failproof_es.engine import start
from failproof_es.store.store import Store
from projections.follower import Follower
from tests.acceptance.commands import mock_server, write_configuration, write_suite
from tests.benchmarks.bare import CONNECTIONS, requests_per_second
from tests.benchmarks.servers import benchmark_store


async def _recorded(store: Store, configuration: Path) -> tuple[float, float]:
    """Evaluations per second from first request to `RunCompleted`, and seconds of the whole.

    The whole has what comes after: the run is read once more, and sealed.
    """
    began = time.perf_counter()
    first: list[float] = []
    completed: list[float] = []

    def observe(event: object) -> None:
        if not first and type(event).__name__ == "RequestSent":
            first.append(time.perf_counter())
        elif type(event).__name__ == "RunCompleted":
            completed.append(time.perf_counter())

    loaded = load_configuration(configuration)
    outcome = await start(
        loaded, store, observe=observe, stop=asyncio.Event(), say=lambda remark: None
    )
    ended = time.perf_counter()
    assert outcome.counts.scored == outcome.counts.planned
    return outcome.counts.scored / (completed[0] - first[0]), ended - began


def _once(url: str, base_url: str, cases: int, follow: bool, queue: object) -> None:
    """One measurement in a process of its own, so that its memory is its own."""
    folder = Path(tempfile.mkdtemp())
    write_suite(folder, cases)
    configuration = write_configuration(
        folder,
        base_url,
        prompts={"path": str(folder / "suite.jsonl"), "dialect": "failproof"},
        execution={"parallel_workers": CONNECTIONS},
    )
    with Store.open(url) as store:
        if follow:
            with Follower(url):
                rate, whole = asyncio.run(_recorded(store, configuration))
        else:
            rate, whole = asyncio.run(_recorded(store, configuration))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    queue.put((rate, whole, peak_mb))  # type: ignore[attr-defined]


def measure(url: str, base_url: str, cases: int, *, follow: bool) -> tuple[float, float, float]:
    """Evaluations per second, seconds of the whole run, peak memory in MB."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_once, args=(url, base_url, cases, follow, queue))
    process.start()
    result: tuple[float, float, float] = queue.get(timeout=1200)
    process.join()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for follow in (False, True):
        ratios = []
        for _ in range(arguments.rounds):
            with mock_server(0) as base_url, benchmark_store() as url:
                bare = asyncio.run(requests_per_second(base_url, arguments.cases))
                rate, whole, peak = measure(url, base_url, arguments.cases, follow=follow)
                ratios.append(rate / bare)
                print(
                    f"  bare {bare:,.0f} requests/s, recorded {rate:,.0f} evaluations/s, "
                    f"ratio {rate / bare:.2f}, whole run {whole:.1f} s, peak {peak:.0f} MB"
                )
        what = "with the projections following" if follow else "the engine alone"
        print(f"evaluations, {what}: median ratio {statistics.median(ratios):.2f} (wanted >= 0.5)")


if __name__ == "__main__":
    main()
