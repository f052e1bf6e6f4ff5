"""Sealing a run that has ended: a hash over everything that its streams hold."""

from __future__ import annotations

from uuid import UUID

from failproof_es.ledger.leaf import leaf_hash
from failproof_es.ledger.seal import Seal, Sealing
from failproof_es.store.ledger import Connection, run_rows


def seal_of(connection: Connection, run_id: UUID) -> Seal:
    """The seal over the run's own stream and its evaluations as the log holds them now."""
    sealing = Sealing()
    for row in run_rows(connection, run_id):
        sealing.add(row.stream_id, leaf_hash(row.stream_id, row.version, row.topic, row.state))
    return sealing.seal()
