"""Reads the log: by position, by stream, by an auditor's filters."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import orjson
import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.rows import class_row

from failproof_es.core.case import run_id as run_id_of
from failproof_es.events import Event
from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import lift_idle_limit
from failproof_es.store.errors import UnreadableEvent as UnreadableEvent
from failproof_es.store.mapper import decode, upcast
from failproof_es.store.reading.of_streams import events_of_streams
from failproof_es.support.untrusted_text import shortened

Connection = psycopg.Connection[Any]
T = TypeVar("T")
Cursor = TypeVar("Cursor", bound=psycopg.Cursor[Any] | psycopg.ServerCursor[Any])

CHANNEL = "failproof_events"
"""Readers that LISTEN here wake up after a commit; the payload is the last position."""
PROJECTED_CHANNEL = "failproof_projected"
"""Readers of projections that LISTEN here wake up after a follower updated them; the payload is the
position that the projections have reached."""

_OF_STREAMS = events_of_streams(sql.SQL("%b"))
_COLUMNS = sql.SQL(
    "notification_id AS position, originator_id AS stream_id, originator_version AS version, "
    "topic, state, run_id, "
    "CASE WHEN recorded_at BETWEEN '0001-01-02' AND '9999-12-30' THEN recorded_at END "
    "AS recorded_at"
)
"""`recorded_at` is null outside the years that Python's `datetime` can hold."""
_READ_AFTER = sql.SQL(
    "SELECT {} FROM failproof.stored_events WHERE notification_id > %b "
    "AND (%b::text[] IS NULL OR topic = ANY (%b)) ORDER BY notification_id LIMIT %b"
).format(_COLUMNS)
_READ_STREAMS = sql.SQL("SELECT {} FROM {} ORDER BY originator_id, originator_version").format(
    _COLUMNS, _OF_STREAMS
)
VERSIONS = sql.SQL(
    "SELECT originator_id, max(originator_version) FROM {} GROUP BY originator_id"
).format(_OF_STREAMS)
"""Statement for the last version of each of these streams."""
_READ_ON = sql.SQL(
    "SELECT {} FROM failproof.stored_events "
    "WHERE originator_id = %b AND originator_version > %b::bigint "
    "ORDER BY originator_version LIMIT %b"
).format(_COLUMNS)
_READ_EVENT = sql.SQL(
    "SELECT {} FROM failproof.stored_events "
    "WHERE originator_id = %b AND originator_version = %b::bigint"
).format(_COLUMNS)
_READ_BEGINNINGS = sql.SQL(
    "SELECT {} FROM failproof.stored_events "
    "WHERE originator_id = ANY (%b) AND originator_version = 1 AND topic = %b"
).format(_COLUMNS)
_READ_POSITIONS = sql.SQL(
    "SELECT {} FROM failproof.stored_events WHERE notification_id = ANY (%b) "
    "ORDER BY notification_id"
).format(_COLUMNS)
_POSITIONS_OF_STREAMS = sql.SQL(
    "SELECT notification_id, coalesce(octet_length(state), 0)::bigint FROM {} "
    "ORDER BY notification_id"
).format(_OF_STREAMS)
_STREAM_BYTES = sql.SQL(
    "SELECT originator_id, coalesce(sum(octet_length(state)), 0)::bigint "
    "FROM {} GROUP BY originator_id"
).format(_OF_STREAMS)
_MOST_BYTES = 2**23
"""Maximum bytes of events that are read at a time. In memory they take several times that."""
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One row of the log, its state byte for byte as stored.

    Raises `UnreadableEvent`, which names the row, if it lacks a field that every event has.
    """

    position: int
    stream_id: UUID
    version: int
    topic: str
    state: bytes
    run_id: UUID | None
    recorded_at: datetime

    def __post_init__(self) -> None:
        if None not in (
            self.position, self.stream_id, self.version, self.topic, self.state, self.recorded_at
        ):  # fmt: skip
            return
        for name in ("position", "stream_id", "version", "topic", "state", "recorded_at"):
            if getattr(self, name) is None:
                raise self._unreadable(f"it has no {name}, or none that can be shown")

    def payload(self) -> dict[str, Any]:
        """The state as JSON, as written: not upcast. Raises `UnreadableEvent`."""
        try:
            payload = orjson.loads(self.state)
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            raise self._unreadable("its state is not a JSON object")
        return payload

    def _unreadable(self, why: str) -> UnreadableEvent:
        topic = shortened(str(self.topic), 100)
        return UnreadableEvent(
            f"the event at position {self.position} (stream {self.stream_id} version "
            f"{self.version}, {topic}) cannot be read: {why}"
        )

    def upcast_payload(self) -> dict[str, Any]:
        """The state as JSON, upcast to today's schema. Raises `UnreadableState`."""
        return upcast(self.topic, self.state, self.stream_id, self.version)[1]

    def event(self) -> Event:
        """The event, upcast to today's schema. Raises `UnreadableState`."""
        return decode(self.topic, self.state, self.stream_id, self.version)


