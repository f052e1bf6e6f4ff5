"""Appends events to streams that have several writers.

It numbers the events, adds their headers, and retries where another writer was first. The journal
is the way in while a run goes: there each stream has one writer, and a conflict is an error.
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
from failproof_es.store.reading.reader import Connection, existing_streams, stream_versions
from failproof_es.store.store import Store
from failproof_es.store.writing.event_header import Draft, to_events
from failproof_es.store.writing.recorder import CONNECTION_ERRORS, EventRecorder, append_entries

T = TypeVar("T")
Decide = Callable[[Connection], Iterable[Draft]]

MOST_TRIES = 100
"""A stream that other writers lengthen each time is given up after so many of ours."""
_LONGEST_PAUSE_S = 0.05
_STANDBY = psycopg.errors.ReadOnlySqlTransaction
_READ_ONLY = (psycopg.errors.InsufficientPrivilege, _STANDBY)


def append(store: Store, decide: Decide) -> list[Event]:
    """Append what `decide` says, all of it or nothing; return the events as they are recorded.

    `decide` reads what it needs from the connection it is given, and is asked again when a stream
    grew or the server went away meanwhile: what it read and where its events go are of one state
    of the log. No draft: no append. A commit whose acknowledgement was lost is recognised as one's
    own by its bytes.

    Raises `StreamConflict` after `MOST_TRIES` conflicts in a row, `ReadOnlyLog` where this user or
    this database only reads, `LogUnavailable` where the server stays away.
    """
    for tries in range(MOST_TRIES):
        deciding = partial(_decided, store, decide)
        events = store.outage.retry(deciding, (psycopg.OperationalError,))
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
    """Append these after whatever their streams hold. As `append`."""
    return append(store, lambda _: drafts)


def append_within(store: Store, connection: Connection, drafts: Sequence[Draft]) -> list[Event]:
    """Append these in a transaction of the caller's own, who keeps other writers away by a lock.

    Raises `psycopg.errors.UniqueViolation` where it did not, `IncompleteAppend`.
    """
    events = list(to_events(drafts, stream_versions(connection, _streams(drafts))))
    append_entries(connection, [store.log.mapper.to_stored_event(event) for event in events])
    return events


def append_first(store: Store, entries: Sequence[LogEntry]) -> None:
    """Append those of these events whose streams have none: each is the first of its own.

    All that are new or none. Of several writers of one stream the first one counts, whoever it
    is: what a stream holds is said by its id. Raises as `append` does.
    """
    for tries in range(MOST_TRIES):
        reading = partial(_missing, store, entries)
        missing = store.outage.retry(reading, (psycopg.OperationalError,))
        if not missing:
            return
        try:
            _insert_entries(store, missing)
        except StreamConflict:
            if tries + 1 == MOST_TRIES:
                raise
            continue
        return


def _missing(store: Store, entries: Sequence[LogEntry]) -> list[LogEntry]:
    with store.connect() as connection:
        existing = existing_streams(connection, [_stream_of(entry) for entry in entries])
    return [entry for entry in entries if _stream_of(entry) not in existing]


def _stream_of(entry: LogEntry) -> UUID:
    return cast("UUID", entry.originator_id)


def _decided(store: Store, decide: Decide) -> list[Event]:
    with store.connect() as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        with connection.transaction():
            drafts = list(decide(connection))
            return list(to_events(drafts, stream_versions(connection, _streams(drafts))))


def _streams(drafts: Sequence[Draft]) -> list[UUID]:
    return list(dict.fromkeys(draft.header.stream_id for draft in drafts))


def _insert(store: Store, events: Sequence[Event]) -> None:
    _insert_entries(store, [store.log.mapper.to_stored_event(event) for event in events])


def _insert_entries(store: Store, entries: Sequence[StoredEvent]) -> None:
    recorder = store.log.recorder
    assert isinstance(recorder, EventRecorder)
    store.outage.retry(partial(_told, partial(recorder.insert_or_find, entries)), CONNECTION_ERRORS)


def _told(insert: Callable[[], T]) -> T:
    """What `insert` returns. Raises `ReadOnlyLog` at once: waiting gives nobody the right."""
    try:
        return insert()
    except Exception as error:
        why = error.__cause__ or error
        if isinstance(why, _READ_ONLY):
            raise ReadOnlyLog(str(error), whole=isinstance(why, _STANDBY)) from error
        raise
