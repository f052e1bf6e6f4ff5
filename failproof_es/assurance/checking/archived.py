"""What is kept of archived events: compared with the events that say which runs are archived.

A leaf of the tree without a row counts as archived only if it is kept here, under the run of an
event on record that names it. Anything else is missing, as ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from failproof_es.assurance.checking.findings import (
    ARCHIVE_CHANGED,
    ArchivedEvents,
    Finding,
    Verification,
)
from failproof_es.assurance.checking.old_tree import Leaves
from failproof_es.events import RunArchived
from failproof_es.ledger.merkle import HASH_BYTES
from failproof_es.store.errors import UnreadableEvent
from failproof_es.store.ledger import Connection
from failproof_es.store.reading.archives import archived_runs

_KEPT = (
    "SELECT notification_id, run_id, timestamptz_send(recorded_at), leaf_hash "
    "FROM failproof.archived_event_list ORDER BY notification_id"
)
_LEAVES_BETWEEN = (
    "SELECT notification_id, leaf_hash FROM failproof.archived_event_list "
    "WHERE notification_id > %s AND notification_id <= %s"
)
_TIME_BYTES = 8


@dataclass(slots=True)
class _Kept:
    events: int = 0
    first: int = 0
    digest: Any = field(default_factory=hashlib.sha256)


def read_archived(connection: Connection, result: Verification) -> Leaves:
    """The leaves that are kept of archived events.

    Findings are added for what is kept and was not archived, and for an archived run of which
    something else is kept. The runs are added to the result.
    """
    leaves = Leaves()
    try:
        said = archived_runs(connection)
        kept = _kept(connection, leaves, result)
    except (psycopg.DatabaseError, UnreadableEvent) as error:
        why = " ".join(str(error).split())
        result.add(Finding(ARCHIVE_CHANGED, f"what is archived cannot be read: {why}"[:500]))
        return leaves
    for run_id, event in said.items():
        there = kept.pop(run_id, _Kept())
        result.archived_runs.append(
            ArchivedEvents(
                run_id, event.run_number, event.file, event.sha256, event.events,
                taken_out=bool(there.events),
            )
        )  # fmt: skip
        _compare(run_id, event, there, result)
    for run_id, there in kept.items():
        message = (
            f"{there.events} events are kept as archived of run {run_id}, and no event on record "
            "says that it is archived"
        )
        result.add(Finding(ARCHIVE_CHANGED, message, None, there.first, run_id))
    return leaves


def _kept(connection: Connection, leaves: Leaves, result: Verification) -> dict[UUID, _Kept]:
    """What is kept of each run. A row that is none becomes a finding."""
    found: dict[UUID, _Kept] = {}
    last = 0
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        for position, run_id, recorded_at, leaf in cursor.stream(_KEPT):
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
                result.add(Finding(ARCHIVE_CHANGED, message))
                continue
            last = position
            leaves.add(position, leaf)
            kept = found.setdefault(run_id, _Kept(first=position))
            kept.events += 1
            kept.digest.update(position.to_bytes(8, "big") + recorded_at + leaf)
    return found


def _compare(run_id: UUID, event: RunArchived, kept: _Kept, result: Verification) -> None:
    if not kept.events:
        return  # its rows are still in the log, or they are missing: the walk says which
    if (kept.events, kept.digest.hexdigest()) != (event.events, event.rows_sha256):
        message = (
            f"what is kept of the {event.events} archived events of run {event.run_number} is not "
            f"what was taken out of the log: there are {kept.events}"
        )
        result.add(Finding(ARCHIVE_CHANGED, message, None, kept.first, run_id))


def leaves_between(connection: Connection, after: int | None, up_to: int) -> Mapping[int, bytes]:
    """The leaves that are kept of events with positions in (after, up_to], by position."""
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        return dict(cursor.execute(_LEAVES_BETWEEN, (after or 0, up_to)).fetchall())
