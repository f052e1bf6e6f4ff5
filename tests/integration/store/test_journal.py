"""The journal: durable when told so, grouped, fair in conflicts, of any size."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from eventsourcing.persistence import OperationalError

from failproof_es.events import Counts, ErrorRecorded, Event, RunFailed
from failproof_es.store.errors import StreamConflict
from failproof_es.store.reading.reader import max_position, read_after, read_streams
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal, JournalClosed, JournalLimits
from failproof_es.store.writing.lease import Lease
from failproof_es.store.writing.recorder import EventRecorder, LeaseLost


def an_event(stream: UUID | None = None, version: int = 1, message: str = "m") -> ErrorRecorded:
    return ErrorRecorded(
        originator_id=stream or uuid4(), originator_version=version, run_id=uuid4(),
        timestamp=datetime.now(UTC), prompt_id=uuid4(), model_key="m", repetition=1,
        purpose="target", turn=0, attempt=1, kind="timeout", message=message,
        disposition="transient", stack_trace="",
    )  # fmt: skip


def with_journal(
    store: Store, work: Callable[[Journal], Awaitable[None]], **options: object
) -> None:
    async def main() -> None:
        journal = Journal(store.log, **options)  # type: ignore[arg-type]
        try:
            await work(journal)
        finally:
            await journal.close()

    asyncio.run(main())


def test_an_append_returns_when_its_events_can_be_read(store: Store) -> None:
    event = an_event()

    async def work(journal: Journal) -> None:
        positions = await journal.append(event)
        with store.connect() as connection:
            [row] = read_after(connection, positions[0] - 1, 10)
            assert row.event() == event

    with_journal(store, work)


def test_nobody_is_told_of_an_append_before_it_is_committed(
    store: Store, administrator: psycopg.Connection[Any]
) -> None:
    event = an_event()

    async def work(journal: Journal) -> None:
        with administrator.transaction():  # no commit can get past this lock
            administrator.execute("SELECT failproof.lock_append()")
            appending = asyncio.ensure_future(journal.append(event))
            done, _ = await asyncio.wait({appending}, timeout=0.5)
            assert not done
        [position] = await appending
        with store.connect() as connection:
            [row] = read_after(connection, position - 1, 10)
        assert row.event() == event

    with_journal(store, work)


def test_five_hundred_concurrent_appends_share_a_few_commits(
    store: Store, administrator: psycopg.Connection[Any]
) -> None:
    events = [an_event() for _ in range(500)]

    async def work(journal: Journal) -> None:
        positions = await asyncio.gather(*(journal.append(event) for event in events))
        assert len({position for [position] in positions}) == 500

    with_journal(store, work)
    row = administrator.execute(
        "SELECT count(DISTINCT xmin::text) FROM failproof.events"
    ).fetchone()
    assert row is not None and row[0] < 50


def test_of_a_group_only_the_append_that_conflicts_fails(store: Store) -> None:
    taken = an_event()

    async def work(journal: Journal) -> None:
        await journal.append(taken)
        rival = an_event(stream=taken.originator_id, message="another")
        others = [an_event() for _ in range(20)]
        outcomes = await asyncio.gather(
            *(journal.append(e) for e in [*others[:11], rival, *others[11:]]),
            return_exceptions=True,
        )
        assert [type(o) for o in outcomes].count(StreamConflict) == 1
        assert isinstance(outcomes[11], StreamConflict)

    with_journal(store, work)
    with store.connect() as connection:
        assert len(read_after(connection, 0, 100)) == 21


def test_an_append_whose_acknowledgement_was_lost_has_succeeded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = an_event()
    insert, tries = EventRecorder._inserted, []

    def inserted(self: EventRecorder, *given: Any) -> list[int]:
        tries.append(given)
        positions = insert(self, *given)
        if len(tries) == 1:
            raise OperationalError("the connection was cut after the commit")
        return positions

    monkeypatch.setattr(EventRecorder, "_inserted", inserted)

    async def work(journal: Journal) -> None:
        [position] = await journal.append(event)
        with store.connect() as connection:
            [row] = read_after(connection, 0, 100)
        assert row.position == position

    with_journal(store, work)
    assert len(tries) == 2


def test_the_same_bytes_of_another_writer_are_a_conflict(store: Store) -> None:
    """Two processes that wait for one moment may say the same at it: only one of them said it."""
    event = an_event()

    async def work(journal: Journal) -> None:
        await journal.append(event)
        with pytest.raises(StreamConflict):
            await journal.append(event)

    with_journal(store, work)


def test_an_append_of_several_events_is_all_or_nothing(store: Store) -> None:
    taken = an_event()
    fresh = an_event()

    async def work(journal: Journal) -> None:
        await journal.append(taken)
        with pytest.raises(StreamConflict):
            await journal.append(fresh, an_event(stream=taken.originator_id, message="rival"))

    with_journal(store, work)
    with store.connect() as connection:
        assert fresh.originator_id not in read_streams(connection, [fresh.originator_id])


@pytest.mark.slow
def test_one_event_of_eight_megabytes_and_a_batch_of_twenty_go_through(store: Store) -> None:
    large = an_event(message="x" * 8_000_000)
    many = [an_event(message="y" * 1_000_000) for _ in range(20)]

    async def work(journal: Journal) -> None:
        await journal.append(large)
        await journal.append(*many)

    with_journal(store, work, limits=JournalLimits(batch_bytes=100_000_000))
    with store.connect() as connection:
        assert max_position(connection) == 21
        [first] = read_after(connection, 0, 1)
        assert first.event() == large


def test_a_slow_log_holds_the_callers_back(store: Store) -> None:
    async def work(journal: Journal) -> None:
        appends = [
            asyncio.create_task(journal.append(an_event(message="z" * 1000))) for _ in range(50)
        ]
        await asyncio.gather(*appends)

    with_journal(store, work, limits=JournalLimits(waiting_bytes=2_000, batch_bytes=2_000))


def test_a_process_that_lost_its_lease_cannot_write(store: Store) -> None:
    run_id = uuid4()
    old = Lease(store.url, run_id, "first").acquire()
    old.release()
    with Lease(store.url, run_id, "second").acquire() as new:
        assert new.epoch == old.epoch + 1

        async def work(journal: Journal) -> None:
            with pytest.raises(LeaseLost):
                await journal.append(an_event())

        with_journal(store, work, lease=old)
    with store.connect() as connection:
        assert max_position(connection) == 0


def test_a_closed_journal_takes_nothing(store: Store) -> None:
    async def main() -> None:
        journal = Journal(store.log)
        await journal.close()
        with pytest.raises(JournalClosed):
            await journal.append(an_event())

    asyncio.run(main())


def test_zero_bytes_and_any_unicode_come_back_as_they_were(store: Store) -> None:
    event: Event = RunFailed(
        originator_id=uuid4(), originator_version=1, run_id=None, timestamp=datetime.now(UTC),
        reason="\x00\u202e\U0001f600 \u2028",
        counts=Counts(planned=1, finished=0, scored=0, abandoned=0),
    )  # fmt: skip

    async def work(journal: Journal) -> None:
        await journal.append(event)

    with_journal(store, work)
    with store.connect() as connection:
        [row] = read_after(connection, 0, 1)
        assert row.event() == event
        log = connection.execute("SELECT payload::text FROM failproof.event_log").fetchone()
        assert log is not None and log[0].encode() == row.state
