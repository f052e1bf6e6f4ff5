"""Several workers on one run: each evaluation is recorded once, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import (
    asked,
    begin,
    mock_server,
    run,
    write_configuration,
    write_suite,
)

CASES = 300


def count(store: Store, topic: str) -> int:
    with store.connect() as connection:
        row = connection.execute(
            "SELECT count(*) FROM failproof.stored_events WHERE topic = %s", (topic,)
        ).fetchone()
    return int(row[0]) if row else 0


def wait_until(store: Store, topic: str, at_least: int, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while count(store, topic) < at_least:
        assert time.monotonic() < deadline, f"{count(store, topic)} of {at_least} {topic}"
        time.sleep(0.05)


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
    lost = count(store, "AttemptLost")
    assert repeats <= lost, (
        f"{repeats} repeats at the server, and {lost} attempts on record as lost"
    )
    assert sum(asked(url).values()) >= cases


@pytest.fixture
def workers() -> Iterator[ExitStack]:
    """Processes that are gone when the test is."""
    with ExitStack() as stack:
        yield stack


def begin_worker(
    stack: ExitStack, store: Store, folder: Path, *options: str
) -> subprocess.Popen[bytes]:
    process = begin(store.url, "worker", *options, cwd=folder)

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stderr is not None
        process.stderr.close()

    stack.callback(end)
    return process


def plan(store: Store, folder: Path, url: str, cases: int = CASES) -> None:
    write_suite(folder, cases)
    write_configuration(folder, url)
    done = run(store.url, "start", "run.yaml", "--detach", "--quiet", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert orjson.loads(done.stdout)["status"] == "running"


def test_two_local_workers_drive_a_run(store: Store, tmp_path: Path) -> None:
    with mock_server(latency_ms=20) as url:
        write_suite(tmp_path, CASES)
        write_configuration(tmp_path, url)
        done = run(store.url, "start", "run.yaml", "--workers", "2", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        outcome = orjson.loads(done.stdout)
        assert (outcome["status"], outcome["counts"]["scored"]) == ("completed", CASES)
        assert outcome["intact"] is True
        assert count(store, "WorkerJoined") == count(store, "WorkerLeft") == 2
        assert count(store, "RunSealed") == 1
        require_exactly_once(store, url)
        assert count(store, "AttemptLost") == 0
    verified = run(store.url, "verify", "latest", cwd=tmp_path)
    assert verified.returncode in (0, 3), verified.stderr
