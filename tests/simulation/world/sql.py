"""The statements with which a drive reads the log, answered from rows in memory.

A statement that is not known here is an error: who adds one to the engine adds it here.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
from psycopg import sql

from failproof_es.store.connecting import LIFT_IDLE_LIMIT
from failproof_es.store.reading import reader
from failproof_es.store.writing.appending import SNAPSHOT
from failproof_es.store.writing.recorder import query
from tests.simulation.world import queue

if TYPE_CHECKING:
    from tests.simulation.world.database import Row, SimulatedDatabase

Answer = list[Any]
Parameters = Any
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_COPIED = re.compile(
    r"COPY \(SELECT (.*?) FROM "
    r"(?:failproof\.stored_events WHERE originator_id|\(SELECT DISTINCT stream FROM)",
    re.S,
)
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_LONG = struct.Struct(">q")


class SimulatedConnection:
    """A connection of its own: what is read is the present state of the server."""

    closed = False

    def __init__(self, database: SimulatedDatabase) -> None:
        self.database = database
        self.rows: Sequence[Row] = database.rows
        self.streams: Mapping[UUID, Sequence[Row]] = database.streams
        self._within = self._wrote = self._unacknowledged = False

    def __enter__(self) -> SimulatedConnection:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def cursor(self, name: str = "", **_: Any) -> SimulatedCursor:
        return FindCursor(self) if name == "find" else SimulatedCursor(self)

    def execute(self, statement: Any, parameters: Parameters = None) -> SimulatedCursor:
        return SimulatedCursor(self).execute(statement, parameters)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is written in it must not fail after its first statement: nothing is undone."""
        self._within, self._wrote = True, False
        yield
        self._within = False
        self._tell()

    def written(self, write: Callable[[], None]) -> None:
        """Write, whatever becomes of it on the way. Raises `psycopg.OperationalError`."""
        fault = None if self._within and self._wrote else self.database.fault()
        if fault in ("refused", "late"):
            raise psycopg.OperationalError("the connection was cut before the commit")
        write()
        self._wrote = True
        self._unacknowledged = self._unacknowledged or fault == "lost"
        if not self._within:
            self._tell()

    def _tell(self) -> None:
        lost, self._unacknowledged = self._unacknowledged, False
        if lost:
            raise psycopg.OperationalError("the connection was cut after the commit")


class SimulatedCursor:
    """A cursor. What it gives is of the type that the reader asks it for."""

    def __init__(self, connection: SimulatedConnection) -> None:
        self._connection = connection
        self._found: Answer = []
        self.adapters = self
        self.row_factory: Any = None

    def __enter__(self) -> SimulatedCursor:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def register_loader(self, *_: object) -> None:
        """Every text is valid."""

    def execute(self, statement: Any, parameters: Parameters = None) -> SimulatedCursor:
        text = _text(statement)
        answer = _ANSWERS.get(text)
        if answer is None:
            raise AssertionError(f"the simulated log does not know this statement: {text}")
        self._found = answer(self._connection, parameters)
        return self

    def fetchall(self) -> Answer:
        return self._found

    def fetchone(self) -> Any:
        return self._found[0] if self._found else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._found)

    @contextmanager
    def copy(self, statement: sql.Composed) -> Iterator[Iterator[bytes]]:
        text = statement.as_string(None)
        columns = _COPIED.match(text)
        if columns is None:
            raise AssertionError(f"the simulated log does not know this statement: {text}")
        wanted = {UUID(each) for each in _UUID.findall(text)}
        rows = [row for stream in wanted for row in self._connection.streams.get(stream, ())]
        if "ORDER BY notification_id" in text:
            rows.sort(key=lambda row: row.position)
        else:
            rows.sort(key=lambda row: (row.entry.originator_id, row.entry.originator_version))
        yield _binary(rows, [each.strip() for each in columns[1].split(",")])


class FindCursor(SimulatedCursor):
    """The cursor of `reader.find`, as a drive uses it: by run and topics."""

    itersize = 0

    def execute(self, statement: Any, parameters: Parameters = None, **_: Any) -> SimulatedCursor:
        run_id, topics = parameters
        if not isinstance(run_id, UUID) or not isinstance(topics, list):
            raise AssertionError(f"the simulated log does not know this statement: {statement!r}")
        self._found = [
            (row.position, len(row.entry.state))
            for row in self._connection.rows
            if row.entry.run_id == run_id and row.entry.topic in topics
        ]
        return self


_texts: dict[int, tuple[sql.Composable, str]] = {}


def _text(statement: str | bytes | sql.Composable) -> str:
    """The text of a statement. Those of the reader are constants: each is put together once."""
    if isinstance(statement, bytes):
        return statement.decode()
    if isinstance(statement, str):
        return statement
    known = _texts.get(id(statement))
    if known is None:
        known = _texts[id(statement)] = (statement, statement.as_string(None))
    return known[1]


def _binary(rows: Sequence[Row], columns: Sequence[str]) -> Iterator[bytes]:
    head = _HEADER
    for row in rows:
        values = _values(row)
        fields = [struct.pack(">h", len(columns))]
        for column in columns:
            value = values[column]
            fields.append(struct.pack(">i", -1 if value is None else len(value)))
            fields.append(value or b"")
        yield head + b"".join(fields)
        head = b""
    yield head + b"\xff\xff"


