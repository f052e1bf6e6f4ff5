"""The log as projections read it: so many events at once, each parsed once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
import psycopg

from failproof_es.events import EVENTS
from failproof_es.store.mapper import upcast
from projections.protocol import Fact, sql_file

BATCH_EVENTS = 10_000
BATCH_BYTES = 16_000_000
"""Or one event. In memory they take several times that."""

_CURRENT = {topic: event.schema_version for topic, event in EVENTS.items()}


@dataclass(frozen=True, slots=True)
class Batch:
    """The next events: how many were read, where the last one stands, those that are wanted."""

    events: int
    position: int
    facts: Sequence[Fact]


def read_batch(
    connection: psycopg.Connection[Any], position: int, topics: Collection[str]
) -> Batch | None:
    """What follows `position`, none at the end of the log.

    Raises `UnreadableState` for an event that this program cannot read.
    """
    limits = {"events": BATCH_EVENTS, "bytes": BATCH_BYTES}
    with connection.cursor(binary=True) as cursor:
        cursor.execute(
            sql_file("read_batch"), {"position": position, "topics": list(topics), **limits}
        )
        rows = cursor.fetchall()
    if not rows:
        return None
    facts = [
        Fact(place, stream_id, topic, run_id, payload_of(topic, state, stream_id, version))
        for place, stream_id, version, topic, run_id, state in rows
        if state is not None
    ]
    return Batch(len(rows), rows[-1][0], facts)


def payload_of(topic: str, state: bytes, stream_id: str, version: int) -> dict[str, Any]:
    """What the bytes say, in today's schema. Raises `UnreadableState`."""
    payload: dict[str, Any] = orjson.loads(state)
    if payload.pop("schema_version", None) == _CURRENT.get(topic):
        return payload
    return upcast(topic, state, UUID(stream_id), version)[1]
