"""`start --workers` beside workers elsewhere: it ends its own alone."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import pytest

from failproof_es.cli.commands.local_workers import LocalWorkers
from failproof_es.models.trust.permissions import Permissions
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    begin,
    hurry,
    mock_server,
    run,
    write_configuration,
    write_suite,
)
from tests.acceptance.workers.processes import (
    begin_worker,
    count,
    end_of,
    require_exactly_once,
    slowly,
    wait_until,
)
from tests.acceptance.workers.test_tables_after_a_run import lagging

CASES = 80


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", ["works", "was killed"])
@pytest.mark.thinned(whole=1)
def test_ctrl_c_on_the_run_pauses_it_unless_a_worker_elsewhere_drives_it(
    store: Store, tmp_path: Path, workers: ExitStack, elsewhere: str
) -> None:
    with mock_server(latency_ms=1_000) as url:
        write_suite(tmp_path, CASES)
        slowly(tmp_path, url)
        assert run(store.url, "start", "run.yaml", "--detach", cwd=tmp_path).returncode == 0
        other = begin_worker(workers, store, tmp_path, "--run", "1", "--drain")
        wait_until(store, "WorkerJoined", 1)
        process = begin(store.url, "resume", "1", "--workers", "2", cwd=tmp_path)
        workers.callback(process.wait)
        wait_until(store, "WorkerJoined", 2)
        wait_until(store, "Scored", count(store, "Scored") + 4)
        if elsewhere == "was killed":
            os.killpg(other.pid, signal.SIGKILL)
            other.wait()
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said.decode()
        if elsewhere == "was killed":
            assert count(store, "RunPaused") == 1, said.decode()
        else:
            assert "run 1 goes on: workers elsewhere drive it" in said.decode()
            hurry(url)
            end_of(other)
            assert (count(store, "RunPaused"), count(store, "RunSealed")) == (0, 1)
            require_exactly_once(store, url, cases=CASES)
            assert count(store, "AttemptOrphaned") == 0


def test_a_run_that_workers_elsewhere_ended_gets_its_results_file_as_it_was_said(
    store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    """What `--detach` and the worker tell a person to type is typed."""
    with mock_server(latency_ms=0) as url:
        write_suite(tmp_path, 4)
        output = {"file": {"path": "{timestamp}_{test_name}.jsonl"}}
        write_configuration(tmp_path, url, output=output)
        planned = run(store.url, "start", "run.yaml", "--detach", cwd=tmp_path)
        assert "`failproof-es resume 1` writes it, and asks nothing" in planned.stderr
        done = run(store.url, "worker", "--run", "1", "--drain", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said = "run 1 acceptance: completed; `failproof-es resume 1` writes its results file"
        assert said in done.stderr, done.stderr
        assert lagging(store) == {}, "a worker that leaves brings the tables up"
        before = count(store, "RequestSent")
        assert list(tmp_path.glob("*_acceptance.jsonl")) == []
        written = run(store.url, "resume", "1", cwd=tmp_path)
        assert written.returncode == 0, written.stderr
        assert len(list(tmp_path.glob("*_acceptance.jsonl"))) == 1, written.stderr
        assert count(store, "RequestSent") == before


def test_what_is_on_record_is_counted_before_others_can_add_to_it(store: Store) -> None:
    """Workers elsewhere take the run up as soon as it is begun; what they record then is told."""
    done: list[str] = []

    def count_what_is_recorded() -> int:
        done.append("counted")
        return 0

    async def begin_it(say: object) -> UUID:
        done.append("begun")
        raise InvalidInput.because("run-refused", "this is far enough")

    workers = LocalWorkers(
        store, 1, begin_it, Permissions(), shows_progress=True, catch_up=count_what_is_recorded
    )
    with pytest.raises(InvalidInput, match="far enough"):
        asyncio.run(
            workers.drive(observe=lambda event: None, stop=asyncio.Event(), say=done.append)
        )
    assert done == ["counted", "begun"]
