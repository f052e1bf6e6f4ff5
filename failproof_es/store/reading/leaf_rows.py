"""Reads the rows of the log to compute leaves, and never fails on a damaged row.

Only a superuser can make a row that is not an event, and then every constraint may be gone,
so nothing is assumed here. The `trouble` of such a row, and of a row that the database itself
cannot read, describes the defect.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from failproof_es.ledger.errors import NotSigned
from failproof_es.ledger.leaf import NoLeaf, check_event, leaf_hash
from failproof_es.support.untrusted_text import shortened

Connection = psycopg.Connection[Any]

_COPY = sql.SQL(
    "COPY (SELECT notification_id, originator_id, originator_version, topic, state, run_id, "
    "recorded_at, leaf_hash FROM failproof.stored_events "
    "WHERE {which} ORDER BY notification_id LIMIT {limit}) TO STDOUT (FORMAT BINARY)"
)
_NEXT = (
    sql.SQL(
        "SELECT notification_id, originator_id, originator_version, textsend(topic) "
        "FROM failproof.stored_events WHERE {which} ORDER BY notification_id LIMIT 1"
    ),
    sql.SQL(
        "SELECT min(notification_id), NULL, NULL, NULL FROM failproof.stored_events WHERE {which}"
    ),
)
"""Statements for the readable parts of the first row, if the database cannot read all of it."""
_AFTER = sql.SQL("notification_id > {after}")
_UP_TO = sql.SQL("notification_id <= {up_to}")
_NOWHERE = sql.SQL("notification_id IS NULL")
_OF_RUN = sql.SQL("run_id = {run_id}")
_OF_STREAMS = sql.SQL("originator_id = ANY ({stream_ids})")
_AT = sql.SQL("notification_id = ANY ({positions}::bigint[])")
_AND = sql.SQL(" AND ")
_STREAMS_AT_ONCE = 1_000
_EVERY = (1 << 63) - 1
_COPY_HEADER = 19
_FIXED = struct.Struct(">hiqi16siqi")
"""Fields in the row, then length and value: position, stream id, version; the topic's length."""
_LENGTH = struct.Struct(">i")
_LONG = struct.Struct(">q")
_TAIL = struct.Struct(">iqi")
"""Length and value of recorded_at, then the leaf hash's length."""
_AS_EXPECTED = (8, 8, 16, 8, 8)
"""Number of columns of a row, and the lengths of position, stream id, version and recorded_at."""
_COLUMNS: tuple[tuple[str, int | None, bool], ...] = (
    ("position", 8, True),
    ("stream id", 16, True),
    ("version", 8, True),
    ("topic", None, True),
    ("state", None, True),
    ("run id", 16, False),
    ("recorded_at", 8, True),
    ("leaf hash", None, False),
)
"""The columns of a row: name, length in bytes if fixed, whether a value is required."""
_POSTGRES_EPOCH_US = 946_684_800_000_000
INFINITELY_LATE = (1 << 63) - 1 + _POSTGRES_EPOCH_US
INFINITELY_EARLY = -(1 << 63) + _POSTGRES_EPOCH_US
"""The values of `recorded_at_us` for PostgreSQL's infinity and -infinity."""
_LONGEST_TOPIC_SHOWN = 100
_LONGEST_ERROR_SHOWN = 200
_LARGE = 1 << 20


class LedgerBroken(NotSigned):
    """The log or its tree was changed, so it is not signed."""


class LeafRow(NamedTuple):
    """One event's row in the log. Ids are bytes, which are faster: a million are read.

    In a row that is not an event (`trouble`), missing fields are zero or empty.
    """

    position: int
    stream_id: bytes
    version: int
    topic: bytes
    state: bytes
    run_id: bytes | None
    recorded_at_us: int
    """Microseconds since 1970, by the database's clock."""
    leaf_hash: bytes | None
    """The hash that the writer computed; `None` if it was removed."""
    trouble: str | None = None
    """Why this is not a valid row of the log, or could not be read."""

    def check(self) -> None:
        """Raise `NoLeaf` when the row is not an event."""
        if self.trouble is not None:
            raise NoLeaf(self.trouble)
        check_event(self.stream_id, self.version, self.topic)

    def leaf(self) -> bytes:
        """The leaf, computed from the row. Raises `NoLeaf` when the row is not an event."""
        if self.trouble is not None:
            raise NoLeaf(self.trouble)
        return leaf_hash(self.stream_id, self.version, self.topic, self.state)

    def shown_topic(self) -> str:
        """The topic, safe to show, whatever bytes it holds."""
        return shortened(self.topic.decode(errors="replace"), _LONGEST_TOPIC_SHOWN)

    def __str__(self) -> str:
        stream = UUID(bytes=self.stream_id)
        of_stream = f"stream {stream} version {self.version}"
        return f"position {self.position} ({of_stream}, {self.shown_topic()})"


