"""The requests and responses of one evaluation: each attempt, from its events."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from failproof_es.core.reply_body import raw_body
from failproof_es.core.request_body import RequestBodies, SentBody
from failproof_es.engine.history import UNREADABLE
from failproof_es.events import (
    AttemptOrphaned,
    CarriedOver,
    ErrorRecorded,
    EvaluationEvent,
    Event,
    RequestSent,
    ResponseReceived,
)
from failproof_es.store.reading.reader import Connection, RecordedEvent, read_streams


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """A row of the log with its parsed event; `event` is `None` if it cannot be read."""

    row: RecordedEvent
    event: Event | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to a model and its outcome on record: an answer, an error, or orphaned."""

    sent: ReadEvent
    body: SentBody
    """The whole body of the request."""
    answer: ReadEvent | None = None
    error: ReadEvent | None = None
    """The error; together with an answer, the error that another model gave the answer."""
    orphaned: ReadEvent | None = None

    @property
    def request(self) -> RequestSent:
        """The event of the request."""
        assert isinstance(self.sent.event, RequestSent)
        return self.sent.event


def read_history(connection: Connection, evaluation_id: UUID, up_to: int) -> list[ReadEvent]:
    """The events of an evaluation, in order, up to the position `up_to` inclusive.

    If the evaluation was carried over from another run, the events of its source come first. Empty
    if there are none.
    """
    own = _read_events(connection, evaluation_id, up_to)
    first = own[0].event if own else None
    if isinstance(first, CarriedOver):
        return [*_read_events(connection, first.source_evaluation_id, up_to), *own]
    return own


def exchanges_of(history: Sequence[ReadEvent]) -> Iterator[Exchange]:
    """Each request of an evaluation's history in order, with its outcome."""
    sent: ReadEvent | None = None
    body: SentBody | None = None
    outcome: dict[str, ReadEvent] = {}
    bodies = RequestBodies()
    for event in history:
        match event.event:
            case RequestSent() as request:
                if sent is not None and body is not None:
                    yield Exchange(sent, body, **outcome)
                sent, body, outcome = event, bodies.rebuild(request), {}
            case ResponseReceived():
                outcome["answer"] = event
            case ErrorRecorded():
                outcome["error"] = event
            case AttemptOrphaned():
                outcome["orphaned"] = event
    if sent is not None and body is not None:
        yield Exchange(sent, body, **outcome)


def body_at(history: Sequence[ReadEvent], position: int) -> bytes | None:
    """The recorded body of the request or response at this position; `None` if it has no body.

    Also `None` if the history has no request or response at this position.
    """
    bodies = RequestBodies()
    for read in history:
        body = None
        if isinstance(read.event, RequestSent):
            body = bodies.rebuild(read.event).body
        elif isinstance(read.event, ResponseReceived | ErrorRecorded):
            body = raw_body(read.event)
        if read.row.position == position:
            return body
    return None


def digest_of_body(event: ResponseReceived | ErrorRecorded) -> str | None:
    """The SHA-256 of the whole received body, in hexadecimal; `None` without a body.

    It is of the body as received, even if only a part of it was recorded.
    """
    if event.withheld is not None:
        return event.withheld.sha256
    body = raw_body(event)
    return None if body is None else hashlib.sha256(body).hexdigest()


def _read_events(connection: Connection, stream: UUID, up_to: int) -> list[ReadEvent]:
    events = []
    for row in read_streams(connection, [stream]).get(stream, ()):
        if row.position > up_to:
            break
        try:
            event: Event | None = row.event()
        except UNREADABLE:
            event = None
        events.append(ReadEvent(row, event))
    return events


def is_evaluation(history: Sequence[ReadEvent]) -> bool:
    """Whether the history is of an evaluation, by its last event.

    False without a readable last event.
    """
    return bool(history) and isinstance(history[-1].event, EvaluationEvent)
