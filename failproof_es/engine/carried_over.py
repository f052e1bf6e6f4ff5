"""Evaluations that a branched run takes over from another one, by reference to their events.

What is carried over is written once, in the stream where it happened; the run that took it
over says which stream that is, how many events it has and what they hash to. Reading
follows the reference, so that nobody else has to know.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from failproof_es.evaluation import EvaluationKey, ImpossibleHistory
from failproof_es.events import Branch, CarriedOver, EvaluationAbandoned, Event, Scored
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.reader import Connection, RecordedEvent, portions, read_streams

FINAL = (Scored.__name__, EvaluationAbandoned.__name__, CarriedOver.__name__)
"""What ends the stream of an evaluation."""


def carry_over(
    connection: Connection, branch: Branch, keys: Sequence[EvaluationKey]
) -> list[CarriedOver]:
    """What the run that was branched takes over of these evaluations, as its first events.

    Those that were finished at the branch's position. One that was carried over there already
    is taken from where it happened: a reference never leads to another one.
    """
    sources = {replace(key, run_id=branch.run_id).evaluation_id: key for key in keys}
    found = []
    for portion in portions(connection, list(sources)):
        streams = read_streams(connection, portion)
        for source_id in portion:
            rows = [row for row in streams.get(source_id, []) if row.position <= branch.position]
            event = _reference(sources[source_id], branch.run_id, rows) if rows else None
            if event is not None:
                found.append(event)
    return found


def _reference(
    key: EvaluationKey, run_id: UUID, rows: Sequence[RecordedEvent]
) -> CarriedOver | None:
    fields: dict[str, Any] = {
        "originator_id": key.evaluation_id,
        "originator_version": 1,
        "run_id": key.run_id,
        "timestamp": datetime.now(UTC),
    }
    last = rows[-1]
    event = last.event()
    if isinstance(event, CarriedOver):
        return event.model_copy(update=fields)
    if not isinstance(event, Scored | EvaluationAbandoned):
        return None
    return CarriedOver(
        **fields,
        prompt_id=key.prompt_id,
        model_key=key.model_key,
        repetition=key.repetition,
        source_run_id=run_id,
        source_evaluation_id=last.stream_id,
        source_events=len(rows),
        source_sha256=stream_digest(rows),
    )


def followed(connection: Connection, references: Sequence[CarriedOver]) -> dict[UUID, list[Event]]:
    """What these say happened, by evaluation: as events of the run that carried them over.

    Raises `ImpossibleHistory` where a stream does not hold what the reference says.
    """
    if not references:
        return {}
    streams = read_streams(connection, [each.source_evaluation_id for each in references])
    histories = {}
    for each in references:
        rows = streams.get(each.source_evaluation_id, [])
        if (len(rows), stream_digest(rows)) != (each.source_events, each.source_sha256):
            raise ImpossibleHistory(
                f"stream {each.originator_id}: what it carries over is not what stream "
                f"{each.source_evaluation_id} holds"
            )
        own = {"originator_id": each.originator_id, "run_id": each.run_id}
        histories[each.originator_id] = [row.event().model_copy(update=own) for row in rows]
    return histories


def stream_digest(rows: Sequence[RecordedEvent]) -> str:
    """SHA-256, in hexadecimal, of a stream's leaf hashes in version order, as a seal has it."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(leaf_hash(row.stream_id.bytes, row.version, row.topic.encode(), row.state))
    return digest.hexdigest()
