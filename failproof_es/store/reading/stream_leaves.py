"""Computes the leaves of many streams from their rows, as fast as possible.

For callers that know the expected leaves. An odd row raises without a description: `leaf_rows`
reads such rows and describes them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from failproof_es.ledger.leaf import NoLeaf, leaf_hash
from failproof_es.store.reading.of_streams import events_of_streams

Connection = psycopg.Connection[Any]

_COPY = sql.SQL(
    "COPY (SELECT originator_id, originator_version, notification_id, recorded_at, run_id, "
    "leaf_hash, topic, state "
    "FROM {events} ORDER BY originator_id, originator_version) TO STDOUT (FORMAT BINARY)"
)
_HEADER = 19
_LENGTH = struct.Struct(">i")
_LEAF_ROW = struct.Struct(">hi16siqiqiqi16si32si")
"""Number of fields, then length and value: stream id, version, position, recorded_at, run id, leaf;
the topic's length."""
_NOT_FILED = struct.Struct(">hi16siqiqiqii32si")
"""`_LEAF_ROW` without a run id: a row that belongs to no run."""
_LENGTHS = (8, 16, 8, 8, 8, 16, 32)
_LENGTHS_NOT_FILED = (8, 16, 8, 8, 8, -1, 32)
_US_PER_YEAR = 31_556_952_000_000
_EARLIEST = -1_990 * _US_PER_YEAR
_LATEST = 7_990 * _US_PER_YEAR
"""Bounds of recorded_at, in microseconds since 2000: about the years 10 to 9990, which every reader
can show."""


class OddRow(Exception):
    """A row was changed, is incomplete or is in the wrong place."""


def stream_leaves(
    connection: Connection, stream_ids: Sequence[UUID], run_id: UUID | None
) -> dict[bytes, bytes]:
    """The joined leaf hashes of each stream's events in version order, by stream.

    Computed from the rows, and compared with the writer's. Streams without events are left out.
    Raises `OddRow` for a row that is not of `run_id`, is not an event, has another hash than its
    writer computed, lacks a position or `recorded_at`, or has a `recorded_at` out of bounds; if a
    stream's positions do not ascend with its versions; and if the database cannot read a row.
    """
    run = None if run_id is None else run_id.bytes
    streams: dict[bytes, bytearray] = {}
    statement = _COPY.format(events=events_of_streams(sql.Literal(list(stream_ids))))
    try:
        with (
            connection.transaction(),
            connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            skipped, position = _HEADER, 0
            for data in copy:
                row = memoryview(data)[skipped:]
                skipped = 0
                if len(row) > 2:
                    position = _add(streams, row, run, position)
    except psycopg.DatabaseError as error:
        if connection.closed or isinstance(error, psycopg.errors.QueryCanceled):
            raise
        raise OddRow(str(error)) from error
    except (struct.error, NoLeaf) as error:
        raise OddRow(str(error)) from error
    return {stream: bytes(leaves) for stream, leaves in streams.items()}


def _add(
    streams: dict[bytes, bytearray], row: memoryview, run: bytes | None, position_before: int
) -> int:
    """Add the row's leaf to those of its stream, whose rows are consecutive; return its position.

    Raises `OddRow`.
    """
    if run is None:
        (
            fields, of_id, stream, of_version, version, of_position, position,
            of_time, recorded_at, of_run, of_leaf, leaf, of_topic,
        ) = _NOT_FILED.unpack_from(row)  # fmt: skip
        expected, filed = _LENGTHS_NOT_FILED, None
        at = _NOT_FILED.size
    else:
        (
            fields, of_id, stream, of_version, version, of_position, position,
            of_time, recorded_at, of_run, filed, of_leaf, leaf, of_topic,
        ) = _LEAF_ROW.unpack_from(row)  # fmt: skip
        expected = _LENGTHS
        at = _LEAF_ROW.size
    if (fields, of_id, of_version, of_position, of_time, of_run, of_leaf) != expected:
        raise OddRow
    if filed != run or of_topic < 0 or not _EARLIEST < recorded_at < _LATEST:
        raise OddRow
    topic = bytes(row[at : at + of_topic])
    at += of_topic
    (of_state,) = _LENGTH.unpack_from(row, at)
    if of_state < 0:
        raise OddRow
    state = row[at + 4 : at + 4 + of_state]
    if leaf_hash(stream, version, topic, state) != leaf:
        raise OddRow
    leaves = streams.get(stream)
    if leaves is None:
        streams[stream] = bytearray(leaf)
    elif position > position_before:
        leaves += leaf
    else:  # `leaf_rows` reads in the order of positions: the leaves would differ
        raise OddRow
    return int(position)
