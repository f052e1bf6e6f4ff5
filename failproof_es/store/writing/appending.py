"""Appends events to streams that have several writers.

It numbers the events, adds their headers, and retries if another writer was first. A running run
appends through the journal: there each stream has one writer, and a conflict is an error.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar, cast
from uuid import UUID

import psycopg
from eventsourcing.persistence import StoredEvent

from failproof_es.events import Event
from failproof_es.store.errors import ReadOnlyLog, StreamConflict
from failproof_es.store.mapper import LogEntry
from failproof_es.store.outage import AWAY
from failproof_es.store.reading.reader import Connection, existing_streams, stream_versions
from failproof_es.store.store import Store
from failproof_es.store.writing.event_header import Draft, to_events
from failproof_es.store.writing.recorder import CONNECTION_ERRORS, EventRecorder, append_entries

T = TypeVar("T")
Decide = Callable[[Connection], Iterable[Draft]]

MOST_TRIES = 100
"""Number of tries after which an append gives up, because others appended first each time."""
_LONGEST_PAUSE_S = 0.05
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_STANDBY = psycopg.errors.ReadOnlySqlTransaction
_GONE = tuple(error_class for error_class in AWAY if error_class is not _STANDBY)
"""Errors of an outage while `decide` reads. A standby is none: reading works there, too."""
_READ_ONLY = (psycopg.errors.InsufficientPrivilege, _STANDBY)


def append(store: Store, decide: Decide) -> list[Event]:
    """Append the drafts that `decide` returns, all or nothing. Return the events as recorded.

    `decide` reads from the given connection. It is called again if a stream grew or the server
    went away meanwhile, so that its decision and the append are of one state of the log. Without
    drafts nothing is appended. If the acknowledgement of a commit was lost, the events are
    recognised by their bytes.

    Raises `StreamConflict` after `MOST_TRIES` conflicts in a row, `ReadOnlyLog` where this user or
    this database only reads, `LogUnavailable` where the server stays away.
    """
    for tries in range(MOST_TRIES):
        deciding = partial(_draft_events, store, decide)
        events = store.outage.retry(deciding, _GONE)
        if not events:
            return []
        try:
            _insert(store, events)
        except StreamConflict:
            if tries + 1 == MOST_TRIES:
                raise
            time.sleep(random.uniform(0, _LONGEST_PAUSE_S))  # noqa: S311
            continue
        return events
    raise AssertionError("unreachable")


def append_drafts(store: Store, drafts: Sequence[Draft]) -> list[Event]:
    """Append these drafts to the ends of their streams. Raises as `append` does."""
    return append(store, lambda _: drafts)


def append_within(store: Store, connection: Connection, drafts: Sequence[Draft]) -> list[Event]:
    """Append these drafts in the caller's transaction, whose lock keeps other writers away.

    Raises `StreamConflict` if there is no such lock, and `IncompleteAppend`.
    """
    events = list(to_events(drafts, stream_versions(connection, _draft_streams(drafts))))
    append_entries(connection, [store.log.mapper.to_stored_event(event) for event in events])
    return events


def append_first(store: Store, entries: Sequence[LogEntry]) -> None:
    """Append the first events of streams, except those whose streams exist already.

    All new ones or none. Of several writers of one stream the first one wins, which makes no
    difference: the stream's id determines its content. Raises as `append` does.
    """
    for tries in range(MOST_TRIES):
        reading = partial(_missing_entries, store, entries)
        missing = store.outage.retry(reading)
        if not missing:
            return
        try:
            _insert_entries(store, missing)
        except StreamConflict:
            if tries + 1 == MOST_TRIES:
                raise
            continue
        return


def _missing_entries(store: Store, entries: Sequence[LogEntry]) -> list[LogEntry]:
    with store.lend() as connection:
        existing = existing_streams(connection, [_stream_of(entry) for entry in entries])
    return [entry for entry in entries if _stream_of(entry) not in existing]


def _stream_of(entry: LogEntry) -> UUID:
    return cast("UUID", entry.originator_id)


def _draft_events(store: Store, decide: Decide) -> list[Event]:
    with store.lend() as connection, connection.transaction():
        connection.execute(SNAPSHOT)
        drafts = list(decide(connection))
        return list(to_events(drafts, stream_versions(connection, _draft_streams(drafts))))


def _draft_streams(drafts: Sequence[Draft]) -> list[UUID]:
    return list(dict.fromkeys(draft.header.stream_id for draft in drafts))


def _insert(store: Store, events: Sequence[Event]) -> None:
    _insert_entries(store, [store.log.mapper.to_stored_event(event) for event in events])


def _insert_entries(store: Store, entries: Sequence[StoredEvent]) -> None:
    recorder = store.log.recorder
    assert isinstance(recorder, EventRecorder)
    store.outage.retry(
        partial(_run_insert, partial(recorder.insert_or_find, entries)), CONNECTION_ERRORS
    )


def _run_insert(insert: Callable[[], T]) -> T:
    """The result of `insert`. Raises `ReadOnlyLog` without a retry, which would not help."""
    try:
        return insert()
    except Exception as error:
        why = error.__cause__ or error
        if isinstance(why, _READ_ONLY):
            raise ReadOnlyLog(str(error), whole=isinstance(why, _STANDBY)) from error
        raise
