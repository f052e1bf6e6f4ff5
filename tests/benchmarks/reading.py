"""What reading costs, with more and more beside what is read; as ratios to the smallest.

`python -m tests.benchmarks.reading [--runs 10,5000] [--evaluations 1000,10000,100000]`

A run of so many evaluations is read with so many runs of one evaluation beside it: the list of
the newest runs, one summary, a page of outcomes at the end of the plan, the number of a new run,
and what asks of other runs when one begins. The log's fold is measured where it is small enough.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import islice
from typing import Any
from uuid import UUID, uuid4

from failproof_es.reading.log import LogFeeder
from failproof_es.reading.recorded_run import RecordedRun, feeder_for
from failproof_es.store.experiments import runs_that_ask
from failproof_es.store.reader import Connection
from failproof_es.store.store import Store
from projections.runner import catch_up, prepare
from tests.benchmarks.rebuild import begun, history
from tests.benchmarks.servers import benchmark_store

PAGE = 20
BATCH = 4_000
ROUNDS = 7
SMALL = 10_000
"""So many evaluations are folded from the log, too."""


def fill(store: Store, run_id: UUID, number: int, evaluations: int) -> None:
    """A run in which each evaluation went well."""
    waiting, cases = begun(evaluations, run_id, number)
    with store.connect() as connection:
        connection.execute("SELECT failproof.number_run(%s)", (run_id,))
    for case in cases:
        waiting.extend(history(case, run_id))
        if len(waiting) >= BATCH:
            store.log.events.put(waiting)
            waiting = []
    store.log.events.put(waiting)


def took_ms(do: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The median of a few times."""
    do()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        do()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def measure(connection: Connection, run_id: UUID, evaluations: int) -> dict[str, float]:
    """Milliseconds of each way to read."""
    feeder = feeder_for(connection)
    assert feeder.source == "projections", feeder.warning
    run = RecordedRun(connection, feeder.run(run_id), feeder)
    found = {
        "nothing new": took_ms(lambda: feeder_for(connection)),
        "runs --limit 20": took_ms(lambda: list(feeder.summaries(limit=PAGE))),
        "show": took_ms(lambda: feeder.summary(feeder.run(run_id))),
        "first 20 results": took_ms(lambda: list(run.outcomes(limit=PAGE))),
        "last 20 results": took_ms(lambda: list(run.outcomes(after=evaluations - PAGE))),
        "runs that ask": took_ms(lambda: list(runs_that_ask(connection)), 3),
    }

    def numbered() -> None:
        with connection.transaction(force_rollback=True):
            connection.execute("SELECT failproof.number_run(%s)", (uuid4(),))

    found["number of a run"] = took_ms(numbered)
    if evaluations <= SMALL:
        log = LogFeeder(connection)
        found["show, by the log"] = took_ms(lambda: log.summary(log.run(run_id)), 1)
        found["runs by the log"] = took_ms(lambda: list(islice(log.summaries(), PAGE)), 1)
    return found


def one(runs: int, evaluations: int) -> dict[str, float]:
    """What reading costs beside so many runs, of a run of so many evaluations."""
    with benchmark_store() as url, Store.open(url) as store:
        run_id = uuid4()
        fill(store, run_id, 1, evaluations)
        for number in range(runs):
            fill(store, uuid4(), number + 2, 1)
        with store.connect() as connection:
            prepare(connection)
            while catch_up(connection):
                pass
            connection.execute("ANALYZE")
            return measure(connection, run_id, evaluations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", default="10,5000")
    parser.add_argument("--evaluations", default="1000,10000,100000")
    arguments = parser.parse_args()
    runs = [int(each) for each in arguments.runs.split(",")]
    evaluations = [int(each) for each in arguments.evaluations.split(",")]
    sizes = [(runs[0], each) for each in evaluations] + [
        (each, evaluations[0]) for each in runs[1:]
    ]
    smallest: dict[str, float] = {}
    for beside, size in sizes:
        found = one(beside, size)
        smallest = smallest or found
        print(f"{beside:,} runs beside, {size:,} evaluations in the run")
        for name, ms in found.items():
            ratio = ms / smallest[name] if name in smallest else float("nan")
            print(f"  {name}: {ms:,.1f} ms, {ratio:.2f} of the smallest")


if __name__ == "__main__":
    main()
