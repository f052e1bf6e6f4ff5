"""Worker processes in tests: beginning them, and what their runs must have recorded."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import orjson

from failproof_es.store.store import Store
from tests.acceptance.commands import Process, asked, begin, run, write_configuration, write_suite

CASES = 300


def count(store: Store, topic: str) -> int:
    with store.lend() as connection:
        row = connection.execute(
            "SELECT count(*) FROM failproof.stored_events WHERE topic = %s", (topic,)
        ).fetchone()
    return int(row[0]) if row else 0


def wait_until(store: Store, topic: str, at_least: int, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while (recorded := count(store, topic)) < at_least:
        assert time.monotonic() < deadline, f"{recorded} of {at_least} {topic}"
        time.sleep(0.1)


def require_exactly_once(store: Store, url: str, cases: int = CASES) -> None:
    """Each evaluation has one end, and the server was asked once more for each lost attempt."""
    with store.connect() as connection:
        finals = connection.execute(
            "SELECT count(*), count(DISTINCT originator_id) FROM failproof.stored_events "
            "WHERE topic IN ('Scored', 'EvaluationAbandoned')"
        ).fetchone()
    assert finals == (cases, cases)
    assert count(store, "ResponseReceived") == cases, "a recorded answer is never asked for again"
    repeats = sum(times - 1 for times in asked(url).values())
    lost = count(store, "AttemptOrphaned")
    assert repeats <= lost, (
        f"{repeats} repeats at the server, and {lost} attempts on record as lost"
    )
    assert sum(asked(url).values()) >= cases


def begin_worker(
    stack: ExitStack, store: Store, folder: Path, *options: str, **more: str
) -> Process:
    process = begin(store.url, "worker", *options, cwd=folder, **more)

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stderr is not None
        process.stderr.close()

    stack.callback(end)
    return process


def plan(store: Store, folder: Path, url: str, cases: int = CASES, **more: str) -> None:
    write_suite(folder, cases)
    slowly(folder, url)
    how = ("run.yaml", "--detach", "--quiet", "--json")
    done = run(store.url, "start", *how, cwd=folder, **more)
    assert done.returncode == 0, done.stderr
    assert orjson.loads(done.stdout)["status"] == "running"


def slowly(folder: Path, url: str) -> None:
    """So that a worker is met while it works: four requests at once, of 100 ms each."""
    execution = {"parallel_workers": 4, "retry_attempts": 2, "retry_delay_ms": 10}
    write_configuration(folder, url, execution=execution)


def end_of(process: Process, seconds: float = 90, *, code: int = 0) -> str:
    """What it said until it left. It must leave with this exit code."""
    _, said = process.communicate(timeout=seconds)
    assert process.returncode == code, said.decode()
    return said.decode()