class _Text(Loader):
    """Loads text that may be invalid UTF-8: invalid bytes become U+FFFD."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return bytes(data).decode(errors="replace")


def lenient(cursor: Cursor) -> Cursor:
    """Let the cursor read text that is not valid UTF-8."""
    cursor.adapters.register_loader("text", _Text)
    return cursor


def read_after(
    connection: Connection, position: int, limit: int, topics: Sequence[str] = ()
) -> list[RecordedEvent]:
    """The next events after `position`, in commit order, at most `limit`, whatever their size."""
    topic_filter = list(topics) or None
    with lenient(connection.cursor(row_factory=class_row(RecordedEvent), binary=True)) as cursor:
        cursor.execute(_READ_AFTER, (position, topic_filter, topic_filter, limit))
        return cursor.fetchall()


def read_streams(
    connection: Connection, stream_ids: Sequence[UUID]
) -> dict[UUID, list[RecordedEvent]]:
    """Every event of these streams in version order, by stream, without streams that do not
    exist."""
    streams: dict[UUID, list[RecordedEvent]] = {}
    with lenient(connection.cursor(row_factory=class_row(RecordedEvent), binary=True)) as cursor:
        cursor.execute(_READ_STREAMS, (list(stream_ids),))
        for row in cursor:
            streams.setdefault(row.stream_id, []).append(row)
    return streams


def iterate_stream(
    connection: Connection, stream_id: UUID, at_once: int = 20
) -> Iterator[RecordedEvent]:
    """Every event of one stream, in version order; holds `at_once` of them in memory.

    Raises `UnreadableEvent` at an incomplete row, after the events before it.
    """
    version, count = 0, at_once
    with lenient(connection.cursor(row_factory=class_row(RecordedEvent), binary=True)) as cursor:
        while count == at_once:
            count = 0
            for row in cursor.execute(_READ_ON, (stream_id, version, at_once)):
                yield row
                version, count = row.version, count + 1


def iterate_streams(connection: Connection, stream_ids: Sequence[UUID]) -> Iterator[RecordedEvent]:
    """Every event of these streams, in commit order; holds a few of them in memory."""
    with connection.cursor(binary=True) as cursor:
        sizes: list[tuple[int, int]] = cursor.execute(
            _POSITIONS_OF_STREAMS, (list(stream_ids),)
        ).fetchall()
    for positions in _batches(sizes):
        yield from read_positions(connection, positions)


def read_event(connection: Connection, stream_id: UUID, version: int) -> RecordedEvent | None:
    """One event, by its stream and version."""
    with lenient(connection.cursor(row_factory=class_row(RecordedEvent), binary=True)) as cursor:
        cursor.execute(_READ_EVENT, (stream_id, version))
        return cursor.fetchone()


def read_beginnings(
    connection: Connection, stream_ids: Sequence[UUID], topic: str
) -> list[RecordedEvent]:
    """The first events of these streams that have this topic."""
    with connection.cursor(row_factory=class_row(RecordedEvent), binary=True) as cursor:
        return cursor.execute(_READ_BEGINNINGS, (list(stream_ids), topic)).fetchall()


def existing_streams(connection: Connection, stream_ids: Sequence[UUID]) -> set[UUID]:
    """The streams that have a first event."""
    rows = connection.execute(
        "SELECT originator_id FROM failproof.stored_events "
        "WHERE originator_id = ANY (%b) AND originator_version = 1",
        (list(stream_ids),),
    )
    return {row[0] for row in rows}


def stream_versions(connection: Connection, stream_ids: Sequence[UUID]) -> dict[UUID, int]:
    """The last version of each of these streams that exists."""
    return dict(connection.execute(VERSIONS, (list(stream_ids),)).fetchall())


def find(
    connection: Connection,
    *,
    run_id: UUID | None = None,
    run_ids: Collection[UUID] | None = None,
    stream_id: UUID | None = None,
    stream_ids: Collection[UUID] | None = None,
    topics: Sequence[str] = (),
    after: int | None = None,
    up_to: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    newest_first: bool = False,
    limit: int | None = None,
) -> Generator[RecordedEvent]:
    """Stream the events that match every given filter, in commit order; holds a few in memory.

    `after` is exclusive, `up_to` inclusive; `since` and `until` refer to the database's
    `recorded_at`. `run_id` does not find the run's prompts: they have no run id.
    """
    filters: list[tuple[sql.SQL, Any]] = [
        (sql.SQL(text), value)
        for text, value in (
            ("run_id = %s", run_id),
            ("run_id = ANY (%s)", None if run_ids is None else list(run_ids)),
            ("originator_id = %s", stream_id),
            ("originator_id = ANY (%s)", None if stream_ids is None else list(stream_ids)),
            ("topic = ANY (%s)", list(topics) or None),
            ("notification_id > %s", after),
            ("notification_id <= %s", up_to),
            ("recorded_at >= %s", since),
            ("recorded_at <= %s", until),
        )
        if value is not None
    ]
    where = sql.SQL(" AND ").join([sql.SQL("true"), *(text for text, _ in filters)])
    statement = sql.SQL(
        "SELECT notification_id, coalesce(octet_length(state), 0)::bigint "
        "FROM failproof.stored_events "
        "WHERE {} ORDER BY notification_id {} LIMIT {}"
    ).format(
        where,
        sql.SQL("DESC" if newest_first else "ASC"),
        sql.Literal(limit),
    )
    with connection.transaction(), connection.cursor("find") as cursor:
        lift_idle_limit(connection)
        cursor.itersize = _MOST_ROWS
        cursor.execute(statement, [value for _, value in filters], binary=True)
        for positions in _batches(cursor):
            rows = read_positions(connection, positions)
            yield from reversed(rows) if newest_first else rows


def portions(
    connection: Connection,
    streams: Sequence[UUID],
    related_streams: Mapping[UUID, Sequence[UUID]] | None = None,
    absent: Collection[UUID] = (),
) -> Iterator[list[UUID]]:
    """The streams in order, in batches of at most `_MOST_BYTES` and `_MOST_ROWS`.

    `related_streams` has the streams that are read together with a stream. `absent` are streams
    known to be empty.
    """
    together = {stream: [stream, *(related_streams or {}).get(stream, ())] for stream in streams}
    stream_ids = list(
        {stream_id for group in together.values() for stream_id in group if stream_id not in absent}
    )
    with connection.cursor(binary=True) as cursor:
        cursor.execute(_STREAM_BYTES, (stream_ids,))
        sizes: dict[UUID, int] = dict(cursor.fetchall())
    yield from _batches(
        (stream, sum(sizes.get(stream_id, 0) for stream_id in together[stream]))
        for stream in streams
    )


def _batches(sized: Iterable[tuple[T, int]]) -> Iterator[list[T]]:
    """The keys in order, in batches of at most `_MOST_BYTES` and `_MOST_ROWS`, at least one key."""
    portion: list[T] = []
    length = 0
    for key, size in sized:
        if portion and (length + size > _MOST_BYTES or len(portion) >= _MOST_ROWS):
            yield portion
            portion, length = [], 0
        portion.append(key)
        length += size
    if portion:
        yield portion


def read_positions(connection: Connection, positions: Sequence[int]) -> list[RecordedEvent]:
    """The events at these positions, in commit order; skips positions without an event."""
    with lenient(connection.cursor(row_factory=class_row(RecordedEvent), binary=True)) as cursor:
        return cursor.execute(_READ_POSITIONS, (list(positions),)).fetchall()


def max_position(connection: Connection) -> int:
    """The newest position, 0 while the log is empty."""
    row = connection.execute("SELECT max(notification_id) FROM failproof.stored_events").fetchone()
    return (row[0] if row else None) or 0


def position_at(connection: Connection, moment: datetime) -> int:
    """The last position recorded at or before `moment`, 0 if there is none."""
    row = connection.execute(
        "SELECT max(notification_id) FROM failproof.stored_events WHERE recorded_at <= %s",
        (moment,),
    ).fetchone()
    return (row[0] if row else None) or 0


def resolve_run(connection: Connection, reference: str, *, before: UUID | None = None) -> UUID:
    """Find a run by its run id (as written or as a UUID), its number, or `latest`.

    With `before`, the id of a run, `latest` is the last run before that one.

    Raises `InvalidInput`, which names the existing runs, if there is no such run.
    """
    if reference == "latest":
        row = connection.execute(
            "SELECT run_id FROM failproof.run_list WHERE %(before)s::uuid IS NULL OR run_number < "
            "(SELECT run_number FROM failproof.run_list WHERE run_id = %(before)s) "
            "ORDER BY run_number DESC LIMIT 1",
            {"before": before},
        ).fetchone()
    elif reference.isascii() and reference.isdigit() and len(reference) < 19:
        row = connection.execute(
            "SELECT run_id FROM failproof.run_list WHERE run_number = %s", (int(reference),)
        ).fetchone()
    else:
        row = connection.execute(
            "SELECT run_id FROM failproof.run_list WHERE run_id = %s", (run_id_of(reference),)
        ).fetchone()
    if row is None:
        newest = connection.execute("SELECT max(run_number) FROM failproof.run_list").fetchone()
        existing = f"runs 1 to {newest[0]} exist" if newest and newest[0] else "no run exists yet"
        raise InvalidInput.because(
            "unknown-run",
            f"there is no run {reference!r}: {existing}",
            remedy="use a run id, a run number or `latest`; list runs with `failproof-es runs`",
        )
    run_id: UUID = row[0]
    return run_id
