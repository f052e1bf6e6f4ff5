"""Reads the events of one run in order, in little memory: states are not kept.

Memory for each

- evaluation: 69 bytes, once an event has ended it; a few hundred more for a carried-over one and
  for its source;
- prompt: 80 bytes, its id and two digests of its case;
- event of a run's own stream: its payload; for a plan, 64 bytes for each case;
- review: the id of its evaluation and run.

An evaluation goes on after its end only in a log that was changed. Its leaf hashes are then read
again.
"""

from __future__ import annotations

import hashlib
import marshal
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from failproof_es.core.experiment import case_digests, graded_digest, question_digest
from failproof_es.events import (
    OWN_ENDINGS,
    RUN_STATUS,
    CarriedOver,
    CasesPlanned,
    ConfigurationResolved,
    PlanRegistered,
    PromptStored,
    Reviewed,
    RunSealed,
)
from failproof_es.ledger.packed import Digests, PackedMap
from failproof_es.ledger.state import read_state

REVIEW = Reviewed.__name__
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""The errors of reading a payload that no engine wrote."""
REGISTERED = PlanRegistered.__name__
_CHECKED = ConfigurationResolved.__name__
_PAYLOAD_TOPICS = frozenset((*RUN_STATUS, CasesPlanned.__name__, RunSealed.__name__, REGISTERED))
"""The topics of a run's own stream, and of a registered plan's, whose payloads are kept."""
_PROMPT = PromptStored.__name__
_CARRIED = CarriedOver.__name__
_SOURCE = ("source_evaluation_id", "source_run_id", "source_events", "source_sha256")
_CASE = ("run_id", "prompt_id", "model_key", "repetition")
_WHOLE = struct.Struct(">32sIQQB")
"""SHA-256 of the joined leaf hashes, number of events, first and last index, flags."""
_OWN, _WAS_CARRIED, _ENDED = 1, 2, 4
"""Flags: of this run; has a `CarriedOver`; its last event ends an evaluation."""
_ID_BYTES = 16
_DIGEST_BYTES = 32


class EvidenceError(Exception):
    """The evidence bundle is invalid, or its events do not prove its statements."""


class Missing(StrEnum):
    """Reasons that a run cannot be proven yet."""

    SEAL = "not sealed yet"
    CHECKPOINT = "not signed yet"

    @property
    def verdict(self) -> str:
        """The value in JSON: `not_sealed`, `not_signed`."""
        return self.removesuffix(" yet").replace(" ", "_")


class NotProvenYet(EvidenceError):
    """The run cannot be proven yet. This does not indicate that anything was changed."""

    def __init__(self, missing: Missing, why: str) -> None:
        super().__init__(f"{missing}: {why}")
        self.missing = missing


class BundledEvent(Protocol):
    """An event in an evidence bundle."""

    @property
    def index(self) -> int: ...
    @property
    def stream_id(self) -> UUID: ...
    @property
    def stream(self) -> bytes:
        """The stream id as 16 bytes."""

    @property
    def version(self) -> int: ...
    @property
    def topic(self) -> str: ...
    @property
    def state(self) -> bytes: ...
    def leaf_hash(self) -> bytes: ...


class ProvenRunEvent(NamedTuple):
    """An event of a run's own stream. The lists of digests in a plan's payload are `Digests`."""

    topic: str
    payload: dict[str, Any]
    place: int
    """Its index in the tree."""
    leaf: bytes


class ReviewEvent(NamedTuple):
    """An event of a stream that begins with a review; of its payload, the two ids."""

    topic: str
    payload: dict[str, Any]
    place: int


class EvaluationStream(NamedTuple):
    """The summary of a complete stream: an evaluation's, or one of unknown kind."""

    stream_id: bytes
    digest: bytes
    """SHA-256 of the joined leaf hashes of its events."""
    events: int
    first: int
    """The index of its first event."""
    last: int
    flags: int

    @property
    def own(self) -> bool:
        """Whether its first event names this run."""
        return bool(self.flags & _OWN)

    @property
    def carried_over(self) -> bool:
        """Whether one of its events is `CarriedOver`."""
        return bool(self.flags & _WAS_CARRIED)

    @property
    def ended(self) -> bool:
        """Whether its last event ends an evaluation."""
        return bool(self.flags & _ENDED)


@dataclass(slots=True)
class _OpenStream:
    """An evaluation's stream that may have further events."""

    first: int
    flags: int
    events: int = 0
    last: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    before: tuple[int, bytes] | None = None
    """(number of events, digest) of the part before the evaluation's end, if it went on after it.
    """
    after: bytearray = field(default_factory=bytearray)
    """The joined leaf hashes after that part."""


