"""`/events/{position}`: one event as it is stored, and the proof that it was not changed."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from hashlib import sha256
from shlex import quote
from typing import Any, Literal
from uuid import UUID

import orjson
from pydantic import Field

from failproof_es.assurance.event_proof import EventProof, prove_event, prove_leaf
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import Query
from failproof_es.events import EVENTS
from failproof_es.events.line import line_of
from failproof_es.problems import InvalidInput
from failproof_es.store.errors import UnreadableState
from failproof_es.store.reading.archives import archive_of
from failproof_es.store.reading.experiments import run_numbers
from failproof_es.store.reading.log_pages import (
    ListedEvent,
    beside_in_log,
    beside_in_stream,
    event_at,
    stream_topics,
)
from failproof_es.store.reading.reader import Connection, RecordedEvent
from failproof_es.support.document import Document

LARGEST_POSITION = (1 << 63) - 1
_MOST_FIELDS = 60
_MOST_OF_A_FIELD = 600


class EventQuery(Query):
    """The choice of neighbouring events in the stream."""

    topic: str | None = Field(
        None, max_length=200, description="Only events of this type of the stream."
    )


class Envelope(Document):
    """The columns of the event besides the payload. The database sets position and time."""

    position: int
    stream_id: UUID
    stream_kind: str | None
    """`None` where the type of the event is not known to this version."""
    version: int
    topic: str
    run_id: UUID | None
    run_number: int | None
    recorded_at: datetime | None
    says: str
    bytes: int | None
    """The length of the payload; `None` where it is archived."""


class Payload(Document):
    """The payload, byte for byte as it is stored."""

    text: str
    encoding: Literal["utf-8", "base64"]
    """Base64 where the bytes are not UTF-8."""
    sha256: str
    fields: tuple[tuple[str, str], ...]
    """The fields with their values as JSON, cut after some hundred characters."""


class InArchive(Document):
    """The place of an archived event's payload."""

    file: str
    sha256: str
    archived_at: datetime
    attach: str
    """The command that attaches the run."""


class EventPage(PageModel):
    """One event of the log."""

    event: Envelope
    payload: Payload | None
    archive: InArchive | None
    """`None` where the payload is in the log."""
    proof: EventProof
    verify: str | None
    """The command that verifies more than this event: the whole run, or the whole log."""
    topics: dict[str, int]
    """Number of events in the stream, by type."""
    previous_in_stream: ListedEvent | None
    next_in_stream: ListedEvent | None
    previous_in_log: ListedEvent | None
    next_in_log: ListedEvent | None


def read_event_page(request: PageRequest[EventQuery]) -> EventPage:
    """The event at the position that the path names."""
    connection, position = request.connection, position_of(request.path["position"])
    event = event_at(connection, position) if position else None
    if event is None:
        raise InvalidInput.because(
            "unknown-event",
            f"there is no event {request.path['position'][:40]}: the newest is "
            f"{request.as_of.head:,}",
            remedy="positions count from 1, and one is left out where a write was given up. "
            "Search for a run, an evaluation or a digest, or begin at /runs",
        )
    run_ids = [] if event.run_id is None else [event.run_id]
    number = next(iter(run_numbers(connection, run_ids).values()), None)
    topic = request.query.topic
    before, after = beside_in_stream(connection, event.stream_id, event.version, topic)
    earlier, later = beside_in_log(connection, event.position)
    payload, archive = None, None
    if isinstance(event, RecordedEvent):
        payload = _payload(event)
        proof = prove_event(
            connection, event.position, event.stream_id, event.version, event.topic, event.state
        )
    else:
        archive = _archive(connection, event.run_id)
        proof = prove_leaf(connection, event.position, bytes.fromhex(event.leaf_hash))
    return EventPage(
        as_of=request.as_of,
        event=_envelope(event, number),
        payload=payload,
        archive=archive,
        proof=proof,
        verify="failproof-es verify" + ("" if number is None else f" {number}"),
        topics=stream_topics(connection, event.stream_id),
        previous_in_stream=before,
        next_in_stream=after,
        previous_in_log=earlier,
        next_in_log=later,
    )


def position_of(text: str) -> int | None:
    """The position in a text; `None` where it is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        return None
    position = int(text)
    return position if position <= LARGEST_POSITION else None


def _envelope(event: RecordedEvent | ListedEvent, number: int | None) -> Envelope:
    kind = EVENTS.get(event.topic)
    return Envelope.copy_of(
        event,
        stream_kind=None if kind is None else kind.stream,
        run_number=number,
        says=event.says if isinstance(event, ListedEvent) else _event_line(event),
        bytes=None if isinstance(event, ListedEvent) else len(event.state),
    )


def _event_line(event: RecordedEvent) -> str:
    try:
        return line_of(event.topic, event.upcast_payload())[:2000]
    except UnreadableState:
        return ""


def _payload(event: RecordedEvent) -> Payload:
    try:
        text, encoding = event.state.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = b64encode(event.state).decode(), "base64"
    return Payload(
        text=text,
        encoding=encoding,
        sha256=sha256(event.state).hexdigest(),
        fields=_fields(event.state),
    )


def _fields(state: bytes) -> tuple[tuple[str, str], ...]:
    try:
        document = orjson.loads(state)
    except ValueError:
        return ()
    if not isinstance(document, dict):
        return ()
    some = list(document.items())[:_MOST_FIELDS]
    return tuple((name[:200], _format_field(value)) for name, value in some)


def _format_field(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if len(text) <= _MOST_OF_A_FIELD:
        return text
    return f"{text[:_MOST_OF_A_FIELD]}… ({len(text) - _MOST_OF_A_FIELD:,} more characters)"


def _archive(connection: Connection, run_id: UUID | None) -> InArchive | None:
    archived = None if run_id is None else archive_of(connection, run_id)
    if archived is None:
        return None
    return InArchive.copy_of(
        archived,
        archived_at=archived.timestamp,
        attach=f"failproof-es attach {quote(archived.file)}",
    )


PAGE = Page(
    name="event",
    path="/events/{position}",
    says="One event exactly as it is stored, and the proof that it was not changed.",
    read=read_event_page,
)
