"""The one call that appends beside a drive: other writers, kills, lost acknowledgements."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.assurance.checking.findings import CLOCK
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.events import Event, PromptsImported
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.errors import JournalError, ReadOnlyLog, StreamConflict
from failproof_es.store.outage import LogUnavailable, Outage
from failproof_es.store.reading.reader import Connection, read_after, read_streams, stream_versions
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import MOST_TRIES, append, append_drafts, append_within
from failproof_es.store.writing.event_header import Draft, EventHeader
from failproof_es.store.writing.recorder import EventRecorder
from tests.servers.postgres_proxy import HalfOpenProxy

SPAWN = multiprocessing.get_context("spawn")


def a_draft(stream: UUID, text: str = "t") -> Draft:
    return Draft(
        PromptsImported, EventHeader(stream, None, who="w", where="h"), collection="c", dialect="d",
        path=text, sha256="s", digests=(),
    )  # fmt: skip


def texts(store: Store, stream: UUID) -> list[str]:
    """What the stream holds; its versions are dense."""
    with store.connect() as connection:
        rows = read_streams(connection, [stream]).get(stream, [])
    assert [row.version for row in rows] == list(range(1, len(rows) + 1))
    return [row.payload()["path"] for row in rows]


def test_events_follow_what_their_streams_hold_in_the_order_given(store: Store) -> None:
    one, other = uuid4(), uuid4()
    first = append_drafts(store, [a_draft(one, "a"), a_draft(other, "b"), a_draft(one, "c")])
    assert [(e.originator_id, e.originator_version) for e in first] == [
        (one, 1), (other, 1), (one, 2)
    ]  # fmt: skip
    [third] = append_drafts(store, [a_draft(one, "d")])
    assert third.originator_version == 3
    assert (texts(store, one), texts(store, other)) == (["a", "c", "d"], ["b"])
    assert append_drafts(store, []) == []


def test_what_is_returned_is_what_is_recorded(store: Store) -> None:
    stream = uuid4()
    events = append_drafts(store, [a_draft(stream, "\x00 naïve \u2028")])
    with store.connect() as connection:
        assert [row.event() for row in read_streams(connection, [stream])[stream]] == events


def recorded_times(store: Store) -> list[datetime]:
    """When the events of the log were recorded, in their order."""
    with store.connect() as connection:
        return [row.recorded_at for row in read_after(connection, 0, 1000)]


@pytest.mark.parametrize("seconds", [3, 86_000])
def test_a_clock_that_is_set_back_records_no_time_before_the_last_one(
    store: Store, administrator: psycopg.Connection[Any], seconds: int
) -> None:
    append_drafts(store, [a_draft(uuid4())])
    _ahead(administrator, seconds)
    append_drafts(store, [a_draft(uuid4()), a_draft(uuid4())])
    append_drafts(store, [a_draft(uuid4())])
    times = recorded_times(store)
    assert times == sorted(times)
    with store.connect() as connection:
        findings = [each.kind for each in verify_log(connection, None).findings]
    assert CLOCK not in findings


def test_a_time_in_years_is_that_of_one_event_alone(
    store: Store, administrator: psycopg.Connection[Any]
) -> None:
    append_drafts(store, [a_draft(uuid4())])
    _ahead(administrator, 86_400 * 365)
    append_drafts(store, [a_draft(uuid4())])
    wrong, right = recorded_times(store)[-2:]
    assert wrong - right > timedelta(days=300)


def _ahead(administrator: psycopg.Connection[Any], seconds: int) -> None:
    """The last event was recorded by a clock that was so far ahead."""
    with administrator.transaction():
        administrator.execute("SET LOCAL event_triggers = off")
        administrator.execute("ALTER TABLE failproof.events DISABLE TRIGGER USER")
        administrator.execute(
            "UPDATE failproof.events "
            "SET recorded_at = clock_timestamp() + %s * interval '1 second' "
            "WHERE notification_id = (SELECT max(notification_id) FROM failproof.events)",
            (seconds,),
        )
        administrator.execute("ALTER TABLE failproof.events ENABLE TRIGGER USER")


def test_who_is_second_decides_again_by_what_the_first_did(store: Store) -> None:
    """What was read and where it goes are of one moment: a rival is never numbered past."""
    stream = uuid4()
    seen: list[int] = []

    def decide(connection: Connection) -> Iterator[Draft]:
        seen.append(stream_versions(connection, [stream]).get(stream, 0))
        if len(seen) == 1:
            append_drafts(store, [a_draft(stream, "rival")])
        yield a_draft(stream, f"after {seen[-1]}")

    append(store, decide)
    assert seen == [0, 1]
    assert texts(store, stream) == ["rival", "after 1"]


def test_what_was_decided_against_is_not_appended(store: Store) -> None:
    stream = uuid4()
    tries = count()

    def decide(connection: Connection) -> list[Draft]:
        if stream in stream_versions(connection, [stream]):
            return []
        if next(tries) == 0:
            append_drafts(store, [a_draft(stream, "rival")])
        return [a_draft(stream, "mine")]

    assert append(store, decide) == []
    assert texts(store, stream) == ["rival"]


def test_who_decides_reads_and_writes_nothing(store: Store) -> None:
    """What it wrote would stay where its events are refused, and be written at every try."""
    stream = uuid4()

    def decide(connection: Connection) -> list[Draft]:
        append_within(store, connection, [a_draft(stream, "while deciding")])
        return [a_draft(stream)]

    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        append(store, decide)
    assert texts(store, stream) == []


def test_a_stream_that_others_always_lengthen_is_given_up_with_both_versions(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("failproof_es.store.writing.appending.time.sleep", lambda _: None)
    monkeypatch.setattr("failproof_es.store.writing.appending.MOST_TRIES", MOST_TRIES // 10)
    stream, elsewhere = uuid4(), uuid4()

    def decide(connection: Connection) -> list[Draft]:
        stream_versions(connection, [stream])
        append_drafts(store, [a_draft(stream, "rival")])
        return [a_draft(elsewhere), a_draft(stream, "mine")]

    with pytest.raises(StreamConflict) as raised:
        append(store, decide)
    error = raised.value
    assert isinstance(error, JournalError)
    assert (error.stream_id, error.expected_version, error.actual_version) == (
        stream, MOST_TRIES // 10 - 1, MOST_TRIES // 10
    )  # fmt: skip
    assert "mine" not in texts(store, stream) and texts(store, elsewhere) == []


def test_the_recorder_says_which_version_it_expected_and_which_there_is(store: Store) -> None:
    stream = uuid4()
    append_drafts(store, [a_draft(stream), a_draft(stream), a_draft(stream)])
    late = store.log.mapper.to_stored_event(a_draft(stream, "late").after(1))
    with pytest.raises(StreamConflict, match=f"{stream} is at version 3.*version 1") as raised:
        store.log.recorder.insert_events([late])
    assert (raised.value.expected_version, raised.value.actual_version) == (1, 3)


# -- real processes --------------------------------------------------------------------------


def write_many(url: str, stream: UUID, who: str, times: int) -> None:
    with Store(url) as store:
        for number in range(times):
            append_drafts(store, [a_draft(stream, f"{who} {number} {part}") for part in range(3)])


def whole(said: list[str], who: str) -> list[int]:
    """Which appends of a writer are there: each whole, in a row, in their order."""
    numbers = [int(each.split()[1]) for each in said if each.startswith(f"{who} ")]
    assert numbers[::3] == numbers[1::3] == numbers[2::3] == sorted(set(numbers))
    places = [place for place, each in enumerate(said) if each.startswith(f"{who} ")]
    assert all(b == a + 1 for a, b in zip(places[::3], places[1::3], strict=True))
    return numbers[::3]


@pytest.mark.slow
def test_processes_that_write_to_one_stream_at_once_lose_nothing(store: Store) -> None:
    stream = uuid4()
    writers = [
        SPAWN.Process(target=write_many, args=(store.url, stream, f"w{number}", 25))
        for number in range(2)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
        assert writer.exitcode == 0
    said = texts(store, stream)
    for number in range(2):
        assert whole(said, f"w{number}") == list(range(25))


@pytest.mark.slow
def test_a_writer_killed_anywhere_leaves_whole_appends(store: Store) -> None:
    stream = uuid4()
    draw = random.Random(20261122)
    for number in range(2):
        writer = SPAWN.Process(target=write_many, args=(store.url, stream, f"w{number}", 10_000))
        writer.start()
        deadline = time.monotonic() + 60
        while not any(each.startswith(f"w{number} ") for each in texts(store, stream)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(draw.uniform(0, 0.05))
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(30)
        append_drafts(store, [a_draft(stream, f"between {number}")])
    said = texts(store, stream)
    for number in range(2):
        numbers = whole(said, f"w{number}")
        assert numbers == list(range(len(numbers))) and numbers
    assert said[-1] == "between 1"


# -- the server goes away ----------------------------------------------------------------------


def test_a_commit_whose_acknowledgement_was_lost_is_made_once(
    store: Store, postgres_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks after the server committed and before it could say so."""
    stream = uuid4()
    cut = iter([True])
    with HalfOpenProxy(postgres_server) as proxy, Store(proxy.url_of(store.url)) as behind:
        inserted = EventRecorder._inserted

        def then_cut(recorder: EventRecorder, *arguments: Any) -> list[int]:
            positions = inserted(recorder, *arguments)
            for _ in cut:
                proxy.cut(both_ends=True)
                with recorder.datastore.get_connection() as connection:
                    connection.execute("SELECT 1")  # as the acknowledgement: it never comes
            return positions

        monkeypatch.setattr(EventRecorder, "_inserted", then_cut)
        [event] = append_drafts(behind, [a_draft(stream, "once")])
    assert next(cut, None) is None, "the connection was cut"
    with store.connect() as connection:
        assert [row.event() for row in read_streams(connection, [stream])[stream]] == [event]