class RunReader:
    """Reads a run's events in the order of the tree. `refused` is the first error, if any."""

    def __init__(self, run_id: UUID) -> None:
        self.refused: EvidenceError | None = None
        self.own: list[ProvenRunEvent] = []
        """The run's own stream."""
        self.other_runs: dict[UUID, list[ProvenRunEvent]] = {}
        """The own streams of other runs."""
        self.registrations: dict[UUID, list[ProvenRunEvent]] = {}
        """The streams of registered plans."""
        self.reviews: dict[UUID, list[ReviewEvent]] = {}
        self.prompts = PackedMap(_ID_BYTES, 2 * _DIGEST_BYTES)
        """(`question_digest`, `graded_digest`) of each prompt's case, by stream."""
        self.asked_early: list[tuple[bytes, Any]] = []
        """(stream, prompt id) of own evaluations that begin before their prompt."""
        self.carried: dict[bytes, bytes] = {}
        """The packed first event of each own carried-over evaluation (`unpack_fields`)."""
        self.elsewhere: dict[bytes, bytes] = {}
        """The packed first event of each evaluation of another run (`unpack_fields`)."""
        self._key = run_id.bytes
        self._name = str(run_id)
        self._runs: dict[bytes, list[ProvenRunEvent]] = {self._key: self.own}
        self._reviewing: dict[bytes, list[ReviewEvent]] = {}
        self._open: dict[bytes, _OpenStream] = {}
        self._whole = PackedMap(_ID_BYTES, _WHOLE.size)
        self._prompts_went_on: dict[bytes, int] = {}
        self._odd_cases: dict[bytes, tuple[int, Exception]] = {}

    def add(self, event: BundledEvent) -> None:
        """Read the next event. Ignores all events after a refused one."""
        if self.refused is None:
            try:
                self._add(event)
            except EvidenceError as error:
                self.refused = error

    def close(self, again: Iterable[BundledEvent]) -> None:
        """Finish reading; `again` iterates all events once more. Raises `EvidenceError`."""
        if self.refused is not None:
            raise self.refused
        late = {key: stream for key, stream in self._open.items() if stream.before is not None}
        if late:
            _recompute_digests(late, again)
        for key, stream in self._open.items():
            self._whole.add(key, _pack_stream(stream))
        self._open.clear()

    def evaluations(self) -> Iterator[EvaluationStream]:
        """The evaluations, and all streams of unknown kind, in the order of their ids."""
        for key, value in self._whole.items():
            yield EvaluationStream(key, *_WHOLE.unpack(value))

    def evaluation(self, stream_id: bytes) -> EvaluationStream | None:
        """One of `evaluations`, by its stream id; `None` if it is missing."""
        value = self._whole.find(stream_id)
        return None if value is None else EvaluationStream(stream_id, *_WHOLE.unpack(value))

    def cases_told(self, prompts: list[bytes]) -> list[tuple[bytes, bytes]]:
        """(`question_digest`, `graded_digest`) of the cases of these prompts, which were read.

        Raises one of `UNREADABLE` if a prompt holds no valid case.
        """
        digests = [self.prompts.find(prompt) or b"" for prompt in prompts]
        if odd := [self._odd_cases[prompt] for prompt in prompts if prompt in self._odd_cases]:
            raise min(odd, key=lambda odd_case: odd_case[0])[1]
        return [(both[:_DIGEST_BYTES], both[_DIGEST_BYTES:]) for both in digests]

    # -- one event ---------------------------------------------------------------------------

    def _add(self, event: BundledEvent) -> None:
        payload = payload_of(event)
        key = event.stream
        stream = self._open.get(key)
        if stream is not None:
            _check_version(event, stream.events)
        else:
            stream = self._dispatch(key, event, payload)
            if stream is None:
                return
        topic = event.topic
        stream.events += 1
        stream.last = event.index
        if stream.before is None:
            stream.digest.update(event.leaf_hash())
        else:
            stream.after += event.leaf_hash()
        if topic == _CARRIED:
            stream.flags |= _WAS_CARRIED
        if topic in OWN_ENDINGS:
            stream.flags |= _ENDED
        else:
            stream.flags &= ~_ENDED
        if stream.before is None and (topic == _CARRIED or topic in OWN_ENDINGS):
            self._whole.add(key, _pack_stream(stream))
            del self._open[key]

    def _dispatch(
        self, key: bytes, event: BundledEvent, payload: dict[str, Any]
    ) -> _OpenStream | None:
        """Process an event of no open evaluation; return its stream if it is an evaluation's."""
        if (run := self._runs.get(key)) is not None:
            _check_version(event, len(run))
            run.append(_run_event(event, payload, own=run is self.own))
            return None
        if (review := self._reviewing.get(key)) is not None:
            _check_version(event, len(review))
            review.append(_review_event(event, payload))
            return None
        if (whole := self._whole.pop(key)) is not None:
            digest, events, first, last, flags = _WHOLE.unpack(whole)
            stream = self._open[key] = _OpenStream(
                first, flags, events, last, before=(events, digest)
            )
            _check_version(event, events)
            return stream
        if key in self.prompts:
            count = self._prompts_went_on.get(key, 1)
            _check_version(event, count)
            self._prompts_went_on[key] = count + 1
            return None
        _check_version(event, 0)
        topic = event.topic
        if topic == _PROMPT:
            self._add_prompt(key, payload)
        elif topic == "RunStarted":
            run = self._runs[key] = self.other_runs[event.stream_id] = []
            run.append(_run_event(event, payload, own=False))
        elif topic == _CHECKED:
            plan = self._runs[key] = self.registrations[event.stream_id] = []
            plan.append(_run_event(event, payload, own=False))
        elif topic == REVIEW:
            review = self._reviewing[key] = self.reviews[event.stream_id] = []
            review.append(_review_event(event, payload))
        else:
            return self._open_stream(key, event, payload)
        return None

    def _open_stream(self, key: bytes, event: BundledEvent, payload: dict[str, Any]) -> _OpenStream:
        stream = self._open[key] = _OpenStream(event.index, 0)
        if payload.get("run_id") != self._name:
            self.elsewhere[key] = _pack_fields(payload, _CASE)
            return stream
        stream.flags = _OWN
        prompt_id = payload.get("prompt_id")
        if not self.has_prompt(prompt_id):
            self.asked_early.append((key, prompt_id if type(prompt_id) is str else None))
        if event.topic == _CARRIED:
            self.carried[key] = _pack_fields(payload, _SOURCE + _CASE)
        return stream

    def has_prompt(self, prompt_id: Any) -> bool:
        """Whether this is the canonical text of the id of a prompt that was read."""
        if type(prompt_id) is not str or len(prompt_id) != 36:
            return False
        try:
            key = bytes.fromhex(prompt_id.replace("-", ""))
        except ValueError:
            return False
        return len(key) == _ID_BYTES and key in self.prompts and str(UUID(bytes=key)) == prompt_id

    def _add_prompt(self, key: bytes, payload: dict[str, Any]) -> None:
        try:
            digests = _pack_case_digests(payload)
        except UNREADABLE:
            step = 0
            digests = bytes(2 * _DIGEST_BYTES)
            try:
                case = payload["case"]
                step = 1
                graded = graded_digest(case)
                step = 2
                digests = bytes.fromhex(question_digest(case) + graded)
            except UNREADABLE as error:
                self._odd_cases[key] = step, error.with_traceback(None)
        self.prompts.add(key, digests)


