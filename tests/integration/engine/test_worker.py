"""A worker beside others: what it leaves to them, and what it lives through."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest
from psycopg import sql

from failproof_es.engine.drive.run_stream import RunStream
from failproof_es.engine.history import read_run
from failproof_es.engine.limits import concurrency_limiter
from failproof_es.engine.limits.concurrency_limiter import LimitUpdate
from failproof_es.engine.workers import refusals, shard_queue
from failproof_es.engine.workers.driven_run import DrivenRun
from failproof_es.engine.workers.ending import Coordinator
from failproof_es.engine.workers.shard_queue import is_open
from failproof_es.events import Event, LimitChanged
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.reading.reader import find
from failproof_es.store.schema.installation import install
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLeases
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.conftest import as_administrator
from tests.integration.engine.working import (
    Working,
    count,
    drive,
    jobs,
    number,
    plan,
    until,
)
from tests.integration.store.roles.test_append_only import GUARDS
from tests.servers.mock_server import MockServer

OUTAGE_S = 1.5
"""Long enough for several tries: the first comes after 0.1 s, each next one after twice as long."""


@pytest.mark.slow
def test_one_that_leaves_takes_no_jobs_from_others(store: Store, tmp_path: Path) -> None:
    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url)
        async with Working(store) as working:
            await until(lambda: count(store, "RequestSent") == 1)
            await until(lambda: jobs(store) == 18)
            working.stop.set()
            await working.left()
        assert jobs(store) == 18, "each is for others"
        assert count(store, "AttemptOrphaned") == 0

    drive(main, latency_s=2.0)


def test_one_that_cannot_drive_a_run_takes_no_more_jobs_of_it(store: Store, tmp_path: Path) -> None:
    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url)
        await server.stop()
        async with Working(store, drain=True) as working:
            await working.left()
            assert "cannot be driven here" in working.said[0]
        assert jobs(store) >= 18, "it takes two at once"

    drive(main)


@pytest.mark.slow
def test_one_that_waits_tries_again_to_reach_a_server(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "TRY_AGAIN_S", 0.5)

    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url, 8)
        port = int(server.url.split(":")[2].split("/")[0])
        await server.stop()
        async with Working(store) as working:
            await until(lambda: len(working.said) >= 2)
            await server.start(port)
            await until(lambda: count(store, "RunSealed") == 1)
        assert "tried again in" in working.said[0]
        assert count(store, "Scored") == 8

    drive(main)


def test_one_that_is_stopped_while_it_opens_a_run_asks_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, opened = asyncio.Event(), DrivenRun.open

    async def slowly(*arguments: Any, **options: Any) -> DrivenRun:
        opening.set()
        await asyncio.sleep(1)
        return await opened(*arguments, **options)

    monkeypatch.setattr(DrivenRun, "open", slowly)

    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url)
        async with Working(store) as working:
            await opening.wait()
            working.stop.set()
            await working.left()
        assert not working.worker.refusals.why, "it was being opened"
        assert count(store, "RequestSent") == 0

    drive(main)


def test_an_error_that_nobody_foresaw_is_told_and_the_run_left_to_others(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> DrivenRun:
        raise RuntimeError("a plugin failed")

    monkeypatch.setattr(DrivenRun, "open", broken)

    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url)
        async with Working(store, drain=True) as working:
            await working.left()
        assert "a plugin failed" in working.said[0]
        assert run_id in working.worker.refusals.why

    drive(main)


@pytest.mark.parametrize("topic", ["WorkerJoined", "WorkerLeft", "RunPaused", "RequestSent"])
@pytest.mark.thinned(whole=1)
def test_an_event_that_the_database_swallows_ends_no_worker(
    store: Store, administrator: psycopg.Connection[Any], tmp_path: Path, topic: str
) -> None:
    """The worker says so, leaves the run to others, and drives other runs."""
    for guard in GUARDS:
        administrator.execute(f"ALTER EVENT TRIGGER {guard} DISABLE".encode())
    administrator.execute(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
    )
    trigger = (
        "CREATE TRIGGER quiet BEFORE INSERT ON failproof.events FOR EACH ROW "
        f"WHEN (NEW.topic = '{topic}') EXECUTE FUNCTION swallow()"
    )
    administrator.execute(trigger.encode())
    unhandled: list[dict[str, Any]] = []

    async def main(server: MockServer) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: unhandled.append(context))
        prompt = "[fault:http401] Say {n}." if topic == "RunPaused" else "Say {n}."
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 4, prompt)
        async with Working(store, drain=True) as working:
            await working.left()
        gc.collect()  # an exception that nobody looked at is told then
        told = [line for line in working.said if line.startswith(f"error: run {run_id}: ")]
        assert told and "IncompleteAppend" in told[0], working.said
        assert (run_id in working.worker.refusals.why) == (topic != "RequestSent")

    drive(main)
    assert unhandled == []


def test_a_run_that_is_resumed_at_once_is_not_paused_again_for_the_same_error(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = Coordinator.pause

    async def and_resumed(self: Coordinator, run_id: UUID, reason: str, **how: Any) -> None:
        await paused(self, run_id, reason, **how)
        await self.resume(run_id)

    monkeypatch.setattr(Coordinator, "pause", and_resumed)

    async def main(server: MockServer) -> None:
        prompt = "[fault:http401*1] Say {n}."
        await asyncio.to_thread(plan, store, tmp_path, server.url, 2, prompt)
        async with Working(store):
            await until(lambda: count(store, "RunSealed") == 1)
        assert count(store, "RunPaused") <= 2, "each of the two cases is refused once"

    drive(main)


def as_nobody_plans(store: Store, how: str) -> None:
    """What everybody can put there who has the writer's rights."""
    run_id, state = uuid4(), b'{"no": "such run"}'
    with store.connect() as connection, connection.transaction():
        connection.execute("SELECT failproof.number_run(%s)", (run_id,))
        if how == "unreadable":
            leaf = leaf_hash(run_id.bytes, 1, b"RunStarted", state)
            connection.execute(
                "SELECT failproof.append(%s, '{1}', '{RunStarted}', %s, %s, %s)",
                ([run_id], [state], [run_id], [leaf]),
            )
        connection.execute("SELECT failproof.open_shards(%s, 1000000000000, 1)", (run_id,))


