"""What it takes to finish a run: from its last evaluation to its seal, in time and memory.

`python -m tests.benchmarks.finishing [--cases 10000]`: a run over a 0 ms mock, with gates on
its cost and its accuracy. Printed are the seconds from the last final event of an evaluation
to `RunCompleted`, to `RunValidated` and to `RunSealed`, beside them those of our own CPU (the
machine may be busy with something else), those from the first request to the last evaluation, and
the peak memory of the process. Each round is done twice: as it is, and with a drive that checks
nothing while it goes, so that everything is read in full at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

from failproof_es.configuration.loading import load_configuration
from failproof_es.engine import start
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.store.store import Store
from tests.acceptance.commands import mock_server, write_configuration, write_suite
from tests.benchmarks.servers import benchmark_store

GATES = {"min_accuracy": 0.0, "max_cost_usd": 1_000.0}
PRICE = {"model": "mock", "input_usd_per_million": 1.0, "output_usd_per_million": 1.0}
LAST_WORDS = ("RunCompleted", "RunValidated", "RunSealed")


def _once(url: str, base_url: str, cases: int, in_full: bool, queue: object) -> None:
    """One run in a process of its own, so that its memory is its own."""
    if in_full:
        LiveChecks.begin = lambda *_: None  # type: ignore[method-assign]
    folder = Path(tempfile.mkdtemp())
    write_suite(folder, cases)
    configuration = write_configuration(
        folder,
        base_url,
        prompts={"path": str(folder / "suite.jsonl"), "dialect": "failproof"},
        execution={"parallel_workers": 100},
        gates=GATES,
        prices={"version": "2026-11-01", "models": [PRICE]},
    )
    now: dict[str, tuple[float, float, float]] = {}

    def observe(event: object) -> None:
        kind = type(event).__name__
        now[kind] = time.perf_counter(), time.process_time(), _peak_mb()
        now.setdefault(f"first {kind}", now[kind])

    with Store.open(url) as store:
        loaded = load_configuration(configuration)
        asyncio.run(start(loaded, store, observe=observe, stop=asyncio.Event(), say=print))
    began, cpu, before = now["Scored"]
    taken = [(kind, now[kind][0] - began, now[kind][1] - cpu) for kind in LAST_WORDS]
    queue.put((taken, cpu - now["first RequestSent"][1], before, _peak_mb()))  # type: ignore[attr-defined]


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    for turn in range(2 * arguments.rounds):
        in_full = turn % 2 == 1
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        with mock_server(0) as base_url, benchmark_store() as url:
            given = (url, base_url, arguments.cases, in_full, queue)
            process = context.Process(target=_once, args=given)
            process.start()
            taken, driven, before, peak = queue.get(timeout=1200)
            process.join()
        said = ", ".join(f"{kind} after {s:.2f} s ({cpu:.2f} s of CPU)" for kind, s, cpu in taken)
        print(
            f"{arguments.cases:,} cases, {'read in full' if in_full else 'checked live'}: "
            f"{driven:.2f} s of CPU for the evaluations; {said}; "
            f"peak {before:.0f} MB before, {peak:.0f} MB after",
            flush=True,
        )


if __name__ == "__main__":
    main()
