"""Reads carried-over evaluations: a reference holds the original stream's id and digest.

The events of a carried-over evaluation are stored once, in the original stream. A reader follows
the reference and checks that the stream is unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from uuid import UUID

from failproof_es.core.evaluation import ImpossibleHistory
from failproof_es.events import CarriedOver, Event
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.reading.reader import Connection, RecordedEvent, read_streams


def resolve_carried_over(
    connection: Connection, references: Sequence[CarriedOver]
) -> dict[UUID, list[Event]]:
    """The events that the references point to, by evaluation, as events of the referring run.

    Raises `ImpossibleHistory` if a stream differs from its reference.
    """
    if not references:
        return {}
    streams = read_streams(connection, [reference.source_evaluation_id for reference in references])
    return {
        reference.originator_id: resolve_reference(
            reference, streams.get(reference.source_evaluation_id, [])
        )
        for reference in references
    }


def resolve_reference(reference: CarriedOver, rows: Sequence[RecordedEvent]) -> list[Event]:
    """The events of the source's rows, as events of the referring run.

    Raises as `resolve_carried_over` does.
    """
    actual = (len(rows), stream_digest(rows))
    if actual != (reference.source_events, reference.source_sha256):
        message = f"what it carries over is not what stream {reference.source_evaluation_id} holds"
        raise ImpossibleHistory(message, reference)
    own = {"originator_id": reference.originator_id, "run_id": reference.run_id}
    history = []
    for row in rows:
        event = row.event()
        if event.run_id != reference.source_run_id:
            raise ImpossibleHistory(f"it is carried over from run {reference.source_run_id}", event)
        history.append(event.model_copy(update=own))
    return history


def stream_digest(rows: Sequence[RecordedEvent]) -> str:
    """SHA-256, in hexadecimal, of a stream's leaf hashes in version order, as a seal has it."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(leaf_hash(row.stream_id.bytes, row.version, row.topic.encode(), row.state))
    return digest.hexdigest()