def test_a_run_that_cannot_be_read_stops_no_worker(store: Store, tmp_path: Path) -> None:
    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 4)
        for how in ("without an event", "unreadable"):
            await asyncio.to_thread(as_nobody_plans, store, how)
        async with Working(store, drain=True) as working:
            await working.left()
        with store.connect() as connection:
            assert read_run(connection, run_id).sealed
        assert working.worker.finished == 4

    drive(main)


FOREIGN_ARGUMENTS = (
    '{"run_id": "RUN", "shard": -1}',
    '{"run_id": "RUN", "shard": 99}',
    '{"run_id": "RUN", "shard": "0"}',
    '{"run_id": "RUN", "shard": true}',
    '{"run_id": "RUN", "shard": 1e400}',
    '{"run_id": 7, "shard": 0}',
    '{"run_id": "no id", "shard": 0}',
    '{"shard": 0}',
    "[1]",
    "5",
)


def test_a_job_that_nobody_put_there_changes_nothing(store: Store, tmp_path: Path) -> None:
    """Each in the place of a job; the last ones of shards that there are not."""

    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 8)
        with store.connect() as connection:
            connection.execute("DELETE FROM failproof_queue.procrastinate_jobs")
            for shard, arguments in enumerate(FOREIGN_ARGUMENTS):
                connection.execute(
                    "INSERT INTO failproof_queue.procrastinate_jobs "
                    "(queue_name, task_name, queueing_lock, args) VALUES (%s, 'shard', %s, %s)",
                    (str(run_id), f"{run_id}/{shard}", arguments.replace("RUN", str(run_id))),
                )
        async with Working(store, drain=True) as working:
            await working.left()
        assert (count(store, "RunPaused"), count(store, "RunSealed")) == (0, 1), working.said

    drive(main)


