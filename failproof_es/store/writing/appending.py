"""Appends events to streams that have several writers.

It numbers the events, adds their headers, and retries where another writer was first. A running
run appends through the journal: there each stream has one writer, and a conflict is an error.
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
"""The number of tries before an append gives up, because others appended first each time."""
_LONGEST_PAUSE_S = 0.05
_STANDBY = psycopg.errors.ReadOnlySqlTransaction
_GONE = tuple(error_class for error_class in AWAY if error_class is not _STANDBY)
"""An outage while it is decided: deciding only reads, and may not write in any database."""
_READ_ONLY = (psycopg.errors.InsufficientPrivilege, _STANDBY)


def append(store: Store, decide: Decide) -> list[Event]:
    """Append what `decide` returns, all of it or nothing. Return the events as recorded.

    `decide` reads what it needs from the given connection. It is called again when a stream grew or
    the server went away meanwhile, so its decision and its append are of one state of the log.
    Without drafts nothing is appended. If the acknowledgement of a commit was lost, the events
    are recognised by their bytes.

    Raises `StreamConflict` after `MOST_TRIES` conflicts in a row, `ReadOnlyLog` where this user or
    this database only reads, `LogUnavailable` where the server stays away.
    """
    for tries in range(MOST_TRIES):
        deciding = partial(_decided, store, decide)
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
    """Append these to the ends of their streams. Raises as `append` does."""
    return append(store, lambda _: drafts)


def append_within(store: Store, connection: Connection, drafts: Sequence[Draft]) -> list[Event]:
    """Append these in the caller's transaction. The caller's lock keeps other writers away.

    Raises `StreamConflict` where there was no such lock, `IncompleteAppend`.
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
    store.outage.retry(
        partial(_run_insert, partial(recorder.insert_or_find, entries)), CONNECTION_ERRORS
    )


def _run_insert(insert: Callable[[], T]) -> T:
    """What `insert` returns. Raises `ReadOnlyLog` at once: waiting would not help."""
    try:
        return insert()
    except Exception as error:
        why = error.__cause__ or error
        if isinstance(why, _READ_ONLY):
            raise ReadOnlyLog(str(error), whole=isinstance(why, _STANDBY)) from error
        raise
