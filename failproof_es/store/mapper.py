"""Maps events to the exact bytes that are stored, and back.

State is the event's JSON, in UTF-8, without the fields that have columns (stream id and
version), with its `schema_version`. Reading goes through the allow-list of topics and
through the upcasters, so that a log written by any released version still reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, cast
from uuid import UUID

import orjson
from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, StoredEvent
from pydantic import ValidationError

from failproof_es.events import EVENTS, ONLY_JUDGE, Event, PromptStored, Record
from failproof_es.events.side_streams import FORBIDDEN
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.store.errors import UnreadableState

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


def _several_judges(payload: dict[str, Any]) -> dict[str, Any]:
    judge = payload.pop("judge", None)
    return {**payload, "judges": [judge] if judge else []}


def _which_judge(payload: dict[str, Any]) -> dict[str, Any]:
    """There was one judge, and its key was `judge`."""
    return {**payload, "judge": ONLY_JUDGE if payload["purpose"] == "judge" else None}


def _findings(payload: dict[str, Any]) -> dict[str, Any]:
    """A finding was a sentence."""
    found = [
        {"kind": "unnamed", "integrity": not payload["passed"], "message": message}
        for message in payload["findings"]
    ]
    return {**payload, "findings": found}


_NOT_COUNTED = {"cache_write_tokens": None, "cache_write_1h_tokens": None}


def _uncounted_cache_writes(payload: dict[str, Any]) -> dict[str, Any]:
    return {**payload, "usage": {**payload["usage"], **_NOT_COUNTED}}


def _uncounted_cache_writes_by_model(payload: dict[str, Any]) -> dict[str, Any]:
    usage = {key: {**used, **_NOT_COUNTED} for key, used in payload.get("usage", {}).items()}
    return {**payload, "usage": usage}


def _uncounted_thoughts(payload: dict[str, Any]) -> dict[str, Any]:
    return {**payload, "usage": {**payload["usage"], "reasoning_tokens": None}}


def _uncounted_thoughts_by_model(payload: dict[str, Any]) -> dict[str, Any]:
    usage = {
        key: {**used, "reasoning_tokens": None} for key, used in payload.get("usage", {}).items()
    }
    return {**payload, "usage": usage}


def _passed_by_accuracy(payload: dict[str, Any]) -> dict[str, Any]:
    """Every dialect gave accuracy 1 to a pass, and less to everything else."""
    accuracy = payload["scores"].get("accuracy")
    return {**payload, "passed": None if accuracy is None else accuracy >= 1, "graders": {}}


_WORDS = {"met": "did_not_happen", "not_met": "happened"}


def _happened(payload: dict[str, Any]) -> dict[str, Any]:
    """Until then an item of must_not_do was met where it did not happen."""
    items = [
        {**item, "verdict": _WORDS[item["verdict"]]}
        if item["item"].partition(".")[0] == FORBIDDEN
        else item
        for item in payload["items"]
    ]
    return {**payload, "items": items, "sheet": None}


UPCASTERS: dict[tuple[str, int], Upcaster] = {
    ("RunStarted", 1): lambda payload: {**payload, "attempt": None},
    ("RunStarted", 2): _several_judges,
    # What its plan asks says which experiment; a branch changed nothing and asked nothing again.
    ("RunStarted", 3): lambda payload: {**payload, "experiment": None},
    # It could not be a part, and a branch reused nothing by its requests.
    ("RunStarted", 4): lambda payload: {**payload, "selection": None},
    ("RunPaused", 1): lambda payload: {**payload, "at_ceiling": False},
    ("RunResumed", 1): lambda payload: {**payload, "packages": {}},
    ("CasesPlanned", 1): lambda payload: {**payload, "questions": []},
    ("RunValidated", 1): _findings,
    ("RunValidated", 2): _uncounted_cache_writes_by_model,
    ("RunValidated", 3): _uncounted_thoughts_by_model,
    ("RequestSent", 1): _which_judge,
    ("RequestSent", 2): lambda payload: payload,  # every body was whole
    ("ResponseReceived", 1): lambda payload: {**payload, "redactions": []},
    ("ResponseReceived", 2): _which_judge,
    ("ResponseReceived", 3): _uncounted_cache_writes,  # and every body was whole
    ("ResponseReceived", 4): _uncounted_thoughts,
    ("ErrorRecorded", 1): lambda payload: {**payload, "redactions": []},
    ("ErrorRecorded", 2): _which_judge,
    ("ErrorRecorded", 3): lambda payload: payload,  # nothing was `deferred`, every body was whole
    ("AttemptLost", 1): _which_judge,
    ("Scored", 1): _passed_by_accuracy,
    ("Reviewed", 1): _happened,
    ("FileWritten", 1): lambda payload: payload,  # there were fewer kinds
}
"""`(topic, n)` holds the function that turns a payload of schema version n into n + 1."""

_COLUMNS = {"originator_id", "originator_version"}


@dataclass(frozen=True)
class LogEntry(StoredEvent):
    """A stored event with our own column beside the package's."""

    run_id: UUID | None = None

    @cached_property
    def leaf(self) -> bytes:
        """The leaf hash of these bytes, as they are sent to the log. Computed once."""
        stream_id = cast("UUID", self.originator_id).bytes
        return leaf_hash(stream_id, self.originator_version, self.topic.encode(), self.state)


