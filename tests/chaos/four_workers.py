"""Everything at once: workers killed, stopped and continued, the database server killed."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import psutil

from failproof_es.store.store import Store
from tests.acceptance.commands import hurry, mock_server, run, stop_amid_requests
from tests.acceptance.workers.processes import (
    begin_worker,
    count,
    end_of,
    plan,
    require_exactly_once,
    wait_until,
)
from tests.chaos.server import ServerOfOurOwn, make_log_key

CASES = 200
LEASE_S = 5.0
"""A worker that is stopped has to be so for longer."""


def two_killed_one_stopped_and_the_server_restarted(folder: Path) -> None:
    """Four workers drive a run meanwhile, to its end."""
    home = {"FAILPROOF_ES_HOME": str(folder / "home")}
    with (
        ServerOfOurOwn() as server,
        Store.open(server.database("storm")) as store,
        mock_server(latency_ms=1_000) as url,
        ExitStack() as workers,
    ):
        make_log_key(store, folder / "home")
        plan(store, folder, url, CASES, **home)
        how = ("--drain", "--lease-seconds", f"{LEASE_S:g}")
        first = begin_worker(workers, store, folder, *how, **home)
        wait_until(store, "RequestSent", 8)
        stop_amid_requests(store, first)  # alone: it is its request that is lost
        first.kill()
        first.wait()
        second, stopped, last = (
            begin_worker(workers, store, folder, *how, **home) for _ in range(3)
        )
        wait_until(store, "WorkerJoined", 4)
        os.kill(stopped.pid, signal.SIGSTOP)
        since = time.monotonic()
        wait_until(store, "ResponseReceived", count(store, "ResponseReceived") + 20)
        pid = server.status().pid
        assert pid is not None
        psutil.Process(pid).kill()
        time.sleep(0.5)
        server.ensure_running()
        wait_until(store, "ResponseReceived", count(store, "ResponseReceived") + 20)
        second.kill()
        second.wait()
        time.sleep(max(0.0, LEASE_S + 2 - (time.monotonic() - since)))
        os.kill(stopped.pid, signal.SIGCONT)
        hurry(url)
        end_of(last, seconds=240)
        end_of(stopped, seconds=240)
        assert count(store, "RunSealed") == count(store, "RunCompleted") == 1
        assert count(store, "AttemptOrphaned") > 0
        require_exactly_once(store, url, CASES)
        for command in ("verify", "replay"):
            done = run(store.url, command, "1", cwd=folder, **home)
            assert done.returncode in (0, 3), done.stdout + done.stderr
