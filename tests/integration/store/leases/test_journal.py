"""One journal, several leases: a lost one fails the appends made under it, and no others."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.persistence import OperationalError

from failproof_es.store.reading.reader import max_position, read_after
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import Lease, ShardLease, ShardLeases
from failproof_es.store.writing.recorder import EventRecorder, LeaseKey, LeaseLost
from tests.integration.store.test_journal import an_event, with_journal

RUN = UUID(int=22)
SHARDS = 6


@pytest.fixture
def leases(store: Store) -> Iterator[ShardLeases]:
    with ShardLeases(store.url, "me", 600) as own:
        yield own


def shards(leases: ShardLeases, count: int = SHARDS) -> list[ShardLease]:
    held = [leases.claim(RUN, shard) for shard in range(count)]
    return [lease for lease in held if lease is not None]


def take_over(store: Store, *lost: ShardLease) -> None:
    """Let somebody else have these, as if they had ended."""
    with store.connect() as connection:
        for lease in lost:
            connection.execute(
                "SELECT failproof.release_lease(%s, %s, %s)", (RUN, lease.shard, lease.epoch)
            )
            connection.execute(
                "SELECT failproof.claim_lease(%s, %s, 'thief', 600)", (RUN, lease.shard)
            )


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, Sequence[LeaseKey]]]:
    """How many events, and under which leases, each append of the recorder had."""
    made: list[tuple[int, Sequence[LeaseKey]]] = []
    insert = EventRecorder.insert_events

    def counted(self: EventRecorder, stored: Any, **options: Any) -> Any:
        made.append((len(stored), tuple(options.get("leases", ()))))
        return insert(self, stored, **options)

    monkeypatch.setattr(EventRecorder, "insert_events", counted)
    return made


async def at_once(journal: Journal, appends: Sequence[tuple[Any, Any]]) -> list[Any]:
    """What came of appends that wait together, so that they share commits."""
    return await asyncio.gather(
        *(journal.append(event, lease=lease) for event, lease in appends), return_exceptions=True
    )


def test_appends_under_several_leases_share_a_commit(
    store: Store, leases: ShardLeases, statements: list[tuple[int, Sequence[LeaseKey]]]
) -> None:
    held = shards(leases)

    async def work(journal: Journal) -> None:
        await at_once(journal, [(an_event(), held[n % SHARDS]) for n in range(60)])

    with_journal(store, work)
    assert sum(count for count, _ in statements) == 60
    assert len(statements) <= 3
    assert max((len(named) for _, named in statements)) == SHARDS
    assert all(len(set(named)) == len(named) for _, named in statements)


def test_a_lost_lease_fails_its_own_appends_alone(
    store: Store, leases: ShardLeases, statements: list[tuple[int, Sequence[LeaseKey]]]
) -> None:
    held = shards(leases)
    take_over(store, held[2], held[5])
    streams = [uuid4() for _ in held]
    appends: list[tuple[Any, Any]] = [
        (an_event(streams[n % SHARDS], n // SHARDS + 1), held[n % SHARDS]) for n in range(240)
    ]
    appends.insert(120, (an_event(), None))

    async def work(journal: Journal) -> None:
        outcomes = await at_once(journal, appends)
        for (_, lease), outcome in zip(appends, outcomes, strict=True):
            if lease in (held[2], held[5]):
                assert isinstance(outcome, LeaseLost), outcome
            else:
                assert not isinstance(outcome, BaseException), outcome
        await journal.append(an_event(), lease=held[0])
        with pytest.raises(LeaseLost):
            await journal.append(an_event(), lease=held[5])

    with_journal(store, work)
    with store.connect() as connection:
        rows = [(row.stream_id, row.version) for row in read_after(connection, 0, 1000)]
    assert len(rows) == 162
    for stream in (streams[0], streams[1], streams[3], streams[4]):
        assert [v for s, v in rows if s == stream] == list(range(1, 41)), "in their order"
    assert len(statements) < 40, "not one for each append"


def test_an_append_under_no_lease_is_none_of_a_lost_leases_business(
    store: Store, leases: ShardLeases
) -> None:
    [lost] = shards(leases, 1)
    take_over(store, lost)

    async def work(journal: Journal) -> None:
        outcomes = await at_once(journal, [(an_event(), None if n % 2 else lost) for n in range(9)])
        assert [isinstance(each, LeaseLost) for each in outcomes] == [True, False] * 4 + [True]

    with_journal(store, work)


def test_the_lease_of_the_journal_counts_where_an_append_names_none(
    store: Store, leases: ShardLeases
) -> None:
    lost, held = shards(leases, 2)
    take_over(store, lost)

    async def work(journal: Journal) -> None:
        with pytest.raises(LeaseLost):
            await journal.append(an_event())
        await journal.append(an_event(), lease=held)

    with_journal(store, work, lease=lost)
    with store.connect() as connection:
        assert max_position(connection) >= 1


def test_a_conflict_under_several_leases_fails_the_append_at_fault(
    store: Store, leases: ShardLeases
) -> None:
    held = shards(leases)
    take_over(store, held[1])
    stream = uuid4()
    appends = [(an_event(), held[n % SHARDS]) for n in range(24)]
    appends[6] = (an_event(stream, 1), held[0])
    appends[12] = (an_event(stream, 1, message="another"), held[0])

    async def work(journal: Journal) -> None:
        outcomes = await at_once(journal, appends)
        names = [type(each).__name__ for each in outcomes]
        assert names.count("LeaseLost") == 4
        assert names.count("StreamConflict") == 1 and names[12] == "StreamConflict"

    with_journal(store, work)


@pytest.mark.slow
def test_a_lease_that_ended_and_was_claimed_again_loses_no_append(store: Store) -> None:
    """Again and again, while the journal writes under it: it asks the lease for its epoch."""
    with ShardLeases(store.url, "me", 0.001) as own:
        lease = own.claim(RUN, 0)
        assert lease is not None

        appended = 0

        async def work(journal: Journal) -> None:
            nonlocal appended

            async def renew() -> None:
                while True:
                    # A claim that waited too long behind an append is made again, as workers do.
                    with suppress(psycopg.errors.LockNotAvailable):
                        assert await asyncio.to_thread(own.renew) == []
                    await asyncio.sleep(0.01)  # without it every append meets a new epoch

            renewing = asyncio.create_task(renew())
            while appended < 40 or (lease.epoch <= 5 and not renewing.done()):
                await journal.append(an_event(), lease=lease)
                appended += 1
            renewing.cancel()
            with suppress(asyncio.CancelledError):
                await renewing

        with_journal(store, work)
        assert lease.epoch > 5
    with store.connect() as connection:
        assert len(read_after(connection, 0, 10_000)) == appended


def test_an_append_is_tried_for_as_often_as_its_lease_is_claimed_again(
    store: Store, leases: ShardLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More often than Python calls itself."""
    [lease] = shards(leases, 1)
    insert = EventRecorder.insert_events
    newest = 2 * sys.getrecursionlimit()

    def claimed_again_before(self: EventRecorder, stored: Any, **options: Any) -> Any:
        if lease.epoch < newest:
            lease.epoch += 1
            raise LeaseLost("the log is at the next epoch")
        lease.epoch = 1
        return insert(self, stored, **{**options, "leases": [(RUN, lease.shard, 1)]})

    monkeypatch.setattr(EventRecorder, "insert_events", claimed_again_before)

    async def work(journal: Journal) -> None:
        assert len(await journal.append(an_event(), lease=lease)) == 1

    with_journal(store, work)


