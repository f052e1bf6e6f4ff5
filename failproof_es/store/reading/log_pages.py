"""Reads the log page by page: one event, its neighbours, a stream by event type.

Archived events are included, without their payloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.rows import tuple_row

from failproof_es.events.line import line_of
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import upcast
from failproof_es.store.reading.reader import Connection, RecordedEvent, lenient, read_positions

MOST_SUMMARIZED_BYTES = 1 << 16
"""Maximum size of a payload that is read for the event's one-line summary."""

_AT = (
    "CASE WHEN recorded_at BETWEEN '0001-01-02' AND '9999-12-30' THEN recorded_at END "
    "AS recorded_at"
)
_PLACE = sql.SQL(
    "notification_id AS position, originator_id AS stream_id, originator_version AS version, "
    "topic, run_id, " + _AT
)
_STORED = sql.SQL(
    "SELECT {}, octet_length(state)::bigint AS bytes, "
    "CASE WHEN octet_length(state) <= {} THEN state END AS state, leaf_hash, false AS archived "
    "FROM failproof.stored_events"
).format(_PLACE, sql.Literal(MOST_SUMMARIZED_BYTES))
_ARCHIVED = sql.SQL(
    "SELECT {}, NULL::bigint AS bytes, NULL::bytea AS state, leaf_hash, true AS archived "
    "FROM failproof.archived_event_list"
).format(_PLACE)
_BOTH = sql.SQL(
    "SELECT * FROM (({stored} WHERE {which} ORDER BY {order} LIMIT {limit}) "
    "UNION ALL ({archived} WHERE {which} ORDER BY {order} LIMIT {limit})) AS listed "
    "ORDER BY {listed} LIMIT {limit}"
)
_ORDERS = {
    "version": (sql.SQL("originator_version"), sql.SQL("version")),
    "before": (sql.SQL("notification_id DESC"), sql.SQL("position DESC")),
    "after": (sql.SQL("notification_id"), sql.SQL("position")),
    "earlier": (sql.SQL("originator_version DESC"), sql.SQL("version DESC")),
}
_OF_STREAM = sql.SQL(
    "originator_id = %(stream)s AND originator_version > %(after)s::bigint "
    "AND (%(topic)s::text IS NULL OR topic = %(topic)s)"
)
_BEFORE_IN_STREAM = sql.SQL(
    "originator_id = %(stream)s AND originator_version < %(version)s::bigint "
    "AND (%(topic)s::text IS NULL OR topic = %(topic)s)"
)
_TOPICS = (
    "SELECT topic, count(*) FROM (SELECT topic FROM failproof.stored_events "
    "WHERE originator_id = %(stream)s UNION ALL SELECT topic FROM failproof.archived_event_list "
    "WHERE originator_id = %(stream)s) AS every GROUP BY topic ORDER BY topic"
)


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """An event in a list: its place, and a summary instead of its payload."""

    position: int
    stream_id: UUID
    version: int
    topic: str
    run_id: UUID | None
    recorded_at: datetime | None
    bytes: int | None
    """The length of its payload; `None` if it is archived."""
    leaf_hash: str
    """As its writer recorded it, in hexadecimal."""
    archived: bool
    says: str
    """The event in one line; empty if its topic has no summary, or the payload is too long, damaged
    or archived."""


def event_at(connection: Connection, position: int) -> RecordedEvent | ListedEvent | None:
    """The event at a position; an archived one as `ListedEvent`, without its payload."""
    if events := read_positions(connection, [position]):
        return events[0]
    listed_events = _list_events(
        connection, sql.SQL("notification_id = %(at)s"), "after", {"at": position}, limit=1
    )
    return listed_events[0] if listed_events else None


def stream_events(
    connection: Connection,
    stream_id: UUID,
    *,
    after: int = 0,
    topic: str | None = None,
    limit: int,
) -> list[ListedEvent]:
    """The events of a stream after a version, in order, at most `limit`; with `topic`, its own."""
    parameters = {"stream": stream_id, "after": after, "topic": topic}
    return _list_events(connection, _OF_STREAM, "version", parameters, limit=limit)


def stream_topics(connection: Connection, stream_id: UUID) -> dict[str, int]:
    """Number of events in the stream by topic. Empty if there is no such stream."""
    with lenient(connection.cursor(row_factory=tuple_row, binary=True)) as cursor:
        return dict(cursor.execute(_TOPICS, {"stream": stream_id}).fetchall())


def beside_in_stream(
    connection: Connection, stream_id: UUID, version: int, topic: str | None = None
) -> tuple[ListedEvent | None, ListedEvent | None]:
    """The events before and after this version in its stream; with `topic`, the nearest of it."""
    parameters = {"stream": stream_id, "version": version, "after": version, "topic": topic}
    before = _list_events(connection, _BEFORE_IN_STREAM, "earlier", parameters, limit=1)
    after = _list_events(connection, _OF_STREAM, "version", parameters, limit=1)
    return next(iter(before), None), next(iter(after), None)


def beside_in_log(
    connection: Connection, position: int
) -> tuple[ListedEvent | None, ListedEvent | None]:
    """The events before and after this position in the log."""
    parameters = {"at": position}
    before = _list_events(
        connection, sql.SQL("notification_id < %(at)s"), "before", parameters, limit=1
    )
    after = _list_events(
        connection, sql.SQL("notification_id > %(at)s"), "after", parameters, limit=1
    )
    return next(iter(before), None), next(iter(after), None)


def _list_events(
    connection: Connection, which: sql.SQL, order: str, parameters: dict[str, Any], *, limit: int
) -> list[ListedEvent]:
    inside, outside = _ORDERS[order]
    if "\0" in str(parameters.get("topic")):
        return []  # no text in PostgreSQL holds a NUL
    statement = _BOTH.format(
        stored=_STORED,
        archived=_ARCHIVED,
        which=which,
        order=inside,
        listed=outside,
        limit=sql.Literal(limit),
    )
    with lenient(connection.cursor(row_factory=tuple_row, binary=True)) as cursor:
        return [_event(row) for row in cursor.execute(statement, parameters).fetchall()]


def _event(row: Sequence[Any]) -> ListedEvent:
    position, stream, version, topic, run_id, recorded_at, length, state, leaf, archived = row
    return ListedEvent(
        position, stream, version, topic, run_id, recorded_at, length,
        leaf.hex(), archived, _summarize(topic, state, stream, version),
    )  # fmt: skip


def _summarize(topic: str, state: bytes | None, stream: UUID, version: int) -> str:
    if state is None:
        return ""
    try:
        return line_of(topic, upcast(topic, state, stream, version)[1])
    except UnreadableState:
        return ""
