"""Reads the log in batches for projections, and parses each event once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, LiteralString
from uuid import UUID

import orjson
import psycopg

from failproof_es.events import EVENTS, Event
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import decode, upcast
from projections.archives import apply_in_parts
from projections.protocol import Fact, Projection, sql_file

BATCH_EVENTS = 10_000
BATCH_BYTES = 16_000_000
"""Maximum bytes of a batch of several events. In memory they take several times that."""

_CURRENT = {topic: event.schema_version for topic, event in EVENTS.items()}
_VALIDATE = {topic: event.__pydantic_validator__.validate_python for topic, event in EVENTS.items()}


@dataclass(frozen=True, slots=True)
class Batch:
    """The next events: the number read, the last position, and the events of the wanted topics."""

    events: int
    position: int
    facts: Sequence[Fact]


def read_batch(
    connection: psycopg.Connection[Any], position: int, topics: Collection[str]
) -> Batch | None:
    """The batch of events after `position`; `None` at the end of the log.

    Only events of these topics become facts. A damaged event is a fact with `damage`. Raises
    `UnreadableState` for an event that a newer version wrote, which alone can apply it.
    """
    return _fetch_batch(connection, sql_file("read_batch"), {"position": position}, topics)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the log: the streams of some kinds in a range of ids, up to a position."""

    kinds: tuple[str, ...]
    """Topics. With `among`, the share has only events of these topics, else only of others."""
    among: bool
    first: UUID
    """The range of stream ids is from `first` to `last`, both included."""
    last: UUID
    up_to: int
    """The last position, included."""


def read_share(
    connection: psycopg.Connection[Any], position: int, share: Share, topics: Collection[str]
) -> Batch | None:
    """Like `read_batch`, but only the events of a share; `None` at its end."""
    parameters = {
        "position": position, "up_to": share.up_to, "kinds": list(share.kinds),
        "among": share.among, "first": share.first, "last": share.last,
    }  # fmt: skip
    return _fetch_batch(connection, sql_file("read_share"), parameters, topics)


def _fetch_batch(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    where: Mapping[str, Any],
    topics: Collection[str],
    at_once: int | None = None,
) -> Batch | None:
    limits = {"events": at_once or BATCH_EVENTS, "bytes": BATCH_BYTES}
    with connection.cursor(binary=True) as cursor:
        cursor.execute(
            statement, {**where, "topics": list(topics), "known": list(EVENTS), **limits}
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
    """The row of the log as a fact; with `damage` if its `state` cannot be read.

    `ids` caches UUIDs: equal ones are then one object and compare fast. Raises `UnreadableState` if
    a newer version of this program may have written the row.
    """
    stream = ids.get(stream_id) or ids.setdefault(stream_id, UUID(stream_id))
    try:
        payload: dict[str, Any] = orjson.loads(state)
        if payload.pop("schema_version", None) != _CURRENT[topic]:
            payload = upcast(topic, state, stream, version)[1]
        payload["originator_id"] = stream
        payload["originator_version"] = version
        if type(run := payload["run_id"]) is str:
            payload["run_id"] = ids.get(run) or ids.setdefault(run, UUID(run))
        if type(prompt := payload.get("prompt_id")) is str:
            payload["prompt_id"] = ids.get(prompt) or ids.setdefault(prompt, UUID(prompt))
        event: Event = _VALIDATE[topic](payload)
    except (KeyError, ValueError, TypeError, AttributeError, UnreadableState):
        pass
    else:
        return Fact(position, stream_id, topic, run_id, state, version, event)
    try:
        event = decode(topic, state, stream, version)
    except UnreadableState as error:
        if _may_be_newer(topic, state):
            raise
        return Fact(position, stream_id, topic, run_id, {}, version, None, error)
    return Fact(position, stream_id, topic, run_id, state, version, event)


def _may_be_newer(topic: str, state: bytes) -> bool:
    """Whether a newer version of this program may be able to read this state."""
    if topic not in EVENTS:
        return True
    try:
        return bool(orjson.loads(state)["schema_version"] > _CURRENT[topic])
    except (ValueError, TypeError, KeyError):
        return False


def take_in(
    connection: psycopg.Connection[Any],
    projections: Sequence[Projection],
    positions: Mapping[str, int],
    batch: Batch,
    *,
    in_order: bool = True,
) -> None:
    """Apply to each projection the events of a batch that it wants and has not applied yet.

    `positions` are those that the projections have reached, by name. With `in_order` all events
    before the batch are applied already, so a run's earlier events may be read. Without it (several
    processes rebuild, each a share of the log) each projection gets its events at once.
    """
    facts = batch.facts
    whole = [fact for fact in facts if fact.damage is None]
    held = {fact.topic for fact in facts}
    with connection.cursor() as cursor:
        for projection in projections:
            position, topics = positions[projection.name], projection.topics
            pending = facts if getattr(projection, "takes_damaged", False) else whole
            if not held <= topics:
                pending = [fact for fact in pending if fact.topic in topics]
            if pending and pending[0].position <= position:
                pending = [fact for fact in pending if fact.position > position]
            if pending and in_order:
                apply_in_parts(cursor, projection, pending, partial(_read_run, connection))
            elif pending:
                projection.apply(cursor, pending)


def read_run(
    connection: psycopg.Connection[Any],
    run_id: UUID,
    before: int,
    topics: Collection[str],
    *,
    own: bool = True,
    at_once: int | None = None,
) -> Iterator[Batch]:
    """The events before a position that are filed under a run, batch by batch.

    Those of its own stream only with `own`. Only events of these topics become facts. `at_once` is
    the number of events of a batch, `None`: as many as a follower takes.
    """
    parameters = {"run_id": run_id, "own": own, "before": before}
    position = 0
    while True:
        place = {**parameters, "position": position}
        batch = _fetch_batch(connection, sql_file("read_run"), place, topics, at_once)
        if batch is None:
            return
        yield batch
        position = batch.position


def _read_run(
    connection: psycopg.Connection[Any], projection: Projection, run_id: UUID, before: int
) -> Iterator[Sequence[Fact]]:
    own = not getattr(projection, "keeps_own_stream", False)
    damaged = getattr(projection, "takes_damaged", False)
    for batch in read_run(connection, run_id, before, projection.topics, own=own):
        facts = [f for f in batch.facts if f.topic in projection.topics]
        if facts := [f for f in facts if damaged or f.damage is None]:
            yield facts
