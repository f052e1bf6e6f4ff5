"""A run that several workers write: under leases, and on its own stream by turns."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.configuration.gates_section import Gates
from failproof_es.core.case import prompt_id
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.run import Run
from failproof_es.core.sharding.shards import PlanPart, ShardId
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import RunStream
from failproof_es.engine.history import read_chunk, read_run
from failproof_es.engine.unfinished import read_unfinished_part
from failproof_es.engine.workers import ending
from failproof_es.engine.workers.ending import Coordinator, _count
from failproof_es.engine.workers.leased_journal import LeasedJournal
from failproof_es.engine.workers.shard_queue import begin_run, is_open, open_runs
from failproof_es.events import LimitChanged
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import RunBusy, ShardLease, ShardLeases
from failproof_es.store.writing.recorder import LeaseLost
from tests.benchmarks.rebuild import begun, history
from tests.integration.store.test_journal import an_event

CASES = 40
LIMIT: dict[str, Any] = {
    "server": "here", "models": ("model",), "limit_before": 4, "limit_after": 2,
    "reason": "rate_limited", "retry_after_s": None, "held_until": None,
}  # fmt: skip


@pytest.fixture
def run_id(store: Store) -> UUID:
    """A run of forty cases that is open for workers; the first five are finished."""
    found = uuid4()
    events, prompts = begun(CASES, found)
    with store.connect() as connection, connection.transaction():
        connection.execute("SELECT failproof.number_run(%s)", (found,))
        begin_run(connection, found, CASES)
    store.log.events.put(events)
    for prompt in prompts[:5]:
        store.log.events.put(list(history(prompt, found)))
    return found


def test_what_is_left_of_a_shard_is_that_of_its_cases_alone(store: Store, run_id: UUID) -> None:
    with store.connect() as connection:
        run = read_run(connection, run_id)
        keys = [model.key for model in run.started.models]
        found = read_unfinished_part(connection, run, PlanPart(range(4, 8), 1), keys)
        assert found.scored + found.abandoned == len(keys)
        assert len(found.keys) == 3 * len(keys)
        counts, left = _count(connection, run)
        assert counts.finished == 5 * len(keys)
        assert left == [ShardId(run_id, k) for k in range(2, 20)], "two cases in each shard"


def test_who_lost_a_shard_cannot_append_for_it(store: Store, run_id: UUID) -> None:
    async def main() -> None:
        journal = Journal(store.log)
        with ShardLeases(store.url, "zombie") as zombie, ShardLeases(store.url, "heir") as heir:
            old = zombie.claim(run_id, 3)
            assert old is not None
            await LeasedJournal(journal, old).append(an_event())
            with store.connect() as connection:  # as if it had ended
                connection.execute("SELECT failproof.release_lease(%s, 3, %s)", (run_id, old.epoch))
            new = heir.claim(run_id, 3)
            assert new is not None
            with pytest.raises(LeaseLost):
                await LeasedJournal(journal, old).append(an_event())
            await LeasedJournal(journal, new).append(an_event())
        await journal.close()

    asyncio.run(main())


def test_two_workers_that_write_the_run_s_stream_decide_again(store: Store, run_id: UUID) -> None:
    async def main() -> None:
        journal, reader = Journal(store.log), RetryingReader(store)

        async def reread() -> Run:
            return await reader.read(read_run, run_id)

        with ShardLeases(store.url, "workers") as leases:
            held = [leases.claim(run_id, shard) for shard in (0, 1)]
            run = await reread()
            first, second = (
                RunStream(run, LeasedJournal(journal, lease), lambda event: None, reread)
                for lease in held
                if lease is not None
            )
            await first.record(LimitChanged, **LIMIT)
            await second.record(LimitChanged, **LIMIT)
            assert second.run.version == run.version + 2
            coordinator = Coordinator(store, leases, lambda event: None)
            await coordinator.pause(run_id, "a wrong key")
            with pytest.raises(ImpossibleHistory, match="paused"):
                await first.record(LimitChanged, **LIMIT)
            paused = await reread()
            assert (paused.status, paused.reason) == ("paused", "a wrong key")
            with store.connect() as connection:
                assert not is_open(connection, run_id)
            with store.connect() as connection:
                assert open_runs(connection) == []
        await journal.close()

    asyncio.run(main())


def test_a_run_that_one_process_drives_alone_is_not_opened_for_workers(
    store: Store, run_id: UUID
) -> None:
    async def main() -> None:
        with ShardLeases(store.url, "alone") as alone, ShardLeases(store.url, "other") as other:
            assert alone.claim(run_id, alone=True) is not None
            assert other.claim(run_id, 0) is None
            with pytest.raises(RunBusy, match="alone"):
                await Coordinator(store, other, lambda event: None).resume(run_id)

    asyncio.run(main())


def test_who_ends_a_run_waits_for_the_database(
    store: Store, run_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker whose connection was cut at that moment is not ended by it. A simulation found it:
    the lease of the run itself was claimed once."""
    claim, cut = ShardLeases.claim, iter([True])

    def claimed(self: ShardLeases, *named: Any, **given: Any) -> ShardLease | None:
        if next(cut, False):
            raise psycopg.OperationalError("the connection was cut")
        return claim(self, *named, **given)

    monkeypatch.setattr(ShardLeases, "claim", claimed)
    resolved = SimpleNamespace(gates=Gates())  # what the run has on record names no models
    monkeypatch.setattr(ending, "configuration_from_resolved", lambda recorded: resolved)

    async def main() -> None:
        with ShardLeases(store.url, "worker") as leases:
            coordinator = Coordinator(store, leases, lambda event: None)
            assert not await coordinator.finish(run_id), "most of it is left to be done"
            assert list(cut) == []

    asyncio.run(main())


def test_a_run_is_ended_by_what_the_log_says_whatever_was_believed_of_its_shards(
    store: Store, run_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = SimpleNamespace(gates=Gates())  # what the run has on record names no models
    monkeypatch.setattr(ending, "configuration_from_resolved", lambda recorded: resolved)

    async def main() -> None:
        with ShardLeases(store.url, "last one") as leases:
            coordinator = Coordinator(store, leases, lambda event: None)
            assert not await coordinator.finish(run_id), "of forty evaluations five have ended"
            with store.connect() as connection:
                run = read_run(connection, run_id)
                assert (run.status, run.ended) == ("running", False)
                for digest in read_chunk(connection, run_id, 0)[5:]:
                    store.log.events.put(list(history(prompt_id(digest), run_id)))
            assert await coordinator.finish(run_id)
            with store.connect() as connection:
                run = read_run(connection, run_id)
        assert (run.status, run.sealed) == ("completed", True)
        assert run.counts is not None
        assert (run.counts.planned, run.counts.scored, run.counts.abandoned) == (CASES, CASES, 0)

    asyncio.run(main())