def payload_of(event: BundledEvent) -> dict[str, Any]:
    """An event's state, parsed. Raises `EvidenceError` if it is not valid."""
    try:
        return read_state(event.state)
    except ValueError as error:
        raise EvidenceError(f"event {event.index}: its state is not JSON: {error}") from None


def unpack_fields(packed: bytes) -> dict[str, Any]:
    """The fields of an evaluation's first event that `RunReader` kept."""
    return marshal.loads(packed)  # type: ignore[no-any-return]  # noqa: S302 - this module made it


def _pack_fields(payload: dict[str, Any], names: Iterable[str]) -> bytes:
    """Pack some fields of a payload. Values that are neither text nor integers become `None`."""
    plain = (str, int)
    return marshal.dumps(
        {
            name: payload[name] if type(payload[name]) in plain else None
            for name in names
            if name in payload
        }
    )


def _check_version(event: BundledEvent, before: int) -> None:
    if event.version != before + 1:
        raise EvidenceError(f"stream {event.stream_id} has no version {before + 1} here")


def _recompute_digests(late: dict[bytes, _OpenStream], again: Iterable[BundledEvent]) -> None:
    """Compute the digests of streams that went on after the end of their evaluation."""
    leaves = {key: bytearray() for key in late}
    for event in again:
        if (hashes := leaves.get(event.stream)) is not None:
            hashes += event.leaf_hash()
    for key, stream in late.items():
        events, digest = stream.before or (0, b"")
        first = leaves[key][: _DIGEST_BYTES * events]
        if hashlib.sha256(first).digest() != digest:
            raise EvidenceError(f"stream {UUID(bytes=key)} was changed while it was read")
        stream.digest = hashlib.sha256(first + stream.after)


def _pack_stream(stream: _OpenStream) -> bytes:
    return _WHOLE.pack(
        stream.digest.digest(), stream.events, stream.first, stream.last, stream.flags
    )


def _run_event(event: BundledEvent, payload: dict[str, Any], *, own: bool) -> ProvenRunEvent:
    topic = event.topic
    if topic == "CasesPlanned":
        for name in ("digests", "questions"):
            if (digests := Digests.read(payload.get(name))) is not None:
                payload[name] = digests
    elif topic not in _PAYLOAD_TOPICS:
        payload = {}
    return ProvenRunEvent(topic, payload, event.index, event.leaf_hash() if own else b"")


def _review_event(event: BundledEvent, payload: dict[str, Any]) -> ReviewEvent:
    names: tuple[str, ...] = ("evaluation_id", "about")
    fields = {name: payload[name] for name in names if name in payload}
    return ReviewEvent(event.topic, fields, event.index)


def _pack_case_digests(payload: dict[str, Any]) -> bytes:
    case = payload["case"]
    if type(case) is dict and type(case.get("turns")) is list:
        sent, graded = case_digests(case)
    else:
        sent, graded = question_digest(case), graded_digest(case)
    return bytes.fromhex(sent + graded)