def checked_leaf(row: LeafRow) -> bytes:
    """The row's leaf, computed and compared with the one that the writer recorded.

    Raises `LedgerBroken`, which names the event.
    """
    try:
        leaf = row.leaf()
    except NoLeaf as why:
        raise LedgerBroken(f"the row of the event at {row} is not an event: {why}") from None
    if row.leaf_hash != leaf:
        raise LedgerBroken(f"the event at {row} is not what its writer recorded")
    return leaf


def leaf_rows(
    connection: Connection, after: int | None = 0, up_to: int = _EVERY, limit: int | None = None
) -> Generator[LeafRow]:
    """Stream the rows with positions in (after, up_to], in commit order.

    Positions begin at 1. With `after=None`, forged rows below 1 come first, and rows without
    a position last. The connection is busy until the last row is taken or the generator is
    closed: use `contextlib.closing`.
    """
    which = _UP_TO.format(up_to=sql.Literal(up_to))
    if after is not None:
        which = _AND.join([_AFTER.format(after=sql.Literal(after)), which])
    yield from _stream_rows(connection, which, limit)
    if after is None:
        yield from _stream_rows(connection, _NOWHERE)


def run_rows(connection: Connection, run_id: UUID) -> Generator[LeafRow]:
    """Stream the rows with this run id, in commit order. Prompts have no run id.

    Use `contextlib.closing`, as with `leaf_rows`.
    """
    return _stream_rows(connection, _OF_RUN.format(run_id=sql.Literal(run_id)))


def stream_rows(connection: Connection, stream_ids: Iterable[UUID]) -> Generator[LeafRow]:
    """Stream the rows of these streams, in commit order within each batch of 1,000 streams.

    Use `contextlib.closing`, as with `leaf_rows`.
    """
    rest = iter(stream_ids)
    while batch := list(islice(rest, _STREAMS_AT_ONCE)):
        yield from _stream_rows(connection, _OF_STREAMS.format(stream_ids=sql.Literal(batch)))


def rows_at(connection: Connection, positions: Sequence[int]) -> Generator[LeafRow]:
    """Stream the rows at these positions (at most some thousands), in commit order.

    Use `contextlib.closing`, as with `leaf_rows`.
    """
    return _stream_rows(connection, _AT.format(positions=sql.Literal(list(positions))))


def _stream_rows(
    connection: Connection, which: sql.Composable, limit: int | None = None
) -> Generator[LeafRow]:
    """Stream rows in commit order. A row that the database cannot read has a `trouble`.

    Raises `psycopg.Error` when not even the position of such a row is readable.
    """
    last: LeafRow | None = None
    row_count = 0
    # After an error, read few rows at a time: the error may be about a later row.
    window: int | None = None
    while limit is None or row_count < limit:
        rest = which
        if last is not None:
            rest = _AND.join([which, _AFTER.format(after=sql.Literal(last.position))])
        remaining = None if limit is None else limit - row_count
        most = min((bound for bound in (window, remaining) if bound is not None), default=None)
        came = 0
        try:
            statement = _COPY.format(which=rest, limit=sql.Literal(most))
            # In a savepoint: after an error the same transaction goes on.
            with connection.transaction(), closing(_copy_rows(connection, statement)) as rows:
                for last in rows:
                    came += 1
                    yield last
        except psycopg.DatabaseError as error:
            if connection.closed or isinstance(error, psycopg.errors.QueryCanceled):
                raise
            row_count += came
            if came or window != 1:
                window = 1 if came or window is None else window // 2
                continue
            last = _unreadable_row(connection, rest, error)
            if last is None:
                raise
        else:
            if most is None or came < most:
                return
            row_count += came
            window = None if window is None else 2 * window
            continue
        row_count += 1
        yield last


