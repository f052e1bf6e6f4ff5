"""Several workers on one run: each evaluation is recorded once, whatever happens to a worker."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import orjson
import pytest

from failproof_es.cli.commands.local_workers import _forward_messages
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    begin,
    mock_server,
    run,
    stop_amid_requests,
    write_configuration,
    write_suite,
)
from tests.acceptance.workers.processes import (
    CASES,
    begin_worker,
    count,
    end_of,
    plan,
    require_exactly_once,
    slowly,
    wait_until,
)

LEASE_S = 3.0
"""As in storms: a worker that is stopped has to be so for longer."""


@pytest.mark.slow
@pytest.mark.wide
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
        assert count(store, "AttemptOrphaned") == 0
    verified = run(store.url, "verify", "latest", cwd=tmp_path)
    assert verified.returncode in (0, 3), verified.stderr


@pytest.mark.slow
def test_a_killed_worker_and_one_that_was_stopped_are_replaced(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=600) as url:
        plan(store, tmp_path, url, cases=200)
        how = ("--run", "1", "--drain", "--lease-seconds", f"{LEASE_S:g}")
        killed = begin_worker(workers, store, tmp_path, *how)
        wait_until(store, "RequestSent", 20)
        stop_amid_requests(store, killed)  # alone: it is its request that is lost
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        stopped, third = (begin_worker(workers, store, tmp_path, *how) for _ in range(2))
        wait_until(store, "WorkerJoined", 3)
        wait_until(store, "RequestSent", 60)
        os.kill(stopped.pid, signal.SIGSTOP)
        time.sleep(LEASE_S + 2)  # longer than its lease
        os.kill(stopped.pid, signal.SIGCONT)
        end_of(third)
        end_of(stopped)
        assert count(store, "RunSealed") == count(store, "RunCompleted") == 1
        assert count(store, "AttemptOrphaned") > 0, "what was under way was lost"
        require_exactly_once(store, url, cases=200)
    verified = run(store.url, "verify", "1", cwd=tmp_path)
    assert verified.returncode in (0, 3), verified.stderr


@pytest.mark.slow
def test_ctrl_c_drains_one_worker_and_the_other_goes_on(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=100) as url:
        plan(store, tmp_path, url, cases=120)
        # A request on record is not sent, and counts as lost, where its lease may have ended: on
        # a machine so busy that a worker does not renew it within 15 s.
        how = ("--drain", "--lease-seconds", "120")
        first, second = (begin_worker(workers, store, tmp_path, *how) for _ in range(2))
        wait_until(store, "WorkerJoined", 2)
        os.kill(first.pid, signal.SIGINT)
        assert "leaving after the requests in flight" in end_of(first)
        end_of(second)
        require_exactly_once(store, url, cases=120)
        assert count(store, "AttemptOrphaned") == 0, "requests in flight were awaited"
        assert count(store, "RunPaused") == 0
        assert count(store, "RunSealed") == 1


@pytest.mark.slow
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
        assert count(store, "AttemptOrphaned") == 0, said.decode()
        again = run(store.url, "resume", "1", "--workers", "2", "--quiet", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        require_exactly_once(store, url, cases=120)
        assert (count(store, "RunResumed"), count(store, "RunSealed")) == (1, 1)


@pytest.mark.slow
def test_a_run_is_driven_by_workers_or_by_one_process_alone(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=300) as url:
        write_suite(tmp_path, 80)
        execution = {"parallel_workers": 1, "retry_attempts": 2, "retry_delay_ms": 10}
        write_configuration(tmp_path, url, execution=execution)
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
        require_exactly_once(store, url, cases=80)
        assert count(store, "AttemptOrphaned") == 0


@pytest.mark.slow
def test_one_process_that_resumes_a_run_takes_it_from_workers(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    """Who drove it before is on record, and no worker takes it up again when that process stops."""
    with mock_server(latency_ms=100) as url:
        plan(store, tmp_path, url, cases=60)
        worker = begin_worker(workers, store, tmp_path, "--drain")
        wait_until(store, "Scored", 3)
        os.killpg(worker.pid, signal.SIGKILL)
        resumed = begin(store.url, "resume", "1", cwd=tmp_path)
        workers.callback(resumed.wait)
        wait_until(store, "RunResumed", 1)
        wait_until(store, "Scored", count(store, "Scored") + 1)
        os.kill(resumed.pid, signal.SIGINT)
        resumed.communicate(timeout=60)
        joined = run(store.url, "worker", "--run", "1", "--drain", cwd=tmp_path)
        assert (joined.returncode, "not open for workers" in joined.stderr) == (2, True)
        assert run(store.url, "resume", "1", "--quiet", cwd=tmp_path).returncode == 0
        require_exactly_once(store, url, cases=60)


@pytest.mark.slow
def test_a_worker_leaves_a_run_whose_models_it_cannot_reach_to_others(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=0) as url:
        plan(store, tmp_path, url, cases=40)
    both = [begin_worker(workers, store, tmp_path, "--drain") for _ in range(2)]
    for process in both:
        assert "cannot be driven here" in end_of(process, code=2), "its server is gone"
    assert count(store, "RequestSent") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("start", "run.yaml", "--workers", "0"), "--workers"),
        (("start", "run.yaml", "--workers", "two"), "--workers"),
        (("start", "run.yaml", "--workers", "2", "--detach"), "--detach"),
        (("start", "run.yaml", "--detach", "--junit", "junit.xml"), "--junit"),
        (("start", "run.yaml", "--workers", "100000"), "--workers"),
        (("worker", "--run", "99"), "99"),
        (("worker", "--provider", "nobody"), "nobody"),
        (("worker", "--max-shards", "0"), "--max-shards"),
        (("worker", "--alive-file", "missing/alive"), "--alive-file"),
    ],
    ids=str,
)
@pytest.mark.thinned(fast=3, whole=10)
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


def test_a_second_ctrl_c_leaves_at_once_and_another_worker_takes_over(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=20_000) as url:
        plan(store, tmp_path, url, cases=20)
        first = begin_worker(workers, store, tmp_path, "--drain")
        wait_until(store, "RequestSent", 1)
        os.kill(first.pid, signal.SIGINT)
        time.sleep(1)
        since = time.monotonic()
        os.kill(first.pid, signal.SIGINT)
        _, said = first.communicate(timeout=15)
        assert (first.returncode, b"left at once" in said) == (130, True), said
        assert time.monotonic() - since < 15


def test_a_worker_goes_on_whatever_it_prints(tmp_path: Path) -> None:
    """A line without an end, as of a bar of progress, is more than the pipe to its parent holds."""
    printing = "import sys; sys.stderr.write('\\r10 %' * 200_000 + '\\nsaid in the end\\n')"

    async def main() -> list[str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", printing, stderr=asyncio.subprocess.PIPE
        )
        told: list[str] = []
        async with asyncio.timeout(30):
            await _forward_messages(process, "worker 1", told.append)
            assert await process.wait() == 0
        return told

    assert asyncio.run(main())[-1] == "worker 1: said in the end"


def test_a_worker_for_one_run_says_that_it_was_paused_and_fails(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    """What waits for it, such as a job of a cluster, must not take the run for done."""
    write_suite(tmp_path, 2, "[fault:http401] Say {n}.")
    write_configuration(tmp_path, mock_url)
    assert run(store.url, "start", "run.yaml", "--detach", cwd=tmp_path).returncode == 0
    done = run(store.url, "worker", "--run", "1", "--drain", cwd=tmp_path)
    assert (done.returncode, "run 1 paused: mock: HTTP 401" in done.stderr) == (1, True), done
