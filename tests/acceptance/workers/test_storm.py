"""Everything at once: workers killed, stopped and continued, the database server killed."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import mock_server, run
from tests.acceptance.workers.processes import (
    begin_worker,
    count,
    end_of,
    plan,
    require_exactly_once,
    wait_until,
)

CASES = 600


@pytest.mark.slow
def test_four_workers_two_killed_one_stopped_for_a_minute_and_the_server_restarted(
    postgres_server: EmbeddedServer, store: Store, tmp_path: Path, workers: ExitStack
) -> None:
    with mock_server(latency_ms=400) as url:
        plan(store, tmp_path, url, CASES)
        first, second, stopped, last = (
            begin_worker(workers, store, tmp_path, "--drain") for _ in range(4)
        )
        wait_until(store, "WorkerJoined", 4)
        wait_until(store, "RequestSent", 40)
        os.kill(stopped.pid, signal.SIGSTOP)
        since = time.monotonic()
        first.kill()
        first.wait()
        wait_until(store, "ResponseReceived", count(store, "ResponseReceived") + 20)
        pid = postgres_server.status().pid
        assert pid is not None
        psutil.Process(pid).kill()
        time.sleep(0.5)
        postgres_server.ensure_running()
        wait_until(store, "ResponseReceived", count(store, "ResponseReceived") + 20)
        second.kill()
        second.wait()
        time.sleep(max(0.0, 60 - (time.monotonic() - since)))
        os.kill(stopped.pid, signal.SIGCONT)
        end_of(last, seconds=240)
        end_of(stopped, seconds=240)
        assert count(store, "RunSealed") == count(store, "RunCompleted") == 1
        assert count(store, "AttemptLost") > 0
        require_exactly_once(store, url, CASES)
    for command in ("verify", "replay"):
        done = run(store.url, command, "1", cwd=tmp_path)
        assert done.returncode in (0, 3), done.stdout + done.stderr
