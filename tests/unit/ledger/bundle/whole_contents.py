"""The contents of a bundle, read with every event in memory: what the streamed reading must say.

It was how `failproof_es/ledger/contents.py` read them before it took one event after the other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from failproof_es.core.experiment import set_digest
from failproof_es.ledger.attempts import ProvenAttempts, UnrelatedRuns
from failproof_es.ledger.contents import RUN_TOPICS, BundledEvent, Contents, EvidenceError
from failproof_es.ledger.proven_registration import read_registration
from failproof_es.ledger.run_reader import ProvenRunEvent
from failproof_es.ledger.seal import Seal, Sealing
from failproof_es.ledger.state import read_state
from tests.unit.ledger.bundle.whole_attempts import Told, read_attempts

_ENDINGS = ("RunCompleted", "RunFailed", "RunGivenUp")
_FINAL = ("Scored", "EvaluationAbandoned")
_REVIEW = "Reviewed"
_CHECKED = "ConfigurationResolved"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_contents(run_id: UUID, events: Sequence[BundledEvent]) -> Contents:
    """Check that `events` are the whole run. Raises `EvidenceError` with the first reason."""
    streams = _streams(events)
    own = streams.pop(run_id, [])
    if not own or own[0].topic != "RunStarted":
        raise EvidenceError(f"run {run_id}: its stream is missing")
    payloads = [_payload(event) for event in own]
    started = payloads[0]
    sealed_at = max((n for n, event in enumerate(own) if event.topic == "RunSealed"), default=None)
    if sealed_at is None:
        raise EvidenceError(f"run {run_id} is not sealed: nothing says that it is complete")
    ending = max((n for n in range(sealed_at) if own[n].topic in _ENDINGS), default=None)
    if ending is None:
        raise EvidenceError(f"run {run_id} is sealed without having ended")
    others = {i: stream for i, stream in streams.items() if stream[0].topic == "RunStarted"}
    prompts = {i for i, stream in streams.items() if stream[0].topic == "PromptStored"}
    reviews = {i: stream for i, stream in streams.items() if stream[0].topic == _REVIEW}
    plans = {i: stream for i, stream in streams.items() if stream[0].topic == _CHECKED}
    evaluations, elsewhere = _told_apart(
        run_id,
        (stream for i, stream in streams.items() if i not in {*others, *prompts, *reviews, *plans}),
    )
    _check_plan(own, payloads, prompts)
    asked = {str(prompt) for prompt in prompts}
    for stream in evaluations:
        _check_evaluation(stream, asked)
    _check_carried_over(own[0], evaluations, elsewhere)
    _check_reviews(run_id, evaluations, reviews)
    related = _attempts(own, others.values(), streams)
    return Contents(
        run_id=run_id,
        run_number=_number(started, "run_number"),
        name=_text(started, "name"),
        configuration_digest=_text(started, "configuration_digest"),
        related=related,
        registration=read_registration(
            _run_event(own[0]),
            {i: [_run_event(event) for event in stream] for i, stream in plans.items()},
            (others[UUID(attempt["run_id"])][0].index for attempt in related.other_attempts),
            set_digest(
                digest
                for event, payload in zip(own, payloads, strict=True)
                if event.topic == "CasesPlanned"
                for digest in payload["digests"]
            ),
        ),
        started_at=_text(started, "timestamp"),
        ended_at=_text(payloads[ending], "timestamp"),
        ended_by=own[ending].topic,
        counts=_counts(payloads[ending]),
        seal=_checked_seal(own, sealed_at, payloads[sealed_at], evaluations),
    )


def _run_event(event: BundledEvent) -> ProvenRunEvent:
    return ProvenRunEvent(event.topic, _payload(event), event.index, b"")


def _streams(events: Sequence[BundledEvent]) -> dict[UUID, list[BundledEvent]]:
    """The events by stream. Versions have no gap, and each state is a JSON object."""
    streams: dict[UUID, list[BundledEvent]] = {}
    for event in events:
        _payload(event)
        stream = streams.setdefault(event.stream_id, [])
        stream.append(event)
        if event.version != len(stream):
            raise EvidenceError(f"stream {event.stream_id} has no version {len(stream)} here")
    return streams


def _check_plan(
    own: Sequence[BundledEvent], payloads: Sequence[dict[str, Any]], prompts: set[UUID]
) -> None:
    """Check that the prompts here are exactly those that were planned."""
    planned: set[UUID] = set()
    cases = 0
    for event, payload in zip(own, payloads, strict=True):
        if event.topic not in RUN_TOPICS:
            raise EvidenceError(f"{event.topic} does not belong in a run's stream")
        if event.topic == "CasesPlanned":
            digests = payload.get("digests")
            if not isinstance(digests, list):
                raise EvidenceError("a plan without digests")
            cases += len(digests)
            planned.update(_prompt_id(digest) for digest in digests)
    if cases != _number(payloads[0], "planned_cases"):
        raise EvidenceError("the plan does not hold as many cases as the run was started with")
    if planned != prompts:
        raise EvidenceError("the prompts are not exactly those that were planned")


def _prompt_id(digest: Any) -> UUID:
    """The stream of a case's prompt."""
    if type(digest) is not str or not _DIGEST.fullmatch(digest):
        raise EvidenceError("a plan holds something that is not a digest")
    return _digest_id(digest)


