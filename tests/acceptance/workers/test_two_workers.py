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
    slowly(folder, url)
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


def slowly(folder: Path, url: str) -> None:
    """So that a worker is met while it works: four requests at once, of 100 ms each."""
    execution = {"parallel_workers": 4, "retry_attempts": 2, "retry_delay_ms": 10}
    write_configuration(folder, url, execution=execution)


def end_of(process: subprocess.Popen[bytes], seconds: float = 90) -> str:
    """What it said until it left. It must leave without an error."""
    _, said = process.communicate(timeout=seconds)
    assert process.returncode == 0, said.decode()
    return said.decode()


def test_a_killed_worker_and_one_that_was_stopped_are_replaced(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=100) as url:
        plan(store, tmp_path, url)
        killed, stopped, third = (
            begin_worker(workers, store, tmp_path, "--run", "1", "--drain") for _ in range(3)
        )
        wait_until(store, "WorkerJoined", 3)
        wait_until(store, "RequestSent", 60)
        os.kill(stopped.pid, signal.SIGSTOP)
        since = time.monotonic()
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        time.sleep(max(0.0, 18 - (time.monotonic() - since)))  # longer than its lease lasts
        os.kill(stopped.pid, signal.SIGCONT)
        end_of(third)
        end_of(stopped)
        assert count(store, "RunSealed") == count(store, "RunCompleted") == 1
        assert count(store, "AttemptLost") > 0, "what was under way was lost"
        require_exactly_once(store, url)
    verified = run(store.url, "verify", "1", cwd=tmp_path)
    assert verified.returncode in (0, 3), verified.stderr


def test_ctrl_c_drains_one_worker_and_the_other_goes_on(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=100) as url:
        plan(store, tmp_path, url, cases=120)
        first, second = (begin_worker(workers, store, tmp_path, "--drain") for _ in range(2))
        wait_until(store, "WorkerJoined", 2)
        os.kill(first.pid, signal.SIGINT)
        assert "leaving after the requests in flight" in end_of(first)
        end_of(second)
        require_exactly_once(store, url, cases=120)
        assert count(store, "AttemptLost") == 0, "requests in flight were awaited"
        assert count(store, "RunPaused") == 0
        assert count(store, "RunSealed") == 1


def test_ctrl_c_on_the_run_drains_its_workers_and_pauses_it(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=100) as url:
        write_suite(tmp_path, 120)
        slowly(tmp_path, url)
        process = begin(store.url, "start", "run.yaml", "--workers", "2", cwd=tmp_path)
        workers.callback(process.wait)
        wait_until(store, "Scored", 5)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said.decode()
        assert count(store, "RunPaused") == 1
        assert count(store, "AttemptLost") == 0
        again = run(store.url, "resume", "1", "--workers", "2", "--quiet", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        require_exactly_once(store, url, cases=120)
        assert (count(store, "RunResumed"), count(store, "RunSealed")) == (1, 1)


def test_a_run_is_driven_by_workers_or_by_one_process_alone(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=100) as url:
        write_suite(tmp_path, 120)
        slowly(tmp_path, url)
        alone = begin(store.url, "start", "run.yaml", cwd=tmp_path)
        workers.callback(alone.wait)
        wait_until(store, "Scored", 1)
        refused = run(store.url, "resume", "1", "--detach", cwd=tmp_path)
        assert (refused.returncode, "is being driven" in refused.stderr) == (1, True)
        joined = run(store.url, "worker", "--run", "1", "--drain", cwd=tmp_path)
        assert (joined.returncode, "not open for workers" in joined.stderr) == (2, True)
        os.kill(alone.pid, signal.SIGINT)
        alone.communicate(timeout=60)
        assert run(store.url, "resume", "1", "--detach", cwd=tmp_path).returncode == 0
        worker = begin_worker(workers, store, tmp_path, "--drain")
        wait_until(store, "WorkerJoined", 1)
        wait_until(store, "Scored", count(store, "Scored") + 1)
        refused = run(store.url, "resume", "1", cwd=tmp_path)
        assert (refused.returncode, "is being driven" in refused.stderr) == (1, True)
        end_of(worker)
        require_exactly_once(store, url, cases=120)
        assert count(store, "AttemptLost") == 0


def test_a_worker_leaves_a_run_whose_models_it_cannot_reach_to_others(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=0) as url:
        plan(store, tmp_path, url, cases=40)
    first, second = (begin_worker(workers, store, tmp_path, "--drain") for _ in range(2))
    assert "cannot be driven here" in end_of(first) + end_of(second), "its server is gone"
    assert count(store, "RequestSent") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("start", "run.yaml", "--workers", "0"), "--workers"),
        (("start", "run.yaml", "--workers", "two"), "--workers"),
        (("start", "run.yaml", "--workers", "2", "--detach"), "--detach"),
        (("resume", "1", "--retry-abandoned", "--workers", "2"), "--workers"),
        (("worker", "--run", "99"), "99"),
        (("worker", "--provider", "nobody"), "nobody"),
        (("worker", "--max-shards", "0"), "--max-shards"),
    ],
    ids=str,
)
def test_wrong_input_is_refused_before_anything_is_sent(
    store: Store, tmp_path: Path, mock_url: str, arguments: tuple[str, ...], said: str
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    before = count(store, "RequestSent")
    refused = run(store.url, *arguments, cwd=tmp_path)
    assert refused.returncode == 2, refused.stderr
    assert said in refused.stderr
    assert count(store, "RequestSent") == before
