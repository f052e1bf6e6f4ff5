"""Reads the log in batches for projections, and parses each event once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
import psycopg

from failproof_es.events import EVENTS, Event
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import decode, upcast
from projections.protocol import Fact, sql_file

BATCH_EVENTS = 10_000
BATCH_BYTES = 16_000_000
"""Or one event. In memory they take several times that."""

_CURRENT = {topic: event.schema_version for topic, event in EVENTS.items()}
_VALIDATE = {topic: event.__pydantic_validator__.validate_python for topic, event in EVENTS.items()}


@dataclass(frozen=True, slots=True)
class Batch:
    """The next events: how many were read, the last position, and the wanted events."""

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
    """The row as a fact. `ids` holds each UUID once, so that comparing equal ones is fast."""
    stream = ids.get(stream_id) or ids.setdefault(stream_id, UUID(stream_id))
    try:
        said: dict[str, Any] = orjson.loads(state)
        if said.pop("schema_version", None) != _CURRENT[topic]:
            said = upcast(topic, state, stream, version)[1]
        said["originator_id"] = stream
        said["originator_version"] = version
        if type(run := said["run_id"]) is str:
            said["run_id"] = ids.get(run) or ids.setdefault(run, UUID(run))
        if type(prompt := said.get("prompt_id")) is str:
            said["prompt_id"] = ids.get(prompt) or ids.setdefault(prompt, UUID(prompt))
        event: Event = _VALIDATE[topic](said)
    except (KeyError, ValueError, TypeError, AttributeError, UnreadableState):
        pass
    else:
        return Fact(position, stream_id, topic, run_id, state, version, event)
    try:
        event = decode(topic, state, stream, version)
    except UnreadableState as error:
        if _newer(topic, state):
            raise
        return Fact(position, stream_id, topic, run_id, {}, version, None, error)
    return Fact(position, stream_id, topic, run_id, state, version, event)


def _newer(topic: str, state: bytes) -> bool:
    """Whether another version of this program may know how to read this."""
    if topic not in EVENTS:
        return True
    try:
        return bool(orjson.loads(state)["schema_version"] > _CURRENT[topic])
    except (ValueError, TypeError, KeyError):
        return False
