"""Reads which runs are archived, and the kept columns of their events."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import tuple_row

from failproof_es.core.case import operations_id
from failproof_es.events import RunArchived
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.mapper import decode
from failproof_es.store.reading.reader import Connection, resolve_run

_ARCHIVING_EVENTS = (
    "SELECT topic, state, originator_id, originator_version FROM failproof.stored_events "
    "WHERE originator_id = %s AND topic IN ('RunArchived', 'RunAttached') "
    "ORDER BY originator_version DESC LIMIT 1"
)
_SAID_AT = (
    "SELECT max(notification_id) FROM failproof.stored_events "
    "WHERE originator_id = %s AND topic = 'RunArchived'"
)
_ABOUT_ALL = (
    "SELECT topic, state, originator_id, originator_version, notification_id "
    "FROM failproof.stored_events WHERE topic IN ('RunArchived', 'RunAttached') "
    "ORDER BY notification_id"
)
_COLUMNS = (
    "notification_id, originator_id, originator_version, topic, run_id, "
    "timestamptz_send(recorded_at), leaf_hash"
)
_ROWS_OF_RUN = (
    f"SELECT {_COLUMNS} FROM failproof.archived_event_list WHERE run_id = %s "
    "ORDER BY notification_id"
)
_BRANCHED = """
SELECT DISTINCT l.run_number
FROM failproof.stored_events AS e
JOIN failproof.run_list AS l ON l.run_id = e.run_id
WHERE e.run_id <> %(run)s
    AND position(convert_to(%(run)s::uuid::text, 'UTF8') IN e.state) > 0
    AND (
        e.topic = 'CarriedOver'
        OR e.topic = 'RunStarted'
        AND failproof.readable(convert_from(e.state, 'UTF8')::json)
            #>> '{branched_from,run_id}' = %(run)s::uuid::text
        AND NOT EXISTS (
            SELECT FROM failproof.archived_event_list AS a WHERE a.run_id = e.run_id
        )
        AND (
            EXISTS (
                SELECT FROM failproof.stored_events AS own
                WHERE own.run_id = e.run_id AND own.originator_id <> e.run_id
            )
            OR NOT EXISTS (
                SELECT FROM failproof.stored_events AS own
                WHERE own.originator_id = e.run_id AND own.topic = 'RunSealed'
            )
        )
    )
    AND e.topic IN ('CarriedOver', 'RunStarted')
ORDER BY 1
"""
_COMPARING = """
SELECT l.run_number, l.run_id, readable.configuration #>> '{gates,no_regression_against}'
FROM failproof.run_list AS l
JOIN failproof.stored_events AS e ON e.originator_id = l.run_id AND e.originator_version = 1
CROSS JOIN LATERAL json_to_record(failproof.readable(convert_from(e.state, 'UTF8')::json))
    AS readable (configuration json)
WHERE e.topic = 'RunStarted'
    AND readable.configuration #>> '{gates,no_regression_against}' IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM failproof.stored_events AS own
        WHERE own.originator_id = l.run_id AND own.topic = 'RunSealed'
    )
ORDER BY 1
"""


class ArchivedRow(NamedTuple):
    """The kept columns of an archived event: all but the state."""

    position: int
    stream_id: UUID
    version: int
    topic: str
    run_id: UUID
    recorded_at: bytes
    """As PostgreSQL sends it: microseconds since 2000, 8 bytes."""
    leaf_hash: bytes


class RunIsArchived(InvalidInput):
    """The events of the run's evaluations are in an archive file, which must be attached first."""

    def __init__(self, archive: RunArchived) -> None:
        self.archive = archive
        at = archive.timestamp.strftime("%Y-%m-%d %H:%M:%SZ")
        message = (
            f"run {archive.run_number} is archived since {at} in {archive.file}, "
            f"SHA-256 {archive.sha256}"
        )
        remedy = f"attach it with `failproof-es attach {quote(archive.file)}`"
        super().__init__([Problem("run-archived", message, remedy=remedy)])


def archive_of(connection: Connection, run_id: UUID) -> RunArchived | None:
    """The event that archived the run; `None` if the run is not archived, or is attached again.

    Raises `UnreadableState` if the event is damaged.
    """
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        row = cursor.execute(_ARCHIVING_EVENTS, (operations_id(run_id),)).fetchone()
    if row is None or row[0] != RunArchived.__name__:
        return None
    event = decode(*row)
    assert isinstance(event, RunArchived)
    return event


def archived_by(connection: Connection, run_id: UUID) -> int | None:
    """The position of the run's newest `RunArchived`; `None` without one."""
    row = connection.execute(_SAID_AT, (operations_id(run_id),)).fetchone()
    return None if row is None else row[0]


def require_attached(connection: Connection, run_id: UUID) -> None:
    """Raise `RunIsArchived` if the events of the run's evaluations are archived."""
    if (archive := archive_of(connection, run_id)) is not None:
        raise RunIsArchived(archive)


def archived_runs(connection: Connection) -> dict[UUID, RunArchived]:
    """Every archived run, with the event that archived it, in the order of archiving.

    An event in the operations stream of another run than the one that it is about is ignored.
    """
    archived: dict[UUID, RunArchived] = {}
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        for topic, state, stream, version, _ in cursor.execute(_ABOUT_ALL):
            event: Any = decode(topic, state, stream, version)
            if operations_id(event.about) != stream:
                continue
            archived.pop(event.about, None)
            if isinstance(event, RunArchived):
                archived[event.about] = event
    return archived


def archived_rows(connection: Connection, run_id: UUID) -> list[ArchivedRow]:
    """The kept columns of the run's archived events, by position. Empty if none are archived."""
    with connection.cursor(row_factory=tuple_row, binary=True) as cursor:
        rows: Sequence[Any] = cursor.execute(_ROWS_OF_RUN, (run_id,)).fetchall()
    return [ArchivedRow(*row) for row in rows]


def branched_from(connection: Connection, run_id: UUID) -> list[int]:
    """The numbers of the runs that were branched from this one and may refer to its evaluations.

    A branched run that is sealed and has no evaluations refers to none.
    """
    rows = connection.execute(_BRANCHED, {"run": run_id}).fetchall()
    return [number for (number,) in rows]


def comparing_with(connection: Connection, run_id: UUID) -> list[int]:
    """The numbers of the unsealed runs whose gates use this run as baseline.

    When they end, they are compared with it, evaluation by evaluation.
    """
    rows = connection.execute(_COMPARING).fetchall()
    return [
        number
        for number, its_id, baseline in rows
        if _resolved(connection, baseline, its_id) == run_id
    ]


def _resolved(connection: Connection, reference: str, run_id: UUID) -> UUID | None:
    try:
        return resolve_run(connection, reference, before=run_id)
    except InvalidInput:
        return None
