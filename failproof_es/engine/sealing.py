"""Sealing a run that has ended: a hash over everything that its streams hold."""

from __future__ import annotations

from contextlib import closing
from uuid import UUID

from failproof_es.ledger.seal import Seal, Sealing
from failproof_es.store.ledger import Connection, checked_leaf, stream_rows
from failproof_es.store.recorder import query

_STREAMS_AT_ONCE = 1000


def seal_of(connection: Connection, run_id: UUID) -> Seal:
    """The seal over the run's own stream and its evaluations as the log holds them now.

    Raises `LedgerBroken` at an event that is not what its writer recorded.
    """
    sealing = Sealing()
    streams = _streams_of(connection, run_id)
    for first in range(0, len(streams), _STREAMS_AT_ONCE):
        chosen = [UUID(bytes=each) for each in streams[first : first + _STREAMS_AT_ONCE]]
        with closing(stream_rows(connection, chosen)) as rows:
            for row in rows:
                if row.run_id == run_id.bytes:
                    sealing.add(row.stream_id, checked_leaf(row))
        sealing.close_streams()
    return sealing.seal()


def _streams_of(connection: Connection, run_id: UUID) -> list[bytes]:
    """The ids of the run's streams in their order: 16 bytes each, for a run may have many."""
    under = connection.execute(query("streams_under_run"), (run_id, run_id))
    return sorted([run_id.bytes, *(stream.bytes for (stream,) in under)])
