"""Compares the kept leaf hashes of archived events with the events that archived their runs.

A leaf of the tree without a row counts as archived if its hash is kept here, else as missing.
Hashes kept for a run that no event on record archived are a finding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from failproof_es.assurance.checking.findings import (
    ARCHIVE_CHANGED,
    ArchivedEvents,
    Verification,
    VerificationFinding,
)
from failproof_es.assurance.checking.old_tree import Leaves
from failproof_es.events import RunArchived
from failproof_es.ledger.merkle import HASH_BYTES
from failproof_es.store.errors import UnreadableEvent
from failproof_es.store.ledger import Connection
from failproof_es.store.reading.archives import archived_runs

_ARCHIVED_EVENTS = (
    "SELECT notification_id, run_id, timestamptz_send(recorded_at), leaf_hash "
    "FROM failproof.archived_event_list ORDER BY notification_id"
)
_LEAVES_BETWEEN = (
    "SELECT notification_id, leaf_hash FROM failproof.archived_event_list "
    "WHERE notification_id > %s AND notification_id <= %s"
)
_TOPICS = "SELECT run_id, topic, count(*) FROM failproof.archived_event_list GROUP BY run_id, topic"
_STREAMS = """
SELECT run_id, count(*), bool_and(first = 1 AND last = events)
FROM (
    SELECT run_id, min(originator_version) AS first, max(originator_version) AS last,
        count(*) AS events
    FROM failproof.archived_event_list GROUP BY run_id, originator_id
) AS streams
GROUP BY run_id
"""
_ARCHIVE_COUNTS = """
SELECT 'kept', run_id, count(*) FROM failproof.archived_event_list GROUP BY run_id
UNION ALL
SELECT topic, originator_id, max(notification_id) FROM failproof.stored_events
WHERE topic IN ('RunArchived', 'RunAttached') GROUP BY topic, originator_id
"""
_TIME_BYTES = 8
_MOST_TRIES = 5


@dataclass(slots=True)
class _ArchiveContent:
    events: int = 0
    first: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    topics: dict[str, int] = field(default_factory=dict)
    streams: int = 0
    whole: bool = False
    """Whether each stream has every version from 1 on."""


def read_archived(connection: Connection, result: Verification) -> Leaves:
    """The kept leaves of archived events.

    Adds the archived runs to the result, with findings for kept leaves of runs that are not
    archived, and for archived runs with other leaves than on record.
    """
    leaves = Leaves()
    try:
        archive_events = archived_runs(connection)
        tallies = _read_tallies(connection, leaves, result)
    except (psycopg.DatabaseError, UnicodeDecodeError, UnreadableEvent) as error:
        why = " ".join(str(error).split())
        result.add(
            VerificationFinding(ARCHIVE_CHANGED, f"what is archived cannot be read: {why}"[:500])
        )
        return leaves
    for run_id, event in archive_events.items():
        there = tallies.pop(run_id, _ArchiveContent())
        result.archived_runs.append(
            ArchivedEvents(
                run_id, event.run_number, event.file, event.sha256, event.events,
                taken_out=bool(there.events),
            )
        )  # fmt: skip
        _compare(run_id, event, there, result)
    for run_id, there in tallies.items():
        message = (
            f"{there.events} events are kept as archived of run {run_id}, and no event on record "
            "says that it is archived"
        )
        result.add(VerificationFinding(ARCHIVE_CHANGED, message, None, there.first, run_id))
    return leaves


def _read_tallies(
    connection: Connection, leaves: Leaves, result: Verification
) -> dict[UUID, _ArchiveContent]:
    """Tallies of the kept rows by run. A malformed row becomes a finding."""
    tallies: dict[UUID, _ArchiveContent] = {}
    last = 0
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        for position, run_id, recorded_at, leaf in cursor.stream(_ARCHIVED_EVENTS):
            whole = (
                type(position) is int
                and position > last
                and type(run_id) is UUID
                and type(recorded_at) is bytes
                and len(recorded_at) == _TIME_BYTES
                and type(leaf) is bytes
                and len(leaf) == HASH_BYTES
            )
            if not whole:
                message = f"what is kept of the event at position {position} is not of an event"
                result.add(VerificationFinding(ARCHIVE_CHANGED, message))
                continue
            last = position
            leaves.add(position, leaf)
            tally = tallies.setdefault(run_id, _ArchiveContent(first=position))
            tally.events += 1
            tally.digest.update(position.to_bytes(8, "big") + recorded_at + leaf)
        # No digest covers topics and streams alone. The leaf hashes do, together with the states,
        # which are in the file.
        for run_id, topic, count in cursor.execute(_TOPICS).fetchall():
            if run_id in tallies:
                tallies[run_id].topics[topic] = count
        for run_id, streams, whole in cursor.execute(_STREAMS).fetchall():
            if run_id in tallies:
                tallies[run_id].streams, tallies[run_id].whole = streams, whole
    return tallies


def _compare(
    run_id: UUID, event: RunArchived, tally: _ArchiveContent, result: Verification
) -> None:
    if not tally.events:
        return  # its rows are still in the log, or they are missing: the walk says which
    if (tally.events, tally.digest.hexdigest()) != (event.events, event.rows_sha256):
        message = (
            f"what is kept of the {event.events} archived events of run {event.run_number} is not "
            f"what was taken out of the log: there are {tally.events}"
        )
        result.add(VerificationFinding(ARCHIVE_CHANGED, message, None, tally.first, run_id))
    elif (tally.topics, tally.streams, tally.whole) != (event.topics, event.streams, True):
        message = (
            f"of the archived events of run {event.run_number} the topics or streams are not those "
            "that were taken out of the log"
        )
        result.add(VerificationFinding(ARCHIVE_CHANGED, message, None, tally.first, run_id))


def again_if_runs_moved(connection: Connection, verify: Callable[[], Verification]) -> Verification:
    """Verify, and repeat if there are findings and a run was archived or attached meanwhile.

    Rows that leave or come back while the log is read look missing or added. After `_MOST_TRIES`
    tries the findings count.
    """
    for _ in range(_MOST_TRIES):
        stood = _archive_state(connection)
        result = verify()
        if not result.findings or _archive_state(connection) == stood:
            break
    return result


def _archive_state(connection: Connection) -> frozenset[tuple[Any, ...]]:
    """A value that changes whenever a run is archived or attached; empty if it cannot be read."""
    try:
        with connection.cursor(row_factory=tuple_row) as cursor:
            return frozenset(cursor.execute(_ARCHIVE_COUNTS).fetchall())
    except psycopg.DatabaseError:  # `read_archived` reports it
        return frozenset()


def leaves_between(connection: Connection, after: int | None, up_to: int) -> Mapping[int, bytes]:
    """Kept leaves of archived events with positions in (after, up_to], by position."""
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        return dict(cursor.execute(_LEAVES_BETWEEN, (after or 0, up_to)).fetchall())
