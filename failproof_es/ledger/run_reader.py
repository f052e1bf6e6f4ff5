"""Reads the events of one run, one after the other, and keeps little of them and no state.

What is kept, for each:

- evaluation: 69 bytes, once an event has ended it. Of one that was carried over, and of the
  evaluation that it is from, a few hundred more;
- prompt: 80 bytes, its id and two digests of its case;
- event of a run's own stream: its payload; of a plan, 64 bytes a case;
- review: what it is about.

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
    RUN_STATUS,
    CarriedOver,
    CasesPlanned,
    EvaluationAbandoned,
    PromptStored,
    Reviewed,
    RunSealed,
    Scored,
)
from failproof_es.ledger.packed import Digests, PackedMap
from failproof_es.ledger.state import read_state

FINAL = (Scored.__name__, EvaluationAbandoned.__name__)
REVIEW = Reviewed.__name__
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What a payload that is not as a writer leaves it raises where it is read."""
_PAYLOAD_TOPICS = frozenset((*RUN_STATUS, CasesPlanned.__name__, RunSealed.__name__))
"""The events of a run's own stream whose payload is kept."""
_PROMPT = PromptStored.__name__
_CARRIED = CarriedOver.__name__
_SOURCE = ("source_evaluation_id", "source_run_id", "source_events", "source_sha256")
_CASE = ("run_id", "prompt_id", "model_key", "repetition")
_WHOLE = struct.Struct(">32sIQQB")
"""The SHA-256 over the leaf hashes, how many events, the first's and the last's index, flags."""
_OWN, _WAS_CARRIED, _ENDED = 1, 2, 4
"""Of this run; holds a `CarriedOver`; ends with an event that ends an evaluation."""
_ID_BYTES = 16
_DIGEST_BYTES = 32


class EvidenceError(Exception):
    """The bundle does not prove what it says."""


class Missing(StrEnum):
    """What a run still needs before it can be proven."""

    SEAL = "not sealed yet"
    CHECKPOINT = "not signed yet"

    @property
    def verdict(self) -> str:
        """The same as a value in JSON: `not_sealed`, `not_signed`."""
        return self.removesuffix(" yet").replace(" ", "_")


class NotProvenYet(EvidenceError):
    """Nothing proves the run yet. This is not a sign of a change."""

    def __init__(self, missing: Missing, why: str) -> None:
        super().__init__(f"{missing}: {why}")
        self.missing = missing


class BundledEvent(Protocol):
    """An event as a bundle carries it."""

    @property
    def index(self) -> int: ...
    @property
    def stream_id(self) -> UUID: ...
    @property
    def stream(self) -> bytes:
        """The 16 bytes of its stream's id."""

    @property
    def version(self) -> int: ...
    @property
    def topic(self) -> str: ...
    @property
    def state(self) -> bytes: ...
    def leaf_hash(self) -> bytes: ...


class ProvenRunEvent(NamedTuple):
    """An event of a run's own stream. A plan's lists of digests are `Digests` in its payload."""

    topic: str
    payload: dict[str, Any]
    place: int
    """Its index in the tree."""
    leaf: bytes


class ReviewEvent(NamedTuple):
    """An event of a stream that begins with a review, and what it says it is about."""

    topic: str
    payload: dict[str, Any]
    place: int


class EvaluationStream(NamedTuple):
    """A whole stream that is of an evaluation, or of nothing that is known."""

    stream_id: bytes
    digest: bytes
    """SHA-256 of the leaf hashes of its events, one after the other."""
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
    """A stream of an evaluation that may go on."""

    first: int
    flags: int
    events: int = 0
    last: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    before: tuple[int, bytes] | None = None
    """Where the stream was taken for whole and went on: how many events it had, and its digest."""
    after: bytearray = field(default_factory=bytearray)
    """The leaf hashes from there on."""