def _copy_rows(connection: Connection, statement: sql.Composed) -> Generator[LeafRow]:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        first = True
        for data in copy:
            # Slicing bytes is faster; for a large row, a view saves a copy.
            row = bytes(data) if len(data) < _LARGE else memoryview(data)
            if first:
                row, first = row[_COPY_HEADER:], False
            if len(row) > 2:
                yield _leaf_row(row)


def _unreadable_row(
    connection: Connection, which: sql.Composable, error: psycopg.DatabaseError
) -> LeafRow | None:
    """The readable part of the first row that `which` selects; `None` if no part is readable."""
    message = shortened(" ".join(str(error).split()), _LONGEST_ERROR_SHOWN)
    for statement in _NEXT:
        try:
            with connection.transaction(), connection.cursor(binary=True) as cursor:
                cursor.row_factory = tuple_row
                row = cursor.execute(statement.format(which=which)).fetchone()
        except psycopg.DatabaseError:
            continue
        if row is None or row[0] is None:
            return None
        position, stream, version, topic = row
        stream_id = stream.bytes if isinstance(stream, UUID) else bytes(16)
        return LeafRow(
            position, stream_id, version or 0, bytes(topic or b""), b"", None, 0, None,
            f"the database cannot read it: {message}",
        )  # fmt: skip
    return None


def _leaf_row(row: bytes | memoryview) -> LeafRow:
    """Parse a row of the binary COPY format. The fixed offsets hold for every valid event."""
    try:
        of_row, of_position, position, of_id, stream_id, of_version, version, length = (
            _FIXED.unpack_from(row)
        )
        at = _FIXED.size
        topic = bytes(row[at : at + length])
        at += length
        (of_state,) = _LENGTH.unpack_from(row, at)
        state = bytes(row[at + 4 : at + 4 + of_state])
        at += 4 + of_state
        run_id = None
        (of_run,) = _LENGTH.unpack_from(row, at)
        if of_run == 16:
            run_id = bytes(row[at + 4 : at + 20])
            at += 16
        of_time, recorded_at, of_leaf = _TAIL.unpack_from(row, at + 4)
        at += 4 + _TAIL.size
        leaf_hash = None if of_leaf < 0 else bytes(row[at : at + of_leaf])
    except struct.error:
        return _odd_row(row)
    lengths = (of_row, of_position, of_id, of_version, of_time)
    if lengths != _AS_EXPECTED or length < 0 or of_state < 0 or of_run not in (16, -1):
        return _odd_row(row)
    return LeafRow(
        position, stream_id, version, topic, state, run_id,
        recorded_at + _POSTGRES_EPOCH_US, leaf_hash,
    )  # fmt: skip


def _odd_row(row: bytes | memoryview) -> LeafRow:
    """Parse a row with a missing value or a value of a wrong type; `trouble` describes it."""
    fields: list[bytes | None] = []
    at = 2
    while at < len(row):
        (length,) = _LENGTH.unpack_from(row, at)
        at += 4
        fields.append(None if length < 0 else bytes(row[at : at + length]))
        at += max(length, 0)
    troubles = []
    if len(fields) != len(_COLUMNS):
        troubles.append(f"it has {len(fields)} columns instead of {len(_COLUMNS)}")
    fields = [*fields, *[None] * len(_COLUMNS)][: len(_COLUMNS)]
    for place, (name, length, needed) in enumerate(_COLUMNS):
        field = fields[place]
        if field is None:
            if needed:
                troubles.append(f"its {name} is missing")
        elif length is not None and len(field) != length:
            troubles.append(f"its {name} is {len(field)} bytes long instead of {length}")
            fields[place] = None
    position, stream_id, version, topic, state, run_id, recorded_at, leaf_hash = fields
    return LeafRow(
        _number(position), stream_id or bytes(16), _number(version), topic or b"", state or b"",
        run_id, _number(recorded_at) + _POSTGRES_EPOCH_US, leaf_hash,
        "; ".join(troubles) or "it is not in the form of a row",
    )  # fmt: skip


def _number(field: bytes | None) -> int:
    return 0 if field is None else int(_LONG.unpack(field)[0])
