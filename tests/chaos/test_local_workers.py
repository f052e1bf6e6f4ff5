"""Worker processes of `start --workers` that are killed: replaced, but not for ever."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from failproof_es.core.sharding import decisions
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import begin, begin_reading, invoke, mock_server, write_suite
from tests.acceptance.workers.processes import (
    count,
    end_of,
    plan,
    require_exactly_once,
    slowly,
    wait_until,
)
from tests.processes import children_with

CASES = 120


def workers_of(pid: int | None = None) -> list[psutil.Process]:
    """The worker processes that this process began."""
    return children_with("worker", pid)


@contextmanager
def every_worker_dies() -> Iterator[None]:
    """Meanwhile each worker process of this one is killed when it is seen."""
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.02):
            for worker in workers_of():
                with suppress(psutil.Error):
                    worker.kill()

    killing = threading.Thread(target=kill)
    killing.start()
    try:
        yield
    finally:
        over.set()
        killing.join()


@pytest.mark.slow
@pytest.mark.wide
def test_local_workers_that_were_killed_are_replaced(store: Store, tmp_path: Path) -> None:
    with mock_server(latency_ms=100) as url, ExitStack() as ending:
        write_suite(tmp_path, CASES)
        slowly(tmp_path, url)
        process = begin(store.url, "start", "run.yaml", "--workers", "2", cwd=tmp_path)
        ending.callback(process.kill)
        wait_until(store, "WorkerJoined", 2)
        wait_until(store, "Scored", 5)
        for worker in workers_of(process.pid):
            worker.kill()
        _, raw = process.communicate(timeout=120)
        said = raw.decode()
        assert process.returncode == 0, said
        for number in (1, 2):
            assert f"worker {number} was killed by SIGKILL; it is replaced in 1 s" in said
        assert count(store, "WorkerJoined") == 4
        assert count(store, "RunSealed") == 1
        require_exactly_once(store, url, CASES)


@pytest.mark.slow
def test_workers_that_keep_dying_are_given_up_and_the_run_is_paused(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "FIRST_REPLACEMENT_S", 0.001)
    with mock_server(latency_ms=0) as url:
        write_suite(tmp_path, 4)
        slowly(tmp_path, url)
        with every_worker_dies():
            done = invoke(store.url, "start", "run.yaml", "--workers", "2", cwd=tmp_path)
        assert done.exit_code == 1, done.stderr
        assert done.stderr.count("it is replaced in ") == 2 * decisions.MOST_REPLACEMENTS
        for number in (1, 2):
            assert f"worker {number} was killed by SIGKILL again: it is replaced no more" in (
                done.stderr
            )
        assert "run 1 paused: worker 1 was killed 6 times in a row, last by SIGKILL" in done.stderr
        assert "failproof-es resume 1" in done.stderr
        assert invoke(store.url, "resume", "1", "--quiet", cwd=tmp_path).exit_code == 0
        require_exactly_once(store, url, 4)


def test_an_attached_worker_waits_for_a_database_that_is_away_when_it_begins(
    postgres_server: EmbeddedServer, store: Store, tmp_path: Path
) -> None:
    def let_connect(allowed: bool) -> None:
        with psycopg.connect(postgres_server.url, autocommit=True) as administrator:
            statement = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(name, allowed)
            administrator.execute(statement)

    name = sql.Identifier(str(conninfo_to_dict(store.url)["dbname"]))

    with mock_server(latency_ms=0) as url, ExitStack() as ending:
        plan(store, tmp_path, url, 4)
        reading, writing = os.pipe()
        ending.callback(os.close, writing)
        let_connect(False)
        how = ("--run", "1", "--drain", "--attached")
        worker = begin_reading(reading, store.url, "worker", *how, cwd=tmp_path)
        ending.callback(worker.kill)
        os.close(reading)
        time.sleep(1.5)
        assert worker.poll() is None, "it waits"
        let_connect(True)
        end_of(worker)
        require_exactly_once(store, url, 4)
