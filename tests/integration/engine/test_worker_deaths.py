"""A worker beside others that die, are cut off or take long: it goes on with what they leave."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from failproof_es.engine.finish import finalize
from failproof_es.engine.workers import dead_holders, ending
from failproof_es.engine.workers.ending import Coordinator
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLeases
from tests.acceptance.commands import invoke
from tests.integration.engine.working import (
    LONGEST_S,
    Working,
    count,
    drive,
    jobs,
    number,
    plan,
    until,
)
from tests.servers.mock_server import MockServer

LONG_S = 600.0
"""Longer than any test lasts."""
BEGUN = "SELECT count(*) FROM failproof.lease_list WHERE shard >= 0"
TAKEN_AGAIN = BEGUN + " AND epoch > 1"
MOST_EPOCH = "SELECT max(epoch) FROM failproof.lease_list WHERE shard >= 0"


def hold(leases: ShardLeases, run_id: UUID, shards: int) -> None:
    for shard in range(shards):
        assert leases.claim(run_id, shard) is not None


def test_the_shards_of_a_worker_that_died_do_not_wait_for_the_end_of_its_leases(
    store: Store, tmp_path: Path
) -> None:
    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 4)
        died = ShardLeases(store.url, "died", LONG_S)
        hold(died, run_id, 4)
        async with Working(store, drain=True) as working:
            await until(lambda: jobs(store) == 0)
            assert count(store, "RequestSent") == 0, "each is held"
            assert died._connection is not None
            died._connection.close()  # as when its process is killed: nothing is released
            since = asyncio.get_running_loop().time()
            await until(lambda: count(store, "RequestSent") > 0)
            assert asyncio.get_running_loop().time() - since < LONG_S / 10
            await working.left()
        assert count(store, "RunSealed") == 1

    drive(main)


@pytest.mark.slow
def test_what_a_dead_worker_had_begun_does_not_wait_behind_what_nobody_has_begun(
    store: Store, tmp_path: Path
) -> None:
    """All who are left are busy, and many shards wait: the dead worker's are the next ones."""
    shards, held = 20, 2

    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url)
        died = ShardLeases(store.url, "died", LONG_S)
        hold(died, run_id, held)
        async with Working(store, drain=True, most_shards=1) as working:
            await until(lambda: count(store, "RequestSent") > 0)
            assert died._connection is not None
            died._connection.close()
            await until(lambda: number(store, TAKEN_AGAIN) >= held)
            assert number(store, BEGUN) < shards, "others still wait"
            await working.left()
        assert count(store, "RunSealed") == 1

    drive(main, latency_s=0.1)


def test_the_shards_of_a_worker_that_lives_are_left_to_it(store: Store, tmp_path: Path) -> None:
    """A stopped process has a session, and one that was cut off shows its new one."""

    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 2)
        with ShardLeases(store.url, "lives", LONG_S) as lives:
            hold(lives, run_id, 2)
            async with Working(store, drain=True) as working:
                await until(lambda: jobs(store) == 0)
                await asyncio.sleep(4 * dead_holders.LOOK_EVERY_S)
                assert (jobs(store), count(store, "RequestSent")) == (0, 0)
                lives.close()
                await working.left()
        assert count(store, "RunSealed") == 1

    drive(main)


@pytest.mark.slow
def test_a_worker_that_was_cut_off_keeps_what_it_drives(store: Store, tmp_path: Path) -> None:
    """Its session ends while another worker looks for dead ones: it shows a new one sooner."""
    cut = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_locks "
        "WHERE locktype = 'advisory' AND objsubid = 1 AND pid <> pg_backend_pid()"
    )

    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url, 2)
        # Its leases are renewed long after the test: only looking at its socket helps it.
        async with Working(store, drain=True, lease_s=LONG_S) as working:
            await until(lambda: number(store, BEGUN) == 2 and count(store, "RequestSent") == 1)
            async with Working(store, drain=True):
                assert number(store, cut) >= 1
                await working.left()
        assert (count(store, "AttemptOrphaned"), count(store, "RunSealed")) == (0, 1)
        assert number(store, MOST_EPOCH) == 1, "no shard was ever claimed again"

    drive(main, latency_s=3.0)


def test_a_run_that_takes_long_to_end_keeps_nobody_from_others(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first run is read at its end, its worker drives another one, and ends that."""
    reading, go_on, scan = asyncio.Event(), asyncio.Event(), finalize.scan

    async def slowly(stream: Any, *rest: Any) -> Any:
        if stream.run.started.run_number == 1:
            reading.set()
            await go_on.wait()
        return await scan(stream, *rest)

    monkeypatch.setattr(ending, "scan", slowly)

    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url, 2)
        async with Working(store, drain=True) as working:
            await asyncio.wait_for(reading.wait(), LONGEST_S)
            again = partial(invoke, store.url, "start", "run.yaml", "--detach", cwd=tmp_path)
            assert (await asyncio.to_thread(again)).exit_code == 0
            await until(lambda: count(store, "RunSealed") == 1)
            assert count(store, "Scored") == 4
            go_on.set()
            await working.left()
        assert count(store, "RunSealed") == 2

    drive(main)


@pytest.mark.slow
def test_leases_are_renewed_while_the_event_loop_is_busy(store: Store, tmp_path: Path) -> None:
    """Nothing else of the worker comes to its turn for longer than a lease lasts."""
    lease_s = 2.0

    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 2)
        async with Working(store, drain=True, lease_s=lease_s) as working:
            await until(lambda: number(store, BEGUN) == 2 and count(store, "RequestSent") == 1)
            with ShardLeases(store.url, "another worker") as others:
                time.sleep(1.5 * lease_s)  # noqa: ASYNC251 - the loop has to stand still
                assert [others.claim(run_id, shard) for shard in range(2)] == [None, None]
            await working.left()
        assert (count(store, "RunSealed"), count(store, "AttemptOrphaned")) == (1, 0)
        assert number(store, MOST_EPOCH) == 1, "no shard was ever claimed again"

    drive(main, latency_s=2.0)


def test_a_run_is_resumed_for_workers_through_an_outage(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = ShardLeases.claim
    refused: list[Any] = []

    def away_at_first(self: ShardLeases, *given: Any, **how: Any) -> Any:
        if len(refused) < 2:
            refused.append(given)
            raise psycopg.OperationalError("the server is away")
        return claim(self, *given, **how)

    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 2)
        monkeypatch.setattr(ShardLeases, "claim", away_at_first)
        with ShardLeases(store.url, "me") as leases:
            run = await Coordinator(store, leases, lambda event: None).resume(run_id)
        assert (run.status, len(refused)) == ("running", 2)

    drive(main)
