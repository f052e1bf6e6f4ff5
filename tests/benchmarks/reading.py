"""What reading costs, with more and more beside what is read; as ratios to the smallest.

`python -m tests.benchmarks.reading [--runs 10,500,5000] [--evaluations 1000,100000,1000000]`

A run of so many evaluations is read with so many runs of three evaluations beside it. A third of
those ask what the run asks, too, a third other things, and each of the rest something of its
own. The run that is read is copied inside the database: `filling.py` says how. The log is
under a checkpoint, vacuumed and analysed, as one is that grew slowly, and autovacuum rests.

In process (without the start of Python) and from shell to shell: milliseconds on the clock, the
median, and of processor time, the mean, of the program and all of its server processes together.
Of `start`, when its first events are on record, from shell: by the database's clock. In brackets
the ratio to the smallest log of the same sitting.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg

from failproof_es.cli.commands.show import show_run
from failproof_es.cli.rendering.output import Format
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.events import RunStarted
from failproof_es.reading.listed_runs import list_runs
from failproof_es.reading.recorded_run import RecordedRun, reader_for
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import Connection
from failproof_es.store.schema.installation import WRITER
from failproof_es.store.store import Store
from tests.benchmarks.filling import Filler
from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes
from tests.benchmarks.rebuild import asked_of, begun
from tests.benchmarks.servers import benchmark_server
from tests.benchmarks.watch import sessions_s

PAGE = 20
ROUNDS = 11
LONGEST_MS = 10_000
"""What takes longer is done fewer times."""
CALLS = 2
ASKED = 20
"""So many cases has a run that is begun."""
BESIDE = 3
"""So many evaluations has each run beside."""


class Took(NamedTuple):
    """Milliseconds."""

    clock: float
    processor: float | None = None


@dataclass(frozen=True)
class Servers:
    """The processor time of a database server: of all sessions, and of those that have ended."""

    server: EmbeddedServer

    def ms(self) -> float:
        """Milliseconds until now, without what writes and vacuums behind the sessions' backs."""
        status = self.server.status()
        assert status.pid is not None
        return sessions_s(status.pid) * 1000


@contextlib.contextmanager
def filled(
    runs: int, evaluations: int, folder: Path
) -> Iterator[tuple[Store, Connection, UUID, Servers]]:
    """A log with a run of so many evaluations, and so many small runs beside it.

    The folder keeps the key that its checkpoints are signed with.
    """
    with benchmark_server() as server:
        store = Store(server.url_as(WRITER))
        with store, store.connect() as connection:
            with psycopg.connect(server.url, autocommit=True) as administrator:
                filler = Filler(store, connection)
                run_id = filler.copied(administrator, evaluations, "read")
                filler.beside(runs, BESIDE)
                filler.finish()
                administrator.execute("ALTER SYSTEM SET autovacuum = off")
                administrator.execute("SELECT pg_reload_conf()")
            sign(server, folder)
            with psycopg.connect(server.url, autocommit=True) as administrator:
                administrator.execute("VACUUM (ANALYZE)")
                administrator.execute("CHECKPOINT")
            yield store, connection, run_id, Servers(server)


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
        "nothing new": lambda: reader_for(connection),
        "runs": lambda: list(list_runs(connection, reader_for(connection), limit=PAGE + 1)),
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
    asked = PlannedCases()
    for case in asked_of(ASKED, run_id):
        asked.add(case.digest(), case)
    return store.begin_run(first, planned, asked.questions_asked)


def took(servers: Servers, do: Callable[[], Any]) -> Took:
    """The clock's median, and the mean of processor time."""
    do()
    clock: list[float] = []
    spent, before = servers.ms(), time.process_time()
    while len(clock) < ROUNDS and sum(clock) < LONGEST_MS:
        began = time.perf_counter()
        do()
        clock.append((time.perf_counter() - began) * 1000)
    ours = (time.process_time() - before) * 1000
    return Took(statistics.median(clock), (ours + servers.ms() - spent) / len(clock))