def _values(row: Row) -> dict[str, bytes | None]:
    entry = row.entry
    recorded_us = round((row.recorded_at - _EPOCH).total_seconds() * 1_000_000)
    assert isinstance(entry.originator_id, UUID)
    return {
        "notification_id": _LONG.pack(row.position),
        "originator_id": entry.originator_id.bytes,
        "originator_version": _LONG.pack(entry.originator_version),
        "topic": entry.topic.encode(),
        "state": entry.state,
        "run_id": None if entry.run_id is None else entry.run_id.bytes,
        "recorded_at": _LONG.pack(recorded_us),
        "leaf_hash": entry.leaf,
    }


# -- the statements ----------------------------------------------------------------------------


def _streams(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    (wanted,) = parameters
    found = [row for stream in sorted(set(wanted)) for row in connection.streams.get(stream, ())]
    return [row.recorded() for row in found]


def _read_on(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    stream, version, limit = parameters
    found = connection.streams.get(stream, ())
    return [row.recorded() for row in found if row.entry.originator_version > version][:limit]


def _event(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    stream, version = parameters
    found = connection.streams.get(stream, ())
    return [row.recorded() for row in found if row.entry.originator_version == version]


def _beginnings(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    wanted, topic = parameters
    found = [connection.streams[stream][0] for stream in wanted if stream in connection.streams]
    return [row.recorded() for row in found if row.entry.topic == topic]


def _sizes(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    (wanted,) = parameters
    return [
        (stream, sum(len(row.entry.state) for row in connection.streams[stream]))
        for stream in set(wanted)
        if stream in connection.streams
    ]


def _finished(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    final = set(parameters["final"])
    scored = abandoned = 0
    others, begun = [], []
    for place, stream in enumerate(map(UUID, parameters["streams"]), 1):
        rows = connection.streams.get(stream, ())
        topics = [row.entry.topic for row in rows]
        numbered = [row.entry.originator_version for row in rows] == [*range(1, len(rows) + 1)]
        ended = numbered and bool(topics) and topics[-1] in final
        ended = ended and sum(topic in final for topic in topics) == 1
        ended = ended and "CarriedOver" not in topics
        if not ended:
            others.append(place)
            begun += [place] if rows else []
        elif "Scored" in topics:
            scored += 1
        else:
            abandoned += 1
    return [(scored, abandoned, others, begun)]


def _positions(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    (wanted,) = parameters
    return [row.recorded() for row in connection.rows if row.position in wanted]


def _events_at(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    return [
        (stream, version, row.entry.topic, row.entry.state)
        for stream, version in zip(parameters["streams"], parameters["versions"], strict=True)
        for row in connection.streams.get(stream, ())
        if row.entry.originator_version == version
    ]


def _without_outcome(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    last = [rows[-1].entry for rows in connection.streams.values()]
    return [
        (entry.originator_id, entry.originator_version)
        for entry in last
        if entry.run_id == parameters["run"] and entry.topic == "RequestSent"
    ]


def _events_of(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    return [
        (stream, row.entry.originator_version, row.entry.topic, row.entry.state)
        for stream in map(UUID, map(str, parameters["streams"]))
        for row in connection.streams.get(stream, ())
        if row.entry.topic in parameters["topics"]
    ]


def _streams_without_outcome(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    found = [
        connection.streams[stream][-1].entry
        for stream in map(UUID, map(str, parameters["streams"]))
        if stream in connection.streams
    ]
    return [
        (entry.originator_id, entry.originator_version)
        for entry in found
        if entry.topic == "RequestSent"
    ]


def _versions(connection: SimulatedConnection, parameters: Parameters) -> Answer:
    (wanted,) = parameters
    streams = connection.streams
    return [
        (each, streams[each][-1].entry.originator_version) for each in wanted if each in streams
    ]


def _under_run(connection: SimulatedConnection, parameters: Parameters) -> list[UUID]:
    run_id, own = parameters
    return [
        stream
        for stream, rows in connection.streams.items()
        if stream != own and any(row.entry.run_id == run_id for row in rows)
    ]


_ANSWERS: Mapping[str, Callable[[SimulatedConnection, Parameters], Answer]] = {
    _text(reader._READ_STREAMS): _streams,
    _text(reader._READ_ON): _read_on,
    _text(reader._READ_EVENT): _event,
    _text(reader._READ_BEGINNINGS): _beginnings,
    _text(reader._STREAM_BYTES): _sizes,
    _text(reader._READ_POSITIONS): _positions,
    query("finished_streams"): _finished,
    query("events_at"): _events_at,
    query("events_of_streams"): _events_of,
    query("requests_without_outcome"): _without_outcome,
    query("streams_without_outcome"): _streams_without_outcome,
    query("evaluation_streams"): lambda *asked: [(len(_under_run(*asked)),)],
    query("streams_under_run"): lambda *asked: [(stream,) for stream in _under_run(*asked)],
    _text(reader.VERSIONS): _versions,
    LIFT_IDLE_LIMIT: lambda *_: [],
    SNAPSHOT: lambda *_: [],
    **queue.ANSWERS,
}