_new_entry: Callable[[type[LogEntry]], LogEntry] = object.__new__


class EventMapper(Mapper[UUID]):
    """The `eventsourcing` mapper for our events."""

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> LogEntry:
        """The event as it is stored."""
        if not isinstance(domain_event, Event) or not _is_readable(type(domain_event)):
            raise TypeError(f"{type(domain_event).__name__} is not in the vocabulary")
        entry = _new_entry(LogEntry)
        vars(entry).update(  # a frozen dataclass takes four times as long to set its fields
            originator_id=domain_event.originator_id,
            originator_version=domain_event.originator_version,
            topic=type(domain_event).__name__,
            state=encode(domain_event),
            run_id=domain_event.run_id,
        )
        return entry

    def to_domain_event(self, stored_event: StoredEvent) -> Event:
        """The event that was stored. Raises `UnreadableState`."""
        if not isinstance(stored_event.originator_id, UUID):
            raise UnreadableState(f"{stored_event.originator_id!r} is not a UUID")
        return decode(
            stored_event.topic,
            stored_event.state,
            stored_event.originator_id,
            stored_event.originator_version,
        )


def _kinds(kind: type[Record]) -> Iterator[type[Record]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


_VOCABULARY = Record.__module__.rpartition(".")[0] + "."
_DECLARED = {
    kind: len(kind.model_fields)
    for kind in _kinds(Record)
    if f"{kind.__module__}.".startswith(_VOCABULARY)
}
"""How many fields each class of the vocabulary has. What others add to one could not be read."""


def _is_readable(kind: type[Event]) -> bool:
    """Whether this class, and no subclass of it, is what its topic is read as."""
    return EVENTS.get(kind.__name__) is kind


def encode(event: Event) -> bytes:
    """The exact bytes stored for `event`."""
    fields = vars(event)
    if len(fields) != _DECLARED.get(type(event)):
        return _encode_anything(event)
    payload = {"schema_version": event.schema_version, **fields}
    for column in _COLUMNS:
        del payload[column]
    try:
        return orjson.dumps(payload, _fields, _AS_PYDANTIC)  # the same bytes, three times as fast
    except orjson.JSONEncodeError:  # what it has no JSON for, or no 64 bits
        return _encode_anything(event)


_AS_PYDANTIC = orjson.OPT_UTC_Z | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS


def _fields(value: Any) -> dict[str, Any]:
    """What a value inside an event consists of: all that is declared, and nothing else."""
    fields: dict[str, Any] = getattr(value, "__dict__", {})
    if len(fields) != _DECLARED.get(type(value)):
        raise TypeError  # the types' own serializer knows what of it is declared
    return fields


def _encode_anything(event: Event) -> bytes:
    payload = event.__pydantic_serializer__.to_json(event, exclude=_COLUMNS)
    head = b'{"schema_version":%d,' % event.schema_version
    return b"".join((head, memoryview(payload)[1:]))  # a long event is copied once


def prompt_entry(stream_id: UUID, digest: str, document: bytes, at: datetime) -> LogEntry:
    """The `PromptStored` of a case that is encoded already, as `to_stored_event` makes it.

    `document` is the case as JSON; it is stored byte for byte.
    """
    head = b'{"schema_version":%d,"run_id":null,"timestamp":"%s","digest":"%s","case":' % (
        PromptStored.schema_version,
        at.astimezone(UTC).replace(tzinfo=None).isoformat().encode() + b"Z",
        digest.encode(),
    )
    return LogEntry(stream_id, 1, PromptStored.__name__, b"%b%b}" % (head, document), run_id=None)


def upcast(
    topic: str, state: bytes, stream_id: UUID, version: int
) -> tuple[type[Event], dict[str, Any]]:
    """The event's class and its payload in today's schema.

    Raises `UnreadableState` for an unknown topic, a newer schema version, or
    bytes that are not such a payload.
    """
    event_class = EVENTS.get(topic)
    if event_class is None:
        why = "the topic is not in the vocabulary"
        raise UnreadableState(f"{_place(topic, stream_id, version)}: {why}")
    try:
        payload: dict[str, Any] = orjson.loads(state)
        written = payload.pop("schema_version")
        if written > event_class.schema_version:
            why = f"schema version {written} is newer than this version of failproof-es"
            raise UnreadableState(f"{_place(topic, stream_id, version)}: {why}")
        for old in range(written, event_class.schema_version):
            payload = UPCASTERS[topic, old](payload)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise UnreadableState(f"{_place(topic, stream_id, version)}: {error}") from error
    return event_class, payload


def decode(topic: str, state: bytes, stream_id: UUID, version: int) -> Event:
    """The event in these bytes, upcast to today's schema. Raises as `upcast` does."""
    event_class, payload = upcast(topic, state, stream_id, version)
    try:
        payload["originator_id"] = stream_id
        payload["originator_version"] = version
        return event_class.__pydantic_validator__.validate_python(payload)  # type: ignore[no-any-return]
    except (TypeError, ValidationError) as error:
        raise UnreadableState(f"{_place(topic, stream_id, version)}: {error}") from error


def _place(topic: str, stream_id: UUID, version: int) -> str:
    return f"stream {stream_id} version {version} ({topic})"