class RunReader:
    """Takes a run's events by their places in the tree. `refused` is the first reason, if any."""

    def __init__(self, run_id: UUID) -> None:
        self.refused: EvidenceError | None = None
        self.own: list[ProvenRunEvent] = []
        """The run's own stream."""
        self.other_runs: dict[UUID, list[ProvenRunEvent]] = {}
        """The own streams of other runs."""
        self.reviews: dict[UUID, list[ReviewEvent]] = {}
        self.prompts = PackedMap(_ID_BYTES, 2 * _DIGEST_BYTES)
        """The prompts' streams, each with the `question_digest` and `graded_digest` of its case."""
        self.asked_early: list[tuple[bytes, Any]] = []
        """Own evaluations whose prompt was not there before them, and the prompt they name."""
        self.carried: dict[bytes, bytes] = {}
        """Own evaluations that begin with `CarriedOver`, and what that says (`told`)."""
        self.elsewhere: dict[bytes, bytes] = {}
        """Evaluations that are not of this run, and what their first events say (`told`)."""
        self._key = run_id.bytes
        self._name = str(run_id)
        self._runs: dict[bytes, list[ProvenRunEvent]] = {self._key: self.own}
        self._reviewing: dict[bytes, list[ReviewEvent]] = {}
        self._open: dict[bytes, _OpenStream] = {}
        self._whole = PackedMap(_ID_BYTES, _WHOLE.size)
        self._prompts_went_on: dict[bytes, int] = {}
        self._odd_cases: dict[bytes, tuple[int, Exception]] = {}

    def add(self, event: BundledEvent) -> None:
        """Take the next event. After one that is refused, the others are not looked at."""
        if self.refused is None:
            try:
                self._add(event)
            except EvidenceError as error:
                self.refused = error

    def close(self, again: Iterable[BundledEvent]) -> None:
        """All events were added; `again` gives them once more. Raises `EvidenceError`."""
        if self.refused is not None:
            raise self.refused
        late = {key: stream for key, stream in self._open.items() if stream.before is not None}
        if late:
            _read_again(late, again)
        for key, stream in self._open.items():
            self._whole.add(key, _packed(stream))
        self._open.clear()

    def evaluations(self) -> Iterator[EvaluationStream]:
        """The evaluations and all streams of nothing that is known, by their ids."""
        for key, value in self._whole.items():
            yield EvaluationStream(key, *_WHOLE.unpack(value))

    def evaluation(self, stream_id: bytes) -> EvaluationStream | None:
        """One of them."""
        value = self._whole.find(stream_id)
        return None if value is None else EvaluationStream(stream_id, *_WHOLE.unpack(value))

    def cases_told(self, prompts: list[bytes]) -> list[tuple[bytes, bytes]]:
        """The `question_digest` and `graded_digest` of the cases of prompts that are here.

        Raises one of `UNREADABLE` where a prompt holds no case.
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
            stream = self._not_open(key, event, payload)
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
        if topic in FINAL:
            stream.flags |= _ENDED
        else:
            stream.flags &= ~_ENDED
        if stream.before is None and (topic == _CARRIED or topic in FINAL):
            self._whole.add(key, _packed(stream))
            del self._open[key]

    def _not_open(
        self, key: bytes, event: BundledEvent, payload: dict[str, Any]
    ) -> _OpenStream | None:
        """Take an event that is no evaluation's. Of one that is, give the stream."""
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
        """Whether it is the id of a prompt that was added, as a writer writes it."""
        if type(prompt_id) is not str or len(prompt_id) != 36:
            return False
        try:
            key = bytes.fromhex(prompt_id.replace("-", ""))
        except ValueError:
            return False
        return len(key) == _ID_BYTES and key in self.prompts and str(UUID(bytes=key)) == prompt_id

    def _add_prompt(self, key: bytes, payload: dict[str, Any]) -> None:
        try:
            digests = _case_told(payload)
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
    """An event's state as the JSON object that it is. Raises `EvidenceError`."""
    try:
        return read_state(event.state)
    except ValueError as error:
        raise EvidenceError(f"event {event.index}: its state is not JSON: {error}") from None


def unpack_fields(packed: bytes) -> dict[str, Any]:
    """What was kept of an evaluation's first event."""
    return marshal.loads(packed)  # type: ignore[no-any-return]  # noqa: S302 - this module made it


def _pack_fields(payload: dict[str, Any], names: Iterable[str]) -> bytes:
    """Some fields of a payload, small. What is neither text nor a number is kept as `None`."""
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


def _read_again(late: dict[bytes, _OpenStream], again: Iterable[BundledEvent]) -> None:
    """Make the digests of streams that went on after they were taken for whole."""
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


def _packed(stream: _OpenStream) -> bytes:
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


def _case_told(payload: dict[str, Any]) -> bytes:
    case = payload["case"]
    if type(case) is dict and type(case.get("turns")) is list:
        sent, graded = case_digests(case)
    else:
        sent, graded = question_digest(case), graded_digest(case)
    return bytes.fromhex(sent + graded)
