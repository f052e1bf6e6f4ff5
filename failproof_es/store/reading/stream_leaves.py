"""Computes the leaves of many streams from their rows, and keeps no row: the fastest way through.

For whoever knows already which leaves there should be. What is odd about a row is not told here:
`leaf_rows` reads such a row and says it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from failproof_es.ledger.leaf import NoLeaf, leaf_hash

Connection = psycopg.Connection[Any]

_COPY = sql.SQL(
    "COPY (SELECT originator_id, originator_version, run_id, leaf_hash, topic, state "
    "FROM failproof.stored_events WHERE originator_id = ANY ({streams}) "
    "ORDER BY originator_id, originator_version) TO STDOUT (FORMAT BINARY)"
)
_HEADER = 19
_LENGTH = struct.Struct(">i")
_FILED = struct.Struct(">hi16siqi16si32si")
"""Number of fields, then length and value: stream id, version, run id, leaf; the topic's length."""
_NOT_FILED = struct.Struct(">hi16siqii32si")
"""The same of a row that is filed under no run."""
_LENGTHS = (6, 16, 8, 16, 32)
_LENGTHS_NOT_FILED = (6, 16, 8, -1, 32)


class OddRow(Exception):
    """A row is not as its writer left it, or not where it belongs."""


def stream_leaves(
    connection: Connection, stream_ids: Sequence[UUID], run_id: UUID | None
) -> dict[bytes, bytes]:
    """By stream the leaf hashes of all its events, one after the other, in version order.

    Computed from the rows, and compared with what the writer computed. Absent streams are absent.
    Raises `OddRow` at a row that is not filed under `run_id`, is no event, or has another hash
    than its writer computed, and where the database cannot read one.
    """
    run = None if run_id is None else run_id.bytes
    found: dict[bytes, bytearray] = {}
    statement = _COPY.format(streams=sql.Literal(list(stream_ids)))
    try:
        with (
            connection.transaction(),
            connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            skipped = _HEADER
            for data in copy:
                row = memoryview(data)[skipped:]
                skipped = 0
                if len(row) > 2:
                    _add(found, row, run)
    except psycopg.DatabaseError as error:
        if connection.closed or isinstance(error, psycopg.errors.QueryCanceled):
            raise
        raise OddRow(str(error)) from error
    except (struct.error, NoLeaf) as error:
        raise OddRow(str(error)) from error
    return {stream: bytes(leaves) for stream, leaves in found.items()}


def _add(found: dict[bytes, bytearray], row: memoryview, run: bytes | None) -> None:
    if run is None:
        fields, of_id, stream, of_version, version, of_run, of_leaf, leaf, of_topic = (
            _NOT_FILED.unpack_from(row)
        )
        if (fields, of_id, of_version, of_run, of_leaf) != _LENGTHS_NOT_FILED:
            raise OddRow
        at = _NOT_FILED.size
    else:
        fields, of_id, stream, of_version, version, of_run, filed, of_leaf, leaf, of_topic = (
            _FILED.unpack_from(row)
        )
        if (fields, of_id, of_version, of_run, of_leaf) != _LENGTHS or filed != run:
            raise OddRow
        at = _FILED.size
    if of_topic < 0:
        raise OddRow
    topic = bytes(row[at : at + of_topic])
    at += of_topic
    (of_state,) = _LENGTH.unpack_from(row, at)
    if of_state < 0:
        raise OddRow
    state = row[at + 4 : at + 4 + of_state]
    if leaf_hash(stream, version, topic, state) != leaf:
        raise OddRow
    leaves = found.get(stream)
    if leaves is None:
        found[stream] = bytearray(leaf)
    else:
        leaves += leaf