def test_a_reply_that_waited_through_an_outage_is_recorded_though_its_lease_ended(
    store: Store,
) -> None:
    with ShardLeases(store.url, "me", 0.05) as own:
        lease = own.claim(RUN, 0)
        time.sleep(0.1)

        async def work(journal: Journal) -> None:
            await journal.append(an_event(), lease=lease)

        with_journal(store, work)


@pytest.mark.parametrize("committed_by", ["this process", "its successor"])
def test_a_lease_that_is_lost_is_lost_whoever_committed_the_same_bytes(
    store: Store, leases: ShardLeases, monkeypatch: pytest.MonkeyPatch, committed_by: str
) -> None:
    """Nobody can tell whose they are: a request that the successor recorded is not sent here."""
    held = shards(leases, 2)
    insert = EventRecorder.insert_events
    cut: list[bool] = []

    def loses_the_first(self: EventRecorder, stored: Any, **options: Any) -> Any:
        if cut:
            return insert(self, stored, **options)
        cut.append(True)
        if committed_by == "this process":
            insert(self, stored, **options)
        take_over(store, held[0])
        if committed_by == "its successor":
            insert(self, stored, notify=False)
        raise OperationalError("the connection was cut")

    monkeypatch.setattr(EventRecorder, "insert_events", loses_the_first)

    async def work(journal: Journal) -> None:
        appends = [(an_event(), held[n % 2]) for n in range(6)]
        first = await at_once(journal, appends)
        assert [isinstance(each, LeaseLost) for each in first] == [True, False] * 3, first
        with pytest.raises(LeaseLost):
            await journal.append(an_event(), lease=held[0])

    with_journal(store, work)
    with store.connect() as connection:
        assert len(read_after(connection, 0, 1000)) == 6


def test_a_lease_names_the_run_itself(store: Store) -> None:
    with Lease(store.url, RUN, "driver").acquire() as lease:

        async def work(journal: Journal) -> None:
            await journal.append(an_event())

        with_journal(store, work, lease=lease)
