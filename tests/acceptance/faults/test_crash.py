"""Killed anywhere, resumed, complete: nothing recorded is asked again, nothing is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from failproof_es.engine.driver import Driver
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    PROGRAM,
    Process,
    asked,
    begin,
    environment,
    hurry,
    invoke,
    kill_group,
    mock_server,
    run,
    stop_amid_requests,
    write_configuration,
    write_suite,
)

CASES = 160
DRAINED = 60
KILLS = 6
SEED = 20261121


def events(store: Store, topic: str) -> int:
    with store.lend() as connection:
        row = connection.execute(
            "SELECT count(*) FROM failproof.stored_events WHERE topic = %s", (topic,)
        ).fetchone()
    return int(row[0]) if row else 0


def wait_for_a_run(store: Store) -> None:
    deadline = time.monotonic() + 30
    while events(store, "RunStarted") == 0:
        assert time.monotonic() < deadline, "the run did not start"
        time.sleep(0.05)


def wait_for_requests(url: str) -> None:
    """Until the server is asked more than it was."""
    before = sum(asked(url).values())
    deadline = time.monotonic() + 30
    while sum(asked(url).values()) == before:
        assert time.monotonic() < deadline, "nothing more is asked"
        time.sleep(0.02)


def complete(store: Store, folder: Path) -> subprocess.CompletedProcess[str]:
    finished = run(store.url, "resume", "latest", "--quiet", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    return finished


def check_the_record(store: Store, *urls: str) -> None:
    """What issue and guarantees promise of a run that was killed and resumed."""
    assert events(store, "Scored") == CASES
    with store.connect() as connection:
        finals = connection.execute(
            "SELECT count(*), count(DISTINCT originator_id) FROM failproof.stored_events "
            "WHERE topic IN ('Scored', 'EvaluationAbandoned')"
        ).fetchone()
        assert finals == (CASES, CASES), "each evaluation has exactly one final event"
        answered_again = connection.execute(
            "SELECT count(*) FROM failproof.event_log answer JOIN failproof.event_log request "
            "ON request.stream_id = answer.stream_id AND request.event_type = 'RequestSent' "
            "AND request.stream_version > answer.stream_version "
            "WHERE answer.event_type = 'ResponseReceived'"
        ).fetchone()
        assert answered_again == (0,), "a recorded response is never asked for again"
        orphaned_without_retry = connection.execute(
            "SELECT count(*) FROM failproof.event_log orphaned "
            "WHERE orphaned.event_type = 'AttemptOrphaned' AND NOT EXISTS ("
            "SELECT FROM failproof.event_log r WHERE r.stream_id = orphaned.stream_id "
            "AND r.event_type = 'RequestSent' AND r.stream_version > orphaned.stream_version "
            "AND (r.payload ->> 'attempt')::int = (orphaned.payload ->> 'attempt')::int + 1)"
        ).fetchone()
        assert orphaned_without_retry == (0,), "each orphaned request is followed by one more"
    counts = [count for url in urls for count in asked(url).values()]
    assert len(counts) == CASES
    # A request may be on record and never have reached the server: the process died between.
    repeats = sum(counts) - CASES
    assert repeats <= events(store, "AttemptOrphaned")
    assert sum(counts) <= events(store, "RequestSent")
    assert events(store, "RequestSent") == CASES + events(store, "AttemptOrphaned")


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed(store: Store, tmp_path: Path) -> None:
    """With two servers, so that two lanes of evaluations are taken up again each time."""
    moments = random.Random(SEED)
    with mock_server(latency_ms=200) as url, mock_server(latency_ms=200) as other:
        write_suite(tmp_path, CASES // 2)
        execution = {"parallel_workers": 4, "retry_attempts": 2, "retry_delay_ms": 10}
        models = [
            {"provider": "openai", "base_url": each, "model": name}
            for each, name in ((url, "mock"), (other, "mock-two"))
        ]
        write_configuration(tmp_path, url, models=models, execution=execution)
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        wait_for_a_run(store)
        for kill in range(KILLS):
            if kill % 3 == 0:
                time.sleep(moments.uniform(0.0, 0.4))  # anywhere, also while it starts
            else:
                wait_for_requests(url)
                time.sleep(moments.uniform(0.0, 0.15))
            kill_group(process)
            process = begin(store.url, "resume", "latest", "--quiet", cwd=tmp_path)
        stop_amid_requests(store, process)
        kill_group(process)
        hurry(url)
        hurry(other)
        complete(store, tmp_path)
        check_the_record(store, url, other)
        assert events(store, "AttemptOrphaned") > 0
        replayed = run(store.url, "replay", "latest", cwd=tmp_path)
        assert replayed.returncode == 0, replayed.stdout + replayed.stderr


class Killed(BaseException):
    """What nothing catches, in place of a SIGKILL."""


@pytest.mark.slow
def test_a_run_that_died_after_its_plan_has_its_prices(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise Killed

    write_suite(tmp_path, 1)
    listed = {"model": "mock", "input_usd_per_million": 1, "output_usd_per_million": 2}
    with mock_server(0) as url:
        prices = {"version": "2026-11-21", "models": [listed]}
        write_configuration(tmp_path, url, prices=prices)
        with monkeypatch.context() as patched:
            patched.setattr(Driver, "drive", killed)
            with pytest.raises(Killed):
                invoke(store.url, "start", "run.yaml", cwd=tmp_path)
        with store.connect() as connection:
            found = connection.execute("SELECT model_key, price_version FROM failproof.price_list")
            assert found.fetchall() == [("mock", "price list of 2026-11-21")]
        assert invoke(store.url, "resume", "latest", cwd=tmp_path).exit_code == 0


@pytest.mark.slow
def test_the_database_server_killed_under_the_run(
    postgres_server: EmbeddedServer, store: Store, tmp_path: Path
) -> None:
    with mock_server(latency_ms=100) as url:
        write_suite(tmp_path, CASES)
        execution = {"parallel_workers": 8, "retry_attempts": 2, "retry_delay_ms": 10}
        write_configuration(tmp_path, url, execution=execution)
        process = begin(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        wait_for_a_run(store)
        for _ in range(3):
            time.sleep(0.4)
            pid = postgres_server.status().pid
            assert pid is not None
            psutil.Process(pid).kill()
            time.sleep(0.2)
            postgres_server.ensure_running()
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr.decode()
        check_the_record(store, url)


def test_a_signal_drains_what_is_in_flight_and_says_how_to_resume(
    store: Store, tmp_path: Path
) -> None:
    with mock_server(latency_ms=400) as url:
        write_suite(tmp_path, DRAINED)
        write_configuration(tmp_path, url, execution={"parallel_workers": 4})
        process = begin(store.url, "start", "run.yaml", cwd=tmp_path)
        require_drained(store, url, process, signal.SIGINT, times=1)
        process = begin(store.url, "resume", "1", cwd=tmp_path)
        require_drained(store, url, process, signal.SIGTERM, times=2)
        process = begin_for_hangups(store, tmp_path)
        require_drained(store, url, process, signal.SIGHUP, times=3)
        hurry(url)
        finished = run(store.url, "resume", "1", "--quiet", cwd=tmp_path)
        assert finished.returncode == 0, finished.stderr
        assert events(store, "Scored") == DRAINED
        assert events(store, "AttemptOrphaned") == 0


def require_drained(
    store: Store, url: str, process: Process, number: signal.Signals, times: int
) -> None:
    wait_for_requests(url)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, (number, stderr.decode())
    assert "failproof-es resume 1" in stderr.decode(), number
    assert events(store, "RunPaused") == times
    assert events(store, "RequestSent") == events(store, "ResponseReceived"), number


def begin_for_hangups(store: Store, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*PROGRAM, "resume", "1"],
        env=environment(store.url), cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        # Whoever runs the tests may ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )  # fmt: skip