def _digest_id(digest: str) -> UUID:
    """A UUID (version 8) of the first bits of a digest in hexadecimal."""
    value = int(digest[:32], 16)
    value &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=value | (0x8 << 76) | (0x2 << 62))


def _told_apart(
    run_id: UUID, streams: Iterable[list[BundledEvent]]
) -> tuple[list[list[BundledEvent]], dict[str, list[BundledEvent]]]:
    """The evaluations of this run, and those of other runs by the id of their stream."""
    own: list[list[BundledEvent]] = []
    elsewhere: dict[str, list[BundledEvent]] = {}
    for stream in streams:
        if _payload(stream[0]).get("run_id") == str(run_id):
            own.append(stream)
        else:
            elsewhere[str(stream[0].stream_id)] = stream
    return own, elsewhere


def _check_evaluation(stream: Sequence[BundledEvent], prompts: set[str]) -> None:
    asked = _payload(stream[0]).get("prompt_id")
    if type(asked) is not str or asked not in prompts:
        raise EvidenceError(f"stream {stream[0].stream_id}: its prompt was not planned")


def _check_carried_over(
    started: BundledEvent,
    evaluations: Sequence[Sequence[BundledEvent]],
    elsewhere: dict[str, list[BundledEvent]],
) -> None:
    """Check that exactly the evaluations that are carried over are here, unchanged."""
    remaining = dict(elsewhere)
    for stream in evaluations:
        if all(event.topic != "CarriedOver" for event in stream):
            continue
        if len(stream) > 1 or _payload(started).get("branched_from") is None:
            raise EvidenceError(f"stream {stream[0].stream_id} cannot have been carried over")
        reference = _payload(stream[0])
        source = remaining.pop(_text(reference, "source_evaluation_id"), None)
        if source is None:
            raise EvidenceError(f"stream {stream[0].stream_id}: what it carries over is missing")
        _check_reference(reference, source, started)
    for name in remaining:
        raise EvidenceError(f"stream {name} is not of this run")


def _check_reference(
    reference: dict[str, Any], source: Sequence[BundledEvent], started: BundledEvent
) -> None:
    """Check that the source had ended, is the evaluation referred to, and has the same digest."""
    name, told = source[0].stream_id, _payload(source[0])
    if source[-1].topic not in _FINAL or source[-1].index > started.index:
        raise EvidenceError(f"stream {name} had not ended when the run began")
    if any(event.topic == "CarriedOver" for event in source):
        raise EvidenceError(f"stream {name} was carried over itself")
    same_run = _text(reference, "source_run_id") == _text(told, "run_id")
    if not same_run or _case(reference) != _case(told):
        raise EvidenceError(f"stream {name} is not the evaluation that is carried over")
    digest = hashlib.sha256(b"".join(event.leaf_hash() for event in source)).hexdigest()
    said = (_number(reference, "source_events"), _text(reference, "source_sha256"))
    if said != (len(source), digest):
        raise EvidenceError(f"stream {name} is not what was carried over")


