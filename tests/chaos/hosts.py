"""Three hosts, each with a network of its own: one is cut off, one loses its power.

The database and the model server are two more places. What is cut off can still ask the model
server, and cannot record what it says.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from failproof_es.core.sharding.decisions import LEASE_PARTS
from failproof_es.engine.workers.shard_queue import POLL_S
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import LEASE_S
from tests.acceptance.commands import PROGRAM, ROOT, environment, hurry, run, write_suite
from tests.acceptance.workers.processes import count, require_exactly_once, slowly
from tests.chaos.networks import Networks
from tests.chaos.server import ServerOfOurOwn, make_log_key
from tests.chaos.waiting_client import KINDS

CASES = 320
LATENCY_MS = 1_500
CUT_OFF_S = 30
"""Longer than a lease, and than a connection waits for a silent server."""
REPLACED_WITHIN_S = LEASE_S + LEASE_S / LEASE_PARTS + POLL_S
"""The lease ends; who has room looks every third of the lease time, and into the queue."""
DATA, WEB = 0, 1
DATABASE, MODELS, FIRST, SECOND, THIRD = range(5)


@dataclass(frozen=True, slots=True)
class Hosts:
    """The database, a model server and three hosts for workers."""

    networks: Networks
    store: Store
    """The database as the test sees it: not over any of these networks."""
    database_url: str
    """The database as the hosts see it."""
    model_url: str
    folder: Path
    processes: ExitStack

    @property
    def home(self) -> dict[str, str]:
        return {"FAILPROOF_ES_HOME": str(self.folder / "home")}

    def begin(self, host: int, *arguments: str) -> subprocess.Popen[bytes]:
        """Begin a command there."""
        return self._begin(host, [*PROGRAM, *arguments], self.folder)

    def begin_to_wait(self, host: int) -> subprocess.Popen[bytes]:
        """Begin there to wait for answers of the database, on every kind of connection."""
        waiting = [sys.executable, "-m", "tests.chaos.waiting_client", self.database_url]
        process = self._begin(host, waiting, ROOT)
        assert process.stdout is not None
        assert process.stdout.readline() == b"asked\n"
        return process

    def _begin(self, host: int, command: list[str], cwd: Path) -> subprocess.Popen[bytes]:
        with self.networks.hosts[host].inside():
            process = subprocess.Popen(
                command,
                env=environment(self.database_url, **self.home),
                cwd=cwd,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )

        def end() -> None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

        self.processes.callback(end)
        return process

    def shards_of(self, process: subprocess.Popen[bytes]) -> set[int]:
        """The shards that were last taken by this worker, and that nobody finished."""
        with self.store.lend() as connection:
            rows = connection.execute(
                "SELECT shard FROM failproof.lease_list "
                "WHERE shard >= 0 AND NOT finished AND holder LIKE %s",
                (f"% {process.pid}%",),
            ).fetchall()
        return {shard for (shard,) in rows}

    def wait_for_shards(self, process: subprocess.Popen[bytes], number: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.shards_of(process)) < number:
            assert time.monotonic() < deadline, f"it holds {self.shards_of(process)}"
            time.sleep(0.1)

    def seconds_until_replaced(self, *processes: subprocess.Popen[bytes]) -> list[float]:
        """How long it takes until others have all that each of these workers holds."""
        since = time.monotonic()
        assert all(self.shards_of(process) for process in processes)
        taken_s: dict[int, float] = {}
        while len(taken_s) < len(processes):
            for process in processes:
                if process.pid not in taken_s and not self.shards_of(process):
                    taken_s[process.pid] = time.monotonic() - since
            assert time.monotonic() - since < 3 * REPLACED_WITHIN_S, f"nobody takes all: {taken_s}"
            time.sleep(0.1)
        return [taken_s[process.pid] for process in processes]


@contextmanager
def three_hosts(folder: Path) -> Iterator[Hosts]:
    """Begin all of it. Raises `NotPermitted`."""
    with ExitStack() as stack:
        networks = stack.enter_context(Networks(networks=2, hosts=5))
        place, models = networks.hosts[DATABASE], networks.hosts[MODELS]
        database = networks.address(DATA, DATABASE)
        with place.inside():
            server = stack.enter_context(ServerOfOurOwn(listen=database))
        store = stack.enter_context(Store.open(server.database("hosts")))
        command = [sys.executable, "-m", "tests.servers.mock_server"]
        where = networks.address(WEB, MODELS)
        with models.inside():
            mock = subprocess.Popen(
                [*command, "--host", where, "--latency-ms", str(LATENCY_MS)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
            )
        stack.callback(mock.wait)
        stack.callback(mock.kill)
        assert mock.stdout is not None
        with mock.stdout as said:
            url = said.readline().decode().strip()
        over_tcp = f"postgresql://failproof_writer@{database}/hosts"
        processes = stack.enter_context(ExitStack())
        yield Hosts(networks, store, over_tcp, url, folder, processes)


def one_cut_off_and_one_without_power(folder: Path) -> None:
    """Three hosts drive a run meanwhile, to its end. Raises `NotPermitted`."""
    with three_hosts(folder) as hosts:
        _cut_off_and_without_power(hosts)


def _cut_off_and_without_power(hosts: Hosts) -> None:
    store, networks = hosts.store, hosts.networks
    make_log_key(store, hosts.folder / "home")
    write_suite(hosts.folder, CASES)
    slowly(hosts.folder, hosts.model_url)
    planning = hosts.begin(THIRD, "start", "run.yaml", "--detach", "--quiet")
    assert planning.wait(60) == 0
    first = hosts.begin(FIRST, "worker", "--drain", "--max-shards", "4")
    second = hosts.begin(SECOND, "worker", "--drain", "--max-shards", "6")
    hosts.wait_for_shards(first, 4)
    hosts.wait_for_shards(second, 6)
    third = hosts.begin(THIRD, "worker", "--drain", "--max-shards", "16")
    hosts.wait_for_shards(third, 1)

    waiting = hosts.begin_to_wait(SECOND)
    networks.pull(DATA, FIRST)
    since = time.monotonic()
    for network in (DATA, WEB):
        networks.pull(network, SECOND)
    cut_off_s, no_power_s = hosts.seconds_until_replaced(first, second)
    print(f"replaced after {cut_off_s:.1f} s and {no_power_s:.1f} s")
    assert first.poll() is None, "it waits for the database"
    time.sleep(max(0.0, CUT_OFF_S - (time.monotonic() - since)))
    assert waiting.poll() is not None, "it waits for an answer that cannot come"
    heard, wrong = waiting.communicate()
    assert sorted(heard.split()) == [name.encode() for name in sorted(KINDS)], wrong.decode()
    networks.plug(DATA, FIRST)
    with networks.hosts[MODELS].inside():
        hurry(hosts.model_url)
    for process in (third, first):
        _, said = process.communicate(timeout=240)
        assert process.returncode == 0, said.decode()
    assert count(store, "RunSealed") == count(store, "RunCompleted") == 1
    assert count(store, "AttemptOrphaned") > 0, "what was under way was lost"
    with networks.hosts[MODELS].inside():
        require_exactly_once(store, hosts.model_url, CASES)
    for command in ("verify", "replay"):
        done = run(store.url, command, "1", cwd=hosts.folder, **hosts.home)
        assert done.returncode in (0, 3), done.stdout + done.stderr
    assert max(cut_off_s, no_power_s) <= REPLACED_WITHIN_S