def test_each_change_of_a_limit_is_on_record_before_its_shard_is_released(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the commits are slow, and the last change comes with the last answer."""
    updates: list[LimitUpdate] = []
    record = RunStream.record

    def reported(*fields: Any) -> LimitUpdate:
        updates.append(LimitUpdate(*fields))
        return updates[-1]

    async def slowly(self: RunStream, kind: type[Event], **fields: Any) -> None:
        if kind is LimitChanged:
            await asyncio.sleep(0.2)
        await record(self, kind, **fields)

    monkeypatch.setattr(concurrency_limiter, "LimitUpdate", reported)
    monkeypatch.setattr(RunStream, "record", slowly)

    async def main(server: MockServer) -> None:
        write_suite(tmp_path, 4, "[fault:busy429*1] Say {n}.")
        execution = {"parallel_workers": 4, "retry_attempts": 0, "retry_delay_ms": 10}
        write_configuration(tmp_path, server.url, execution=execution)
        planning = ("start", "run.yaml", "--detach", "--quiet")
        done = await asyncio.to_thread(invoke, store.url, *planning, cwd=tmp_path)
        assert done.exit_code == 0, done.output
        async with Working(store, drain=True, lease_s=30.0) as working:
            await working.left()
        assert count(store, "RunSealed") == 1

    drive(main)
    with store.connect() as connection:
        recorded = [row.event() for row in find(connection, topics=["LimitChanged"])]
    assert {update.reason for update in updates} >= {"rate_limited", "recovered"}
    assert [(e.reason, e.limit_after) for e in recorded if isinstance(e, LimitChanged)] == [
        (update.reason, update.limit_after) for update in updates
    ]


@contextmanager
def read_only(store: Store, administrator: psycopg.Connection[Any]) -> Iterator[None]:
    """The database takes no writes from any session, as after a switch to a standby."""
    [(name,)] = administrator.execute("SELECT current_database()").fetchall()
    database = sql.Identifier(name)
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    for value in ("on", "off"):
        set_to = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
        administrator.execute("SET default_transaction_read_only = off")
        administrator.execute(set_to.format(database, sql.SQL(value)))
        administrator.execute(cut)
        if value == "on":
            yield


@pytest.mark.slow
def test_one_lives_through_a_database_that_takes_no_writes(
    store: Store, administrator: psycopg.Connection[Any], tmp_path: Path
) -> None:
    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url, 20)
        async with Working(store, drain=True) as working:
            await until(lambda: count(store, "Scored") >= 2)
            with read_only(store, administrator):
                await asyncio.sleep(OUTAGE_S)
            await working.left()
        assert count(store, "Scored") == 20, working.said
        assert count(store, "RunSealed") == 1

    drive(main, latency_s=0.1)


@pytest.mark.slow
def test_one_lives_through_a_queue_that_is_dropped_and_made_anew(
    store: Store, administrator: psycopg.Connection[Any], tmp_path: Path
) -> None:
    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url, 20)
        async with Working(store, drain=True) as working:
            await until(lambda: count(store, "Scored") >= 2)
            drop = "DROP SCHEMA failproof_queue CASCADE"
            await asyncio.to_thread(administrator.execute, drop)  # a job may be in a transaction
            await asyncio.sleep(OUTAGE_S)
            await asyncio.to_thread(install, administrator, logins=True)
            await working.left()
        assert count(store, "Scored") == 20, working.said
        assert (count(store, "RunPaused"), count(store, "RunSealed")) == (0, 1)

    drive(main, latency_s=0.1)


def test_a_run_is_closed_only_as_long_as_it_is_paused(store: Store, tmp_path: Path) -> None:
    """Who saw it paused may be late: it can be resumed by then."""

    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 4)
        with ShardLeases(store.url, "late") as leases, ShardLeases(store.url, "other") as other:
            coordinator = Coordinator(store, leases, lambda event: None)
            await coordinator.close(run_id)
            with store.connect() as connection:
                assert is_open(connection, run_id), "it goes on"
                await coordinator.pause(run_id, "a wrong key")
                connection.execute("SELECT failproof.open_shards(%s, 4, 1)", (run_id,))
                held = other.claim(run_id)
                assert held is not None
                await coordinator.close(run_id)
                assert is_open(connection, run_id), "another process says how it goes on"
                other.release(held)
                await coordinator.close(run_id)
                assert not is_open(connection, run_id)

    drive(main)


def test_what_waits_in_the_place_of_a_job_is_replaced(store: Store, tmp_path: Path) -> None:
    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(plan, store, tmp_path, server.url, 4)
        with store.connect() as connection:
            for shard, change in enumerate(
                (
                    "scheduled_at = 'infinity'",
                    "queue_name = 'another'",
                    "lock = 'held'",
                    "args = '{}'",
                )
            ):
                connection.execute(
                    f"UPDATE failproof_queue.procrastinate_jobs SET {change} "
                    "WHERE queueing_lock = %s".encode(),
                    (f"{run_id}/{shard}",),
                )
            again = shard_queue.enqueue_missing(connection, [run_id])
            assert [each.shard for each in again] == [0, 1, 2, 3]
            assert jobs(store) == 4
            assert shard_queue.enqueue_missing(connection, [run_id]) == []

    drive(main)


IMPOSSIBLE_TIMES = (
    ("now", "infinity"),
    ("-infinity", "now"),
    ("294000-01-01", "now"),
    ("4713-01-01 BC", "now"),
    ("now", "2000-01-01"),
)


def test_workers_that_cannot_have_been_are_not_listed(store: Store, tmp_path: Path) -> None:
    told = (
        "INSERT INTO failproof_queue.failproof_workers "
        "(worker_id, holder, who, host, process, code_version, since, heartbeat) "
        "VALUES (gen_random_uuid(), %s, 'me', 'here', 1, '1', %s, %s)"
    )
    with store.connect() as connection:
        for since, heartbeat in IMPOSSIBLE_TIMES:
            connection.execute(told, (f"none: {since}, {heartbeat}", since, heartbeat))
        connection.execute(told, ("one", "now", "now"))
    listed = invoke(store.url, "workers", "--json", cwd=tmp_path)
    assert listed.exit_code == 0, listed.output
    assert len(orjson.loads(listed.output)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("as_before", [False, True])
@pytest.mark.thinned(whole=1)
def test_the_repetitions_of_one_case_are_shared_by_workers(
    store: Store, tmp_path: Path, as_before: bool
) -> None:
    """A run whose shards an older version cut over whole cases is driven by those shards."""

    async def main(server: MockServer) -> None:
        run_id = await asyncio.to_thread(
            partial(plan, store, tmp_path, server.url, 1, repetitions=40)
        )
        assert jobs(store) == 20, "two repetitions each"
        if as_before:
            with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
                administrator.execute("UPDATE failproof.run_shards SET cases = 1, shard_cases = 1")
        async with Working(store, drain=True) as one, Working(store, drain=True) as other:
            await one.left()
            await other.left()
        finished = sorted([one.worker.finished, other.worker.finished])
        assert (sum(finished), finished[0] == 0) == (40, as_before), "all are in one shard then"
        asked = "SELECT count(DISTINCT originator_id) FROM failproof.stored_events WHERE topic = %s"
        assert number(store, asked, "Scored") == count(store, "RequestSent") == 40
        with store.connect() as connection:
            assert read_run(connection, run_id).sealed

    drive(main, latency_s=0.03)
