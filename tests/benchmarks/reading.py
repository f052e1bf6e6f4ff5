"""What reading costs, with more and more beside what is read; as ratios to the smallest.

`python -m tests.benchmarks.reading [--runs 10,500,5000] [--evaluations 1000,10000,100000]`

A run of so many evaluations is read with so many runs of one evaluation beside it. A third of
those ask what the run asks, too, a third one other thing, and each of the rest something of its
own. In process: milliseconds on the clock, and of processor time, the program's and its server
process's. The commands from shell to shell: milliseconds on the clock, the fewest of a few.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psutil

from failproof_es.cli.output import Format
from failproof_es.cli.runs import listed
from failproof_es.cli.show import show_run
from failproof_es.engine.asked_cases import AskedCases
from failproof_es.events import RunStarted
from failproof_es.reading.recorded_run import RecordedRun, feeder_for
from failproof_es.store.experiments import note
from failproof_es.store.reader import Connection
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare
from tests.benchmarks.rebuild import asked_of, begun, history
from tests.benchmarks.servers import benchmark_store

PAGE = 20
BATCH = 4_000
ROUNDS = 9
CALLS = 3
ASKED = 20
"""So many cases has a run that is begun."""


@dataclass
class Filler:
    """Writes runs in which each evaluation went well, as the engine writes them."""

    store: Store
    connection: Connection
    number: int = 0
    stored: frozenset[object] = frozenset()

    def fill(self, evaluations: int, topic: object = None) -> UUID:
        """One run; with a topic it asks the cases about it, else some of its own."""
        self.number += 1
        run_id = uuid4()
        waiting, cases = begun(evaluations, run_id, self.number, topic, stored=topic in self.stored)
        self.stored |= {topic} - {None}
        self.connection.execute("SELECT failproof.number_run(%s)", (run_id,))
        for case in cases:
            waiting.extend(history(case, run_id))
            if len(waiting) >= BATCH:
                self.store.log.events.put(waiting)
                waiting = []
        if waiting:
            self.store.log.events.put(waiting)
        return run_id

    def beside(self, runs: int) -> None:
        """Runs of one evaluation each. The topic `read` is what the run that is read asks."""
        for number in range(runs):
            self.fill(1, ("read", "another", None)[number % 3])

    def finish(self) -> None:
        """Everything that follows the log stands at its head."""
        note(self.connection)
        prepare(self.connection)
        while catch_up(self.connection):
            pass


@contextlib.contextmanager
def filled(runs: int, evaluations: int) -> Iterator[tuple[Store, Connection, UUID]]:
    """A log with a run of so many evaluations, and so many small runs beside it."""
    with benchmark_store() as url, Store.open(url) as store, store.connect() as connection:
        filler = Filler(store, connection)
        run_id = filler.fill(evaluations, "read")
        filler.beside(runs)
        filler.finish()
        connection.execute("ANALYZE")
        yield store, connection, run_id


def readings(store: Store, connection: Connection, run_id: UUID) -> dict[str, Callable[[], Any]]:
    """Each way to read, as the commands do, without the start of Python."""
    evaluations = RecordedRun.read(connection, run_id).started.planned_evaluations

    def page(after: int) -> list[Any]:
        run = RecordedRun.read(connection, run_id)
        return list(run.outcomes(after=after, limit=PAGE))

    def show() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            show_run(RecordedRun.read(connection, run_id), Format.JSON)

    return {
        "nothing new": lambda: feeder_for(connection),
        "runs --limit 20": lambda: list(listed(connection, PAGE)),
        "show": show,
        "results --limit 20": lambda: page(0),
        "the last page of results": lambda: page(max(evaluations - PAGE, 0)),
        "a start, until RunStarted is on record": lambda: begin(store),
    }


def begin(store: Store) -> RunStarted:
    """Begin a run that asks something of its own, as `start` does once all is checked."""
    run_id = uuid4()
    events, _ = begun(ASKED, run_id)
    store.log.events.put(events[:ASKED])
    first, *planned = events[ASKED:]
    assert isinstance(first, RunStarted)
    asked = AskedCases()
    for case in asked_of(ASKED, run_id):
        asked.add(case.digest(), case)
    return store.begin_run(first, planned, asked.plan)


def took(connection: Connection, do: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds on the clock and of processor time, the medians of a few times."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    server, clock, processor = psutil.Process(row[0]), [], []
    do()
    for _ in range(ROUNDS):
        spent = server.cpu_times()
        began, before = time.perf_counter(), time.process_time()
        do()
        clock.append((time.perf_counter() - began) * 1000)
        after = server.cpu_times()
        ours = time.process_time() - before
        theirs = after.user - spent.user + after.system - spent.system
        processor.append((ours + theirs) * 1000)
    return statistics.median(clock), statistics.mean(processor)


def commands(url: str, folder: Path, evaluations: int) -> dict[str, float]:
    """Milliseconds from shell to shell; the fewest of a few."""
    (folder / "model.py").write_text(
        "class Model:\n    def __init__(self, *a, **k): pass\n"
        "    def get_completion(self, prompt, params): return '1'\n"
    )
    (folder / "suite.jsonl").write_text(
        json.dumps({"case_id": "1", "suite_id": "s", "prompt": "1", "expected_response": "1"})
    )
    (folder / "run.yaml").write_text(
        json.dumps(
            {
                "test_run": {"name": "begun"},
                "models": [{"provider": "python", "model": "m", "class": "model:Model"}],
                "prompts": {"path": "suite.jsonl"},
            }
        )
    )
    size = str(max(evaluations - PAGE, 1))
    told: dict[str, tuple[str, ...]] = {
        "$ runs --limit 20": ("runs", "--limit", str(PAGE)),
        "$ show 1": ("show", "1"),
        "$ results 1 --limit 20": ("results", "1", "--limit", str(PAGE)),
        "$ results 1 --limit 20 --after, the last page": (
            "results", "1", "--limit", str(PAGE), "--after", size,
        ),
        "$ start of one case": ("start", "run.yaml", "--quiet"),
        "$ runs": ("runs",),
    }  # fmt: skip
    home = {**os.environ, "HOME": str(folder), "FAILPROOF_ES_DATABASE_URL": url}
    found = {}
    for name, words in told.items():
        times = []
        for _ in range(CALLS):
            began = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "failproof_es.cli", *words],
                cwd=folder, env=home, capture_output=True, text=True, check=False,
            )  # fmt: skip
            times.append((time.perf_counter() - began) * 1000)
            assert done.returncode in (0, 1), done.stderr
        found[name] = min(times[1:])
    return found


def one(runs: int, evaluations: int, *, shell: bool) -> dict[str, tuple[float, ...]]:
    """What reading costs beside so many runs, of a run of so many evaluations."""
    with (
        filled(runs, evaluations) as (store, connection, run_id),
        tempfile.TemporaryDirectory() as folder,
    ):
        sign(store.url, Path(folder))
        found: dict[str, tuple[float, ...]] = {
            name: took(connection, do) for name, do in readings(store, connection, run_id).items()
        }
        if shell:
            for name, ms in commands(store.url, Path(folder), evaluations).items():
                found[name] = (ms,)
        return found


def sign(url: str, folder: Path) -> None:
    """Put the log under a checkpoint, as every run does at its end."""
    subprocess.run(
        [sys.executable, "-m", "failproof_es.cli", "ledger", "checkpoint"],
        cwd=folder, check=True, capture_output=True,
        env={**os.environ, "HOME": str(folder), "FAILPROOF_ES_DATABASE_URL": url},
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", default="10,500,5000")
    parser.add_argument("--evaluations", default="1000,10000,100000")
    parser.add_argument("--no-shell", action="store_true")
    arguments = parser.parse_args()
    runs = [int(each) for each in arguments.runs.split(",")]
    evaluations = [int(each) for each in arguments.evaluations.split(",")]
    sizes = [(runs[0], each) for each in evaluations] + [
        (each, evaluations[0]) for each in runs[1:]
    ]
    smallest: dict[str, tuple[float, ...]] = {}
    for beside, size in sizes:
        began = time.perf_counter()
        found = one(beside, size, shell=not arguments.no_shell)
        smallest = smallest or found
        took_s = time.perf_counter() - began
        print(f"{beside:,} runs beside, {size:,} evaluations in the run ({took_s:,.0f} s)")
        for name, ms in found.items():
            told = " / ".join(
                f"{each:,.1f} ms ({each / least:.2f})" if least else f"{each:,.1f} ms"
                for each, least in zip(ms, smallest[name], strict=True)
            )
            print(f"  {name}: {told}", flush=True)


if __name__ == "__main__":
    main()