def test_a_server_that_goes_away_while_it_is_decided_is_waited_for(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    stream = uuid4()
    seen: list[int] = []
    with HalfOpenProxy(postgres_server) as proxy, Store(proxy.url_of(store.url)) as behind:

        def decide(connection: Connection) -> list[Draft]:
            if not seen:
                seen.append(-1)
                proxy.cut(both_ends=True)
            seen.append(stream_versions(connection, [stream]).get(stream, 0))
            return [a_draft(stream, f"decided {len(seen)}")]

        append(behind, decide)
    assert seen == [-1, 0]
    assert texts(store, stream) == ["decided 2"]


def test_a_server_that_stays_away_while_it_is_decided_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> Connection:
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr(Store, "outage", Outage(longest_s=0.2))
    monkeypatch.setattr(Store, "lend", away)
    with pytest.raises(LogUnavailable, match="gone"):
        append_drafts(store, [a_draft(uuid4())])


def test_a_server_that_stays_away_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from eventsourcing.persistence import OperationalError

    def away(*_: Any) -> list[int]:
        raise OperationalError("gone")

    monkeypatch.setattr(Store, "outage", Outage(longest_s=0.2))
    monkeypatch.setattr(EventRecorder, "_inserted", away)
    with pytest.raises(LogUnavailable, match="gone"):
        append_drafts(store, [a_draft(uuid4())])


# -- who may not ---------------------------------------------------------------------------------


def test_an_auditor_is_told_at_once(store: Store) -> None:
    with Store(store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")) as reading:
        begin = time.monotonic()
        with pytest.raises(ReadOnlyLog) as raised:
            append_drafts(reading, [a_draft(uuid4())])
        assert time.monotonic() - begin < 10
        assert not raised.value.whole


def test_a_standby_is_told_at_once(store: Store, administrator: psycopg.Connection[Any]) -> None:
    administrator.execute(f"ALTER ROLE {WRITER} IN DATABASE {administrator.info.dbname} "
                          "SET default_transaction_read_only = on".encode())  # fmt: skip
    with Store(store.url) as reading, pytest.raises(ReadOnlyLog) as raised:
        append_drafts(reading, [a_draft(uuid4())])
    assert raised.value.whole


def test_within_a_transaction_of_ones_own(store: Store) -> None:
    stream = uuid4()
    with store.connect() as connection:
        with connection.transaction():
            events: list[Event] = append_within(store, connection, [a_draft(stream, "a")])
            append_within(store, connection, [a_draft(stream, "b")])
        assert events[0].originator_version == 1
        with pytest.raises(RuntimeError), connection.transaction():
            append_within(store, connection, [a_draft(stream, "c")])
            raise RuntimeError("not after all")
    assert texts(store, stream) == ["a", "b"]
