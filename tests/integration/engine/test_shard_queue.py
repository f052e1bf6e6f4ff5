"""The queue of shards: hints that can be lost, and come back from leases and the log."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException

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


def test_the_job_of_a_process_that_is_gone_counts_for_nothing(store: Store) -> None:
    with store.connect() as connection:
        run_id = planned(connection)
        connection.execute(
            "INSERT INTO failproof_queue.procrastinate_workers (last_heartbeat) "
            "VALUES (now()), (now() - interval '1 minute')"
        )
        for shard, worker in ((0, 1), (1, 2), (2, None)):
            connection.execute(
                "UPDATE failproof_queue.procrastinate_jobs SET status = 'doing', worker_id = %s "
                "WHERE queueing_lock = %s",
                (worker, f"{run_id}/{shard}"),
            )
        assert enqueue_missing(connection, [run_id]) == [ShardId(run_id, 1), ShardId(run_id, 2)]


def test_the_job_of_a_process_that_lost_its_lease_counts_for_nothing(store: Store) -> None:
    """It may be cut off: its heartbeat is as young as that of a process that lives."""
    with store.connect() as connection, ShardLeases(store.url, "cut off", seconds=0.2) as leases:
        run_id = planned(connection)
        connection.execute(
            "INSERT INTO failproof_queue.procrastinate_workers (last_heartbeat) VALUES (now())"
        )
        connection.execute(
            "UPDATE failproof_queue.procrastinate_jobs SET status = 'doing', worker_id = 1 "
            "WHERE queueing_lock = ANY (%s)",
            ([f"{run_id}/0", f"{run_id}/1"],),
        )
        assert leases.claim(run_id, 1) is not None
        assert enqueue_missing(connection, [run_id]) == []
        time.sleep(0.25)
        assert enqueue_missing(connection, [run_id]) == [ShardId(run_id, 1)]
        assert enqueue_missing(connection, [run_id]) == [], "its job waits now"


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
        with pytest.raises(InvalidInput, match="db init"):
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
            with pytest.raises(InvalidInput, match="failproof_writer"):
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


def test_a_queue_that_loses_the_server_while_it_is_left_is_left_all_the_same(store: Store) -> None:
    calls: list[None] = []

    async def lose_the_server(**_: object) -> None:
        calls.append(None)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if len(calls) > 1:
                raise
            raise ConnectorException("away") from None

    async def leave() -> None:
        async with ShardQueue(store.url, never) as queue:
            queue.app.run_worker_async = lose_the_server  # type: ignore[method-assign]
            taking = asyncio.create_task(queue.take_jobs(1))
            await asyncio.sleep(0.05)
            taking.cancel()
            done, _ = await asyncio.wait([taking], timeout=2)
            assert done and taking.cancelled()

    asyncio.run(leave())


def test_a_job_that_cannot_be_put_down_as_over_is_no_news(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(*_: object, **__: object) -> None:
        over.set()
        raise ConnectorException("away")

    async def take() -> None:
        async with ShardQueue(store.url, never) as queue:
            queue.queues.append(str(run_id))
            queue.app.job_manager.finish_job = away  # type: ignore[method-assign]
            taking = asyncio.create_task(queue.take_jobs(1))
            await asyncio.wait_for(over.wait(), timeout=10)
            await asyncio.sleep(0.05)
            taking.cancel()
            await asyncio.wait([taking], timeout=10)
            gc.collect()
            asyncio.get_running_loop().call_exception_handler({"message": "another one"})

    with store.connect() as connection:
        run_id = planned(connection)
    over = asyncio.Event()
    asyncio.run(take())
    told = [record.getMessage() for record in caplog.records if record.name == "asyncio"]
    assert told == ["another one"]


async def never(shard: ShardId) -> None:
    """Drives nothing."""
