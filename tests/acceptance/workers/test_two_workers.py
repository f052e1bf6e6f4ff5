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
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    asked,
    begin,
    hurry,
    invoke,
    mock_server,
    run,
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
def test_ctrl_c_drains_one_worker_and_the_other_goes_on(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=1_000) as url:
        plan(store, tmp_path, url, cases=60)
        # A request on record is not sent, and counts as lost, where its lease may have ended: on
        # a machine so busy that a worker does not renew it within 15 s. The other one looks for
        # shards without a worker every third of a lease.
        how = ("--drain", "--lease-seconds", "45")
        first, second = (begin_worker(workers, store, tmp_path, *how) for _ in range(2))
        wait_until(store, "WorkerJoined", 2)
        os.kill(first.pid, signal.SIGINT)
        assert "leaving after the requests in flight" in end_of(first)
        hurry(url)
        end_of(second)
        require_exactly_once(store, url, cases=60)
        assert count(store, "AttemptOrphaned") == 0, "requests in flight were awaited"
        assert count(store, "RunPaused") == 0
        assert count(store, "RunSealed") == 1


def lost(store: Store) -> list[str]:
    """Why each lost attempt counts as lost.

    A request on record is not sent where its lease may have ended: on a machine so busy that a
    worker does not renew it within 15 s. What was sent is awaited.
    """
    with store.lend() as connection:
        return [row.payload()["reason"] for row in find(connection, topics=["AttemptOrphaned"])]


@pytest.mark.slow
def test_ctrl_c_on_the_run_drains_its_workers_and_pauses_it(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=400) as url:
        write_suite(tmp_path, 60)
        slowly(tmp_path, url)
        process = begin(store.url, "start", "run.yaml", "--workers", "2", cwd=tmp_path)
        workers.callback(process.wait)
        wait_until(store, "Scored", 5)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said.decode()
        assert count(store, "RunPaused") == 1
        assert all(reason.startswith("not sent: the lease ") for reason in lost(store))
        assert sum(asked(url).values()) == count(store, "ResponseReceived"), "sent, not awaited"
        hurry(url)
        again = run(store.url, "resume", "1", "--workers", "2", "--quiet", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        require_exactly_once(store, url, cases=60)
        assert (count(store, "RunResumed"), count(store, "RunSealed")) == (1, 1)


@pytest.mark.slow
def test_a_run_is_driven_by_workers_or_by_one_process_alone(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    """Each takes it over when the other is gone, and is refused before that."""
    with mock_server(latency_ms=1_000) as url:
        write_suite(tmp_path, 40)
        execution = {"parallel_workers": 1, "retry_attempts": 2, "retry_delay_ms": 10}
        write_configuration(tmp_path, url, execution=execution)
        alone = begin(store.url, "start", "run.yaml", cwd=tmp_path)
        workers.callback(alone.wait)
        wait_until(store, "Scored", 1)
        refused = run(store.url, "resume", "1", "--detach", cwd=tmp_path)
        assert (refused.returncode, "is being driven" in refused.stderr) == (1, True)
        require_not_open(store, tmp_path)
        os.kill(alone.pid, signal.SIGINT)
        alone.communicate(timeout=60)
        assert run(store.url, "resume", "1", "--detach", cwd=tmp_path).returncode == 0
        worker = begin_worker(workers, store, tmp_path, "--drain")
        wait_until(store, "WorkerJoined", 1)
        wait_until(store, "Scored", count(store, "Scored") + 1)
        refused = run(store.url, "resume", "1", cwd=tmp_path)
        assert (refused.returncode, "is being driven" in refused.stderr) == (1, True)
        assert count(store, "AttemptOrphaned") == 0
        os.killpg(worker.pid, signal.SIGKILL)
        resumed = begin(store.url, "resume", "1", cwd=tmp_path)
        workers.callback(resumed.wait)
        wait_until(store, "RunResumed", 2)
        wait_until(store, "Scored", count(store, "Scored") + 1)
        os.kill(resumed.pid, signal.SIGINT)
        resumed.communicate(timeout=60)
        require_not_open(store, tmp_path)
        hurry(url)
        assert run(store.url, "resume", "1", "--quiet", cwd=tmp_path).returncode == 0
        require_exactly_once(store, url, cases=40)


def require_not_open(store: Store, folder: Path) -> None:
    joined = run(store.url, "worker", "--run", "1", "--drain", cwd=folder)
    assert (joined.returncode, "not open for workers" in joined.stderr) == (2, True)


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


WRONG_INPUT = (
    (("start", "run.yaml", "--workers", "0"), "--workers"),
    (("start", "run.yaml", "--workers", "two"), "--workers"),
    (("start", "run.yaml", "--workers", "2", "--detach"), "--detach"),
    (("start", "run.yaml", "--detach", "--junit", "junit.xml"), "--junit"),
    (("start", "run.yaml", "--workers", "100000"), "--workers"),
    (("worker", "--run", "99"), "99"),
    (("worker", "--provider", "nobody"), "nobody"),
    (("worker", "--max-shards", "0"), "--max-shards"),
    (("worker", "--alive-file", "missing/alive"), "--alive-file"),
)


def test_wrong_input_is_refused_before_anything_is_sent(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    for arguments, said in WRONG_INPUT:
        refused = invoke(store.url, *arguments, cwd=tmp_path)
        assert refused.exit_code == 2, (arguments, refused.output)
        assert said in refused.stderr, arguments
    assert count(store, "RequestSent") == 0


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
