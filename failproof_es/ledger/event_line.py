"""One event as a line of an evidence file: canonical JSON (`docs/reference/evidence-format.md`)."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from failproof_es.ledger.contents import BundledEvent, EvidenceError
from failproof_es.ledger.leaf import leaf_hash

AnyProven = TypeVar("AnyProven", bound=BundledEvent)

_EVENT_KEYS = {"index", "state", "stream", "topic", "version"}


@dataclass(frozen=True, slots=True)
class ProvenEvent:
    """One event and its index in the tree; `state` is exactly the stored bytes."""

    index: int
    stream_id: UUID
    version: int
    topic: str
    state: bytes

    @property
    def stream(self) -> bytes:
        """The stream id as 16 bytes."""
        return self.stream_id.bytes

    def leaf_hash(self) -> bytes:
        """The hash of this event's leaf in the tree."""
        return leaf_hash(self.stream_id.bytes, self.version, self.topic.encode(), self.state)


def canonical(document: dict[str, Any]) -> bytes:
    """A line of canonical JSON: sorted keys, no spaces, ASCII."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"


def parse_line(line: bytes, what: str) -> dict[str, Any]:
    """The document in a line, without its newline. Raises `EvidenceError` unless canonical."""
    try:
        document = json.loads(line)
        is_canonical = isinstance(document, dict) and canonical(document) == line + b"\n"
    except (ValueError, RecursionError):
        is_canonical = False
    if not is_canonical:
        raise EvidenceError(f"{what}: not JSON in its one canonical form")
    return document  # type: ignore[no-any-return]


def event_document(event: BundledEvent) -> dict[str, Any]:
    """The event as the document of its line."""
    return {
        "index": event.index,
        "state": encode_base64(event.state),
        "stream": str(event.stream_id),
        "topic": event.topic,
        "version": event.version,
    }


def parse_event(line: bytes, number: int) -> ProvenEvent:
    """The event in a line, without its newline. Raises `EvidenceError`, which names the line."""
    document = parse_line(line, f"line {number}")
    if set(document) != _EVENT_KEYS:
        raise EvidenceError(f"line {number}: an event with a key too many or too few")
    index, version, topic = document["index"], document["version"], document["topic"]
    if type(index) is not int or type(version) is not int or type(topic) is not str:
        raise EvidenceError(f"line {number}: an event with a value of the wrong type")
    try:
        stream_id = UUID(document["stream"])
    except (ValueError, AttributeError, TypeError):
        raise EvidenceError(f"line {number}: the stream is not a UUID") from None
    if str(stream_id) != document["stream"]:
        raise EvidenceError(f"line {number}: the stream's id is not in its canonical form")
    return require_bounds(
        ProvenEvent(index, stream_id, version, topic, decode_base64(document["state"]))
    )


def require_bounds(event: AnyProven) -> AnyProven:
    """The event itself. Raises `EvidenceError` if a bundle cannot hold its numbers or topic."""
    if not (0 <= event.index < 1 << 63 and 0 < event.version < 1 << 63):
        raise EvidenceError(f"event {event.index}: a number out of bounds")
    try:
        event.topic.encode()
    except UnicodeEncodeError:
        raise EvidenceError(f"event {event.index}: the topic is not Unicode") from None
    if len(event.topic) >= 1 << 10:
        raise EvidenceError(f"event {event.index}: the topic is too long")
    return event


def encode_base64(data: bytes) -> str:
    """Canonical base64 of the bytes."""
    return base64.b64encode(data).decode("ascii")


def decode_base64(text: Any) -> bytes:
    """Decode canonical base64. Raises `EvidenceError`."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (ValueError, TypeError, binascii.Error):
        raise EvidenceError("base64 is damaged") from None
    if encode_base64(decoded) != text:
        raise EvidenceError("base64 is not in its canonical form")
    return decoded
