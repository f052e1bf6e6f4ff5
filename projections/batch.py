"""The log as projections read it: so many events at once, each parsed once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
import psycopg

from failproof_es.events import EVENTS
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import decode, upcast
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

    Damaged events are facts that say so. Raises `UnreadableState` for an event that a newer
    program wrote: it is for that one to take in.
    """
    limits = {"events": BATCH_EVENTS, "bytes": BATCH_BYTES}
    with connection.cursor(binary=True) as cursor:
        cursor.execute(
            sql_file("read_batch"),
            {"position": position, "topics": list(topics), "known": list(EVENTS), **limits},
        )
        rows = cursor.fetchall()
    if not rows:
        return None
    ids: dict[str, UUID] = {}
    facts = [fact_of(ids, *row) for row in rows if row[-1] is not None]
    return Batch(len(rows), rows[-1][0], facts)


def fact_of(
    ids: dict[str, UUID],
    position: int,
    stream_id: str,
    version: int,
    topic: str,
    run_id: str | None,
    state: bytes,
) -> Fact:
    """The row as a fact. `ids` holds each UUID once: equal ones are then compared at once."""
    stream = ids.get(stream_id) or ids.setdefault(stream_id, UUID(stream_id))
    try:
        payload = payload_of(topic, state, stream_id, version)
        said = {**payload, "originator_id": stream, "originator_version": version}
        for name in ("run_id", "prompt_id"):
            text = said.get(name)
            if type(text) is str:
                said[name] = ids.get(text) or ids.setdefault(text, UUID(text))
        event = EVENTS[topic].model_validate(said)
    except (ValueError, TypeError, AttributeError, UnreadableState):
        pass
    else:
        return Fact(position, stream_id, topic, run_id, payload, version, event)
    try:
        payload = upcast(topic, state, stream, version)[1]
        event = decode(topic, state, stream, version)
    except UnreadableState as error:
        if _newer(topic, state):
            raise
        return Fact(position, stream_id, topic, run_id, {}, version, None, error)
    return Fact(position, stream_id, topic, run_id, payload, version, event)


def _newer(topic: str, state: bytes) -> bool:
    """Whether another version of this program may know how to read this."""
    if topic not in EVENTS:
        return True
    try:
        return bool(orjson.loads(state)["schema_version"] > _CURRENT[topic])
    except (ValueError, TypeError, KeyError):
        return False


def payload_of(topic: str, state: bytes, stream_id: str, version: int) -> dict[str, Any]:
    """What the bytes say, in today's schema. Raises `UnreadableState`."""
    payload: dict[str, Any] = orjson.loads(state)
    if payload.pop("schema_version", None) == _CURRENT.get(topic):
        return payload
    return upcast(topic, state, UUID(stream_id), version)[1]
