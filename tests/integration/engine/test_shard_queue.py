"""The queue of shards: hints that can be lost, and come back from leases and the log."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.core.sharding.shards import ShardId, shard_count, shard_size
from failproof_es.engine.history import read_run
from failproof_es.engine.workers.shard_queue import (
    ShardQueue,
    begin_run,
    close_run,
    enqueue,
    enqueue_missing,
    is_open,
    reopen_run,
)
from failproof_es.problems import InvalidInput
from failproof_es.store.schema.installation import AUDITOR, PROJECTOR, install
from failproof_es.store.schema.queue_schema import has_queue, require_queue
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLeases
from tests.benchmarks.rebuild import begun
from tests.conftest import as_administrator

CASES = 100
SHARDS = shard_count(CASES, shard_size(CASES))


def waiting(connection: psycopg.Connection[Any]) -> list[str]:
    rows = connection.execute(
        "SELECT queueing_lock FROM failproof_queue.procrastinate_jobs WHERE status = 'todo' "
        "ORDER BY id"
    )
    return [lock for (lock,) in rows]


def planned(connection: psycopg.Connection[Any]) -> UUID:
    run_id = uuid4()
    with connection.transaction():
        connection.execute("SELECT failproof.number_run(%s)", (run_id,))
        begin_run(connection, run_id, CASES)
    return run_id


def test_every_shard_has_a_job_in_the_transaction_that_plans(store: Store) -> None:
    with store.connect() as connection:
        run_id = planned(connection)
        assert waiting(connection) == [f"{run_id}/{k}" for k in range(SHARDS)]
        path = connection.execute("SHOW search_path").fetchone()
        assert path == ("pg_catalog, pg_temp",), "the transaction's own path is left as it was"
        with pytest.raises(ZeroDivisionError), connection.transaction():
            begin_run(connection, uuid4(), CASES)
            raise ZeroDivisionError
        assert len(waiting(connection)) == SHARDS, "nothing is left of a plan that failed"


def test_nobody_is_notified_inside_the_transaction_that_plans(store: Store) -> None:
    with store.connect() as listening, store.connect() as connection:
        listening.execute('LISTEN "procrastinate_any_queue_v1"')
        planned(connection)
        assert list(listening.notifies(timeout=0.3)) == []


def test_what_has_neither_a_job_nor_a_holder_gets_a_job_again(store: Store) -> None:
    with store.connect() as connection, ShardLeases(store.url, "me") as leases:
        run_id = planned(connection)
        assert enqueue_missing(connection, [run_id]) == []
        connection.execute("DELETE FROM failproof_queue.procrastinate_jobs")
        held, done = leases.claim(run_id, 3), leases.claim(run_id, 5)
        assert held is not None and done is not None
        leases.release(done, finished=True)
        missing = [ShardId(run_id, k) for k in range(SHARDS) if k not in (3, 5)]
        assert enqueue_missing(connection, [run_id]) == missing
        assert waiting(connection) == [str(each) for each in missing]
        leases.release(held)
        assert enqueue_missing(connection, [run_id]) == [ShardId(run_id, 3)]


def test_a_job_that_does_not_wait_counts_for_nothing_and_goes(store: Store) -> None:
    with store.connect() as connection:
        run_id = planned(connection)
        for shard, status in ((0, "doing"), (1, "failed"), (2, "todo")):
            connection.execute(
                "UPDATE failproof_queue.procrastinate_jobs SET status = %s "
                "WHERE queueing_lock = %s",
                (status, f"{run_id}/{shard}"),
            )
        assert enqueue_missing(connection, [run_id]) == [ShardId(run_id, 0), ShardId(run_id, 1)]
        assert enqueue_missing(connection, [run_id]) == [], "their jobs wait now"
        rows = connection.execute("SELECT count(*) FROM failproof_queue.procrastinate_jobs")
        assert rows.fetchone() == (SHARDS,)


def test_a_job_is_taken_once_the_urgent_ones_first_and_a_locked_one_is_passed_by(
    store: Store,
) -> None:
    async def take(shards: list[ShardId], most: int) -> None:
        async def drive(shard: ShardId) -> None:
            shards.append(shard)
            while len(shards) < 3:  # noqa: ASYNC110 - three are under way at once
                await asyncio.sleep(0.01)

        queue = ShardQueue(store, drive)
        queue.queues.append(str(run_id))
        taking = asyncio.create_task(queue.take_jobs(most))
        async with asyncio.timeout(30):
            while len(shards) < SHARDS - 1:  # noqa: ASYNC110 - it is the database that tells
                await asyncio.sleep(0.01)
        taking.cancel()
        await asyncio.wait([taking], timeout=10)

    async def both() -> None:
        await asyncio.gather(take(one, 1), take(one, 2))

    one: list[ShardId] = []
    with store.connect() as connection, store.connect() as stranger:
        run_id, other = planned(connection), planned(connection)
        connection.execute(
            "UPDATE failproof_queue.procrastinate_jobs SET priority = 1 WHERE queueing_lock = %s",
            (f"{run_id}/4",),
        )
        with stranger.transaction():
            stranger.execute(
                "SELECT FROM failproof_queue.procrastinate_jobs "
                "WHERE queueing_lock = %s FOR UPDATE",
                (f"{run_id}/0",),
            )
            asyncio.run(both())
        assert ShardId(run_id, 4) in one[:3], "three are taken at once, at most"
        assert sorted(one, key=lambda shard: shard.shard) == [
            ShardId(run_id, k) for k in range(1, SHARDS)
        ]
        assert waiting(connection) == [f"{run_id}/0", *(f"{other}/{k}" for k in range(SHARDS))]


def test_a_queue_that_is_left_waits_for_the_shards_under_way(store: Store) -> None:
    async def leave() -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def drive(shard: ShardId) -> None:
            begun.set()
            await may_end.wait()

        queue = ShardQueue(store, drive)
        queue.queues.append(str(run_id))
        taking = asyncio.create_task(queue.take_jobs(1))
        await asyncio.wait_for(begun.wait(), timeout=30)
        taking.cancel()
        done, _ = await asyncio.wait([taking], timeout=0.2)
        assert not done
        may_end.set()
        done, _ = await asyncio.wait([taking], timeout=30)
        assert done and taking.cancelled()

    with store.connect() as connection:
        run_id = planned(connection)
    asyncio.run(leave())


def test_two_workers_that_put_the_same_shard_in_the_queue_put_it_there_once(store: Store) -> None:
    with store.connect() as connection:
        run_id = planned(connection)
        connection.execute(
            "DELETE FROM failproof_queue.procrastinate_jobs WHERE queueing_lock = %s",
            (f"{run_id}/4",),
        )
        wanted = [ShardId(run_id, 3), ShardId(run_id, 4)]
        assert enqueue(connection, wanted) == [ShardId(run_id, 4)]
        assert len(waiting(connection)) == SHARDS


def test_a_run_that_is_closed_has_no_jobs_and_is_cut_as_before_when_it_is_opened(
    store: Store,
) -> None:
    with store.connect() as connection:
        run_id = planned(connection)
        close_run(connection, run_id)
        assert waiting(connection) == []
        assert not is_open(connection, run_id)
        events, _ = begun(CASES, run_id)
        store.log.events.put(events)
        reopen_run(connection, read_run(connection, run_id))
        assert is_open(connection, run_id)
        assert len(waiting(connection)) == SHARDS
        kept = connection.execute(
            "SELECT failproof.open_shards(%s, %s, 1)", (run_id, CASES)
        ).fetchone()
        assert kept == (shard_size(CASES),), "the size that was recorded stays"
        with pytest.raises(psycopg.Error, match="100"):
            connection.execute("SELECT failproof.open_shards(%s, 99, 1)", (run_id,))


def test_a_queue_that_is_missing_is_refused_and_can_be_made_again(store: Store) -> None:
    with (
        store.connect() as connection,
        psycopg.connect(as_administrator(store.url), autocommit=True) as administrator,
    ):
        require_queue(connection)
        run_id = planned(connection)
        administrator.execute("DROP SCHEMA failproof_queue CASCADE")
        assert not has_queue(connection)
        with pytest.raises(InvalidInput, match=r"failproof_queue.*\[schema-not-current\]"):
            require_queue(connection)
        install(administrator, logins=True)
        require_queue(connection)
        assert len(enqueue_missing(connection, [run_id])) == SHARDS


@pytest.mark.parametrize("role", [AUDITOR, PROJECTOR])
def test_only_the_writer_may_put_something_in_the_queue(store: Store, role: str) -> None:
    with store.connect() as connection:
        run_id = planned(connection)
    with psycopg.connect(as_administrator(store.url), autocommit=True) as other:
        other.execute("SELECT set_config('role', %s, false)", (role,))
        if role == AUDITOR:
            other.execute("SELECT count(*) FROM failproof_queue.procrastinate_jobs")
            with pytest.raises(InvalidInput, match=r"failproof_writer.*\[permission-denied\]"):
                require_queue(other)
        for statement in (
            "DELETE FROM failproof_queue.procrastinate_jobs",
            "UPDATE failproof_queue.procrastinate_jobs SET status = 'failed'",
            "SELECT failproof_queue.procrastinate_register_worker_v1()",
            "SELECT failproof.open_shards(gen_random_uuid(), 1, 1)",
            "SELECT failproof.close_shards(gen_random_uuid())",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                other.execute(statement.encode())
    with store.connect() as connection:
        assert len(waiting(connection)) == SHARDS
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "UPDATE failproof.run_shards SET shard_cases = 1 WHERE run_id = %s", (run_id,)
            )