def _case(payload: dict[str, Any]) -> tuple[str, str, int]:
    """An evaluation's prompt, model and repetition."""
    asked = _text(payload, "prompt_id"), _text(payload, "model_key")
    return *asked, _number(payload, "repetition")


def _check_reviews(
    run_id: UUID,
    evaluations: Sequence[Sequence[BundledEvent]],
    reviews: dict[UUID, list[BundledEvent]],
) -> None:
    """Check that every review is of an ended evaluation of this run, and on the right stream."""
    own = {str(stream[0].stream_id): stream for stream in evaluations}
    for stream_id, stream in reviews.items():
        for event in stream:
            said = _payload(event)
            reviewed = _text(said, "evaluation_id")
            if event.topic != _REVIEW or said.get("about") != str(run_id) or reviewed not in own:
                raise EvidenceError(
                    f"stream {stream_id} holds something that is not a review of this run"
                )
            digest = hashlib.sha256(f"review\n{reviewed}".encode()).hexdigest()
            if _digest_id(digest) != stream_id or event.index < own[reviewed][-1].index:
                raise EvidenceError(f"stream {stream_id} cannot hold a review of {reviewed}")


def _attempts(
    own: Sequence[BundledEvent],
    others: Iterable[Sequence[BundledEvent]],
    streams: Mapping[UUID, Sequence[BundledEvent]],
) -> ProvenAttempts:
    """Count the attempts of the experiment, each from its own stream."""
    runs: list[list[Told]] = []
    for stream in (own, *others):
        if any(event.topic not in RUN_TOPICS for event in stream):
            raise EvidenceError(f"run {stream[0].stream_id}: its stream holds a foreign event")
        told = [(event.topic, _payload(event)) for event in stream]
        if told[0][1].get("run_id") != str(stream[0].stream_id):
            raise EvidenceError(f"run {stream[0].stream_id}: its first event names another run")
        runs.append(told)
    try:
        return read_attempts(
            runs[0], runs[1:], lambda digest: _payload(streams[_prompt_id(digest)][0])["case"]
        )
    except UnrelatedRuns as error:
        raise EvidenceError(str(error)) from None


def _checked_seal(
    own: Sequence[BundledEvent],
    sealed_at: int,
    said: dict[str, Any],
    evaluations: Sequence[Sequence[BundledEvent]],
) -> Seal:
    sealing = Sealing()
    for stream in (own[:sealed_at], *evaluations):
        for event in stream:
            sealing.add(event.stream_id.bytes, event.leaf_hash())
    seal = sealing.seal()
    for name, value in (("streams", seal.streams), ("events", seal.events)):
        if _number(said, name) != value:
            raise EvidenceError(
                f"the seal counts {said[name]} {name}, and here are {value}: the run is incomplete"
            )
    if _text(said, "root") != seal.root.hex():
        raise EvidenceError("the seal does not match these events")
    return seal


def _payload(event: BundledEvent) -> dict[str, Any]:
    try:
        return read_state(event.state)
    except ValueError as error:
        raise EvidenceError(f"event {event.index}: its state is not JSON: {error}") from None


def _counts(payload: dict[str, Any]) -> dict[str, int]:
    counts = payload.get("counts")
    if not isinstance(counts, dict):
        raise EvidenceError("the run ended without counts")
    return {name: _number(counts, name) for name in ("planned", "finished", "scored", "abandoned")}


def _number(payload: dict[str, Any], name: str) -> int:
    value = payload.get(name)
    if type(value) is not int:
        raise EvidenceError(f"{name} is not a number")
    return value


def _text(payload: dict[str, Any], name: str) -> str:
    value = payload.get(name)
    if type(value) is not str:
        raise EvidenceError(f"{name} is not text")
    return value