def commands(
    store: Store, connection: Connection, servers: Servers, folder: Path, evaluations: int
) -> Iterator[tuple[str, Took]]:
    """From shell to shell."""
    (folder / "model.py").write_text(
        "class Model:\n    def __init__(self, *a, **k): pass\n"
        "    def get_completion(self, prompt, params): return '1'\n"
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
    last = str(evaluations - PAGE)
    told: dict[str, tuple[str, ...]] = {
        "$ runs": ("runs",),
        "$ show 1": ("show", "1"),
        "$ results 1 --limit 20": ("results", "1", "--limit", str(PAGE)),
        "$ results 1 --limit 20 --after, the last page": (
            "results", "1", "--limit", str(PAGE), "--after", last,
        ),
    }  # fmt: skip
    for name, words in told.items():
        yield name, _commands(store.url, servers, folder, words)
    started = []

    def suite() -> None:
        """Other cases each time."""
        content = "".join(
            json.dumps(
                {
                    "case_id": str(n), "suite_id": "s", "prompt": f"{n} of {uuid4()}",
                    "expected_response": "1",
                }
            )
            + "\n"
            for n in range(ASKED)
        )  # fmt: skip
        (folder / "suite.jsonl").write_text(content)
        started.append(time.time())

    took_all = _commands(store.url, servers, folder, ("start", "run.yaml", "--quiet"), suite)
    reached = connection.execute(
        "SELECT extract(epoch FROM e.recorded_at), extract(epoch FROM ("
        "  SELECT min(sent.recorded_at) FROM failproof.stored_events AS sent"
        "  WHERE sent.run_id = l.run_id AND sent.topic = 'RequestSent'"
        ")) FROM failproof.run_list AS l JOIN failproof.stored_events AS e"
        "  ON e.originator_id = l.run_id AND e.originator_version = 1"
        " ORDER BY l.run_number DESC LIMIT %s",
        (len(started),),
    ).fetchall()[::-1]
    begun_ms = [
        (float(run) - began) * 1000 for (run, _), began in zip(reached, started, strict=True)
    ]
    sent_ms = [float(sent - run) * 1000 for run, sent in reached]
    yield f"$ start of {ASKED} cases, until RunStarted", Took(statistics.median(begun_ms[1:]))
    yield "  from there to the first RequestSent", Took(statistics.median(sent_ms[1:]))
    yield "  all of it", took_all


def _commands(
    url: str,
    servers: Servers,
    folder: Path,
    words: tuple[str, ...],
    before: Callable[[], None] = lambda: None,
) -> Took:
    """A command a few times; the first of them counts for nothing."""
    home = {**os.environ, "HOME": str(folder), "FAILPROOF_ES_DATABASE_URL": url}
    clock, processor = [], []
    for _ in range(CALLS + 1):
        before()
        spent, children = servers.ms(), _children_ms()
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "failproof_es.cli", *words],
            cwd=folder, env=home, capture_output=True, text=True, check=False,
        )  # fmt: skip
        clock.append((time.perf_counter() - began) * 1000)
        assert done.returncode in (0, 1), done.stderr
        time.sleep(0.05)  # its sessions end
        processor.append(_children_ms() - children + servers.ms() - spent)
    return Took(statistics.median(clock[1:]), statistics.mean(processor[1:]))


def _children_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def one(runs: int, evaluations: int, *, shell: bool) -> Iterator[tuple[str, Took]]:
    """What reading costs beside so many runs, of a run of so many evaluations."""
    with (
        tempfile.TemporaryDirectory() as home,
        filled(runs, evaluations, folder := Path(home)) as (store, connection, run_id, servers),
    ):
        for name, do in readings(store, connection, run_id).items():
            yield name, took(servers, do)
        if shell:
            yield from commands(store, connection, servers, folder, evaluations)


def sign(server: EmbeddedServer, folder: Path) -> None:
    """Make the key of the log, and put the log under a checkpoint, as every run does at its end."""
    command = [sys.executable, "-m", "failproof_es.cli"]
    for url, words in ((server.url, "db init"), (server.url_as(WRITER), "ledger checkpoint")):
        subprocess.run(
            [*command, *words.split()], cwd=folder, check=True, capture_output=True,
            env={**os.environ, "HOME": str(folder), "FAILPROOF_ES_DATABASE_URL": url},
        )  # fmt: skip


_HOW = (
    "In process, of a run of 20,000 evaluations beside 500 others; processor time of the program "
    "and of all server processes. The note has it of a run of 1,000 beside 10."
)
ROWS = tuple(
    Row(name, what, "ms", _HOW)
    for name, what in (
        ("reading-nothing", "reading: nothing new"),
        ("reading-runs", "reading: `runs`"),
        ("reading-show", "reading: `show`"),
        ("reading-results", "reading: `results --limit 20`"),
        ("reading-last-page", "reading: the last page of `results`"),
        ("reading-start", "a start, until `RunStarted` is on record"),
    )
)


@contextlib.contextmanager
def begin_measuring(python: str, sizes: Sizes) -> Iterator[Measure]:
    """A small log and a larger one for all rounds."""
    large = max(sizes.log_cases // 40, 3), sizes.log_cases
    small = max(large[0] // 50, 3), max(large[1] // 200 * 10, 20)
    with contextlib.ExitStack() as stack:
        logs = [
            stack.enter_context(
                filled(*size, Path(stack.enter_context(tempfile.TemporaryDirectory())))
            )
            for size in (small, large)
        ]
        yield lambda: _measure(logs)


def _measure(logs: Sequence[tuple[Store, Connection, UUID, Servers]]) -> Iterator[Measurement]:
    each = [
        [took(servers, do) for do in readings(store, connection, run_id).values()]
        for store, connection, run_id, servers in logs
    ]
    for row, least, most in zip(ROWS, *each, strict=True):
        note = f"{least.processor:,.1f} ms in the small log"
        yield Measurement(row.name, most.processor, most.clock / 1000, note=note)


BENCHMARKS = (Benchmark("reading", ROWS, begin_measuring, versions=False),)


def _told(ms: float | None, least: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms:10,.1f} ms" + (f" ({ms / least:.2f})" if least else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", default="10,500,5000")
    parser.add_argument("--evaluations", default="1000,100000,1000000")
    parser.add_argument("--no-shell", action="store_true")
    arguments = parser.parse_args()
    runs = [int(each) for each in arguments.runs.split(",")]
    evaluations = [int(each) for each in arguments.evaluations.split(",")]
    sizes = [(runs[0], evaluations[0])]
    sizes += [(each, evaluations[0]) for each in runs[1:]]
    sizes += [(runs[0], each) for each in evaluations[1:]]
    smallest: dict[str, Took] = {}
    for beside, size in sizes:
        began = time.perf_counter()
        print(f"{beside:,} runs beside, {size:,} evaluations in the run", flush=True)
        for name, found in one(beside, size, shell=not arguments.no_shell):
            least = smallest.setdefault(name, found)
            told = map(_told, found, least)
            print(f"  {name:48}{''.join(told)}", flush=True)
        print(f"  ({time.perf_counter() - began:,.0f} s)", flush=True)


if __name__ == "__main__":
    main()
