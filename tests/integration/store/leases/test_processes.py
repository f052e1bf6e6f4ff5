"""Processes that hold leases, and are killed, stopped and continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import pytest

from failproof_es.store.reading.reader import max_position
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import Lease, RunBusy, ShardLeases

_HOLDER = """
import asyncio, sys
from uuid import UUID
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import Lease, ShardLeases
from failproof_es.store.writing.recorder import LeaseLost
from tests.integration.store.test_journal import an_event

async def main(url, run_id, seconds, shard):
    with Store.open(url) as store:
        leases = ShardLeases(url, "the child", seconds)
        if shard < 0:
            lease = Lease(url, run_id, "the child", seconds).acquire()
        else:
            lease = leases.claim(run_id, shard)
        journal = Journal(store.log, lease=lease)
        for line in sys.stdin:
            try:
                await journal.append(an_event())
                print("appended", lease.epoch, flush=True)
            except LeaseLost as lost:
                print("lost", lease.epoch, flush=True)

print("begun", flush=True)
asyncio.run(main(sys.argv[1], UUID(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
"""


class Child:
    """A process that holds a lease, and appends an event when it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def append(self) -> str:
        """What comes of it: `appended EPOCH` or `lost EPOCH`."""
        self.tell()
        return self.said()

    def tell(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("append\n")
        self._process.stdin.flush()

    def said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)


@contextmanager
def child(store: Store, run_id: UUID, seconds: float, shard: int = -1) -> Iterator[Child]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, store.url, str(run_id), str(seconds), str(shard)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        made = Child(process)
        assert made.said() == "begun"
        assert made.append() == "appended 1"
        yield made
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def acquired(store: Store, run_id: UUID, within_s: float) -> Lease:
    """The lease on the run, as soon as it can be had."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            return Lease(store.url, run_id, "another process").acquire()
        except RunBusy:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def sessions_with_a_lock(store: Store) -> int:
    with store.connect() as connection:
        [(count,)] = connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 "
            "AND granted AND database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchall()
    return int(count)


def test_a_worker_that_is_killed_is_replaced_at_once(store: Store) -> None:
    run_id = uuid4()
    with (
        child(store, run_id, 3_600, shard=3) as holder,
        ShardLeases(store.url, "another process") as others,
    ):
        assert others.claim(run_id, 3) is None
        holder.signal(signal.SIGKILL)
        deadline = time.monotonic() + 10
        while (lease := others.claim(run_id, 3)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert lease.epoch == 2


@pytest.mark.slow
@pytest.mark.parametrize("shard", [-1, 3], ids=["driver", "worker"])
def test_a_process_that_is_paused_is_replaced_when_its_lease_ends_and_cannot_write(
    shard: int, store: Store
) -> None:
    """Its session lives all the time: the server knows nothing of a stopped process."""
    run_id = uuid4()
    with child(store, run_id, 1.5, shard) as holder:
        holder.signal(signal.SIGSTOP)
        with acquired(store, run_id, within_s=20) as lease:
            assert lease.epoch == (2 if shard < 0 else 1)
            assert sessions_with_a_lock(store) == 2, "that of the paused process, and this one's"
            with store.connect() as connection:
                before = max_position(connection)
            holder.tell()
            holder.signal(signal.SIGCONT)
            assert holder.said() == "lost 1"
            with store.connect() as connection:
                assert max_position(connection) == before
    with store.connect() as connection:
        assert max_position(connection) == before


def test_a_process_that_is_paused_and_missed_by_nobody_goes_on(store: Store) -> None:
    with child(store, uuid4(), 0.5) as holder:
        holder.signal(signal.SIGSTOP)
        time.sleep(1.0)
        holder.signal(signal.SIGCONT)
        assert holder.append() in ("appended 1", "appended 2")
        deadline = time.monotonic() + 10
        while holder.append() != "appended 2":  # it claims the run again
            assert time.monotonic() < deadline
            time.sleep(0.05)
