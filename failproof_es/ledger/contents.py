"""The contents of an evidence bundle, checked to be exactly one whole run.

A whole run is: the run's own stream from its first event to its seal; every stream that the seal
counts, with every event; every planned case; the source streams of evaluations that a branched run
carried over; the registered plan that it follows; and every other run of the same experiment, and
every run that overlaps with it, each from its first event on. So nobody can repeat a run until it
passes and show only the last one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from failproof_es.core.experiment import digest_of_sorted
from failproof_es.events import RUN_ENDINGS, topics
from failproof_es.ledger.attempts import ProvenAttempts, TopicPayload, UnrelatedRuns, read_attempts
from failproof_es.ledger.packed import Digests, PackedMap, sorted_digests
from failproof_es.ledger.proven_registration import ProvenRegistration, read_registration
from failproof_es.ledger.run_reader import REVIEW, ProvenRunEvent, RunReader, unpack_fields
from failproof_es.ledger.run_reader import BundledEvent as BundledEvent
from failproof_es.ledger.run_reader import EvidenceError as EvidenceError
from failproof_es.ledger.run_reader import Missing as Missing
from failproof_es.ledger.run_reader import NotProvenYet as NotProvenYet
from failproof_es.ledger.seal import Seal, seal_of_records, stream_record

RUN_TOPICS = frozenset(topics("run"))


@dataclass(frozen=True, slots=True)
class Contents:
    """One run, as its events describe it."""

    run_id: UUID
    run_number: int
    name: str
    configuration_digest: str
    related: ProvenAttempts
    """The other attempts and the overlapping runs in the bundle."""
    registration: ProvenRegistration | None
    started_at: str
    ended_at: str
    ended_by: str
    counts: dict[str, int]
    seal: Seal

    @property
    def attempt(self) -> int:
        """The run's place among the attempts of its experiment, from 1."""
        return self.related.attempt

    @property
    def attempts(self) -> int:
        """Number of attempts of the experiment, unfinished ones included."""
        return self.related.attempts


def read_contents(run_id: UUID, events: Iterable[BundledEvent]) -> Contents:
    """Check that `events` are the whole run. Raises `EvidenceError` with the first reason.

    The events are in the order of their indices in the tree, and can be iterated a second time.
    """
    reader = RunReader(run_id)
    for event in events:
        reader.add(event)
    return contents_of(run_id, reader, events)


def contents_of(run_id: UUID, read: RunReader, again: Iterable[BundledEvent]) -> Contents:
    """Like `read_contents`, for a reader that has read all events; `again` iterates them anew."""
    read.close(again)
    own = read.own
    if not own or own[0].topic != "RunStarted":
        raise EvidenceError(f"run {run_id}: its stream is missing")
    started = own[0].payload
    sealed_at = max((n for n, event in enumerate(own) if event.topic == "RunSealed"), default=None)
    if sealed_at is None:
        raise EvidenceError(f"run {run_id} is not sealed: nothing says that it is complete")
    ending = max((n for n in range(sealed_at) if own[n].topic in RUN_ENDINGS), default=None)
    if ending is None:
        raise EvidenceError(f"run {run_id} is sealed without having ended")
    _check_plan(own, read.prompts)
    for stream_id, prompt_id in read.asked_early:
        if not read.has_prompt(prompt_id):
            raise EvidenceError(f"stream {UUID(bytes=stream_id)}: its prompt was not planned")
    _check_carried_over(own[0], read)
    _check_reviews(run_id, read)
    related = _attempts(run_id, read)
    return Contents(
        run_id=run_id,
        run_number=_number(started, "run_number"),
        name=_text(started, "name"),
        configuration_digest=_text(started, "configuration_digest"),
        related=related,
        registration=read_registration(
            own[0],
            read.registrations,
            (
                read.other_runs[UUID(attempt["run_id"])][0].place
                for attempt in related.other_attempts
            ),
            digest_of_sorted(sorted_digests(_planned(own))),
        ),
        started_at=_text(started, "timestamp"),
        ended_at=_text(own[ending].payload, "timestamp"),
        ended_by=own[ending].topic,
        counts=_counts(own[ending].payload),
        seal=_checked_seal(run_id, read, sealed_at),
    )


def _check_plan(own: Sequence[ProvenRunEvent], prompts: PackedMap) -> None:
    """Check that the prompts in the bundle are exactly the planned ones."""
    planned = PackedMap(16)
    cases = 0
    for event in own:
        if event.topic not in RUN_TOPICS:
            raise EvidenceError(f"{event.topic} does not belong in a run's stream")
        if event.topic == "CasesPlanned":
            digests = event.payload.get("digests")
            if isinstance(digests, Digests):
                cases += len(digests)
                for digest in digests.parts():
                    planned.add(_stream_of(digest))
            elif isinstance(digests, list):
                raise EvidenceError("a plan holds something that is not a digest")
            else:
                raise EvidenceError("a plan without digests")
    if cases != _number(own[0].payload, "planned_cases"):
        raise EvidenceError("the plan does not hold as many cases as the run was started with")
    if len(planned) != len(prompts) or any(prompt not in prompts for prompt in planned):
        raise EvidenceError("the prompts are not exactly those that were planned")


def _planned(own: Sequence[ProvenRunEvent]) -> list[Digests]:
    """The digests of the plan, which was checked."""
    return [event.payload["digests"] for event in own if event.topic == "CasesPlanned"]


def _stream_of(digest: bytes) -> bytes:
    """The 16-byte stream id for a digest: a version 8 UUID (RFC 9562 § 5.8) of its first bits."""
    value = int.from_bytes(digest[:16], "big")
    value &= ~(0xF << 76) & ~(0x3 << 62)
    return (value | (0x8 << 76) | (0x2 << 62)).to_bytes(16, "big")


def _check_carried_over(started: ProvenRunEvent, read: RunReader) -> None:
    """Check that the bundle has exactly the sources of carried-over evaluations, unchanged."""
    remaining = dict.fromkeys(read.elsewhere)
    carried = [
        evaluation
        for evaluation in read.evaluations()
        if evaluation.own and evaluation.carried_over
    ]
    for stream in sorted(carried, key=lambda evaluation: evaluation.first):
        name = UUID(bytes=stream.stream_id)
        if stream.events > 1 or started.payload.get("branched_from") is None:
            raise EvidenceError(f"stream {name} cannot have been carried over")
        reference = unpack_fields(read.carried[stream.stream_id])
        source_id = _stream_named(_text(reference, "source_evaluation_id"))
        if source_id is None or source_id not in remaining:
            raise EvidenceError(f"stream {name}: what it carries over is missing")
        del remaining[source_id]
        _check_reference(reference, source_id, read, started)
    for stream_id in remaining:
        raise EvidenceError(f"stream {UUID(bytes=stream_id)} is not of this run")


def _stream_named(text: str) -> bytes | None:
    """The 16-byte id for the canonical text of a UUID; `None` for any other text."""
    try:
        stream_id = UUID(text)
    except ValueError:
        return None
    return stream_id.bytes if str(stream_id) == text else None


def _check_reference(
    reference: dict[str, Any], source_id: bytes, read: RunReader, started: ProvenRunEvent
) -> None:
    """Check that the source had ended, and is the evaluation, with the digest, of the reference."""
    name, source = UUID(bytes=source_id), read.evaluation(source_id)
    assert source is not None
    of_source = unpack_fields(read.elsewhere[source_id])
    if not source.ended or source.last > started.place:
        raise EvidenceError(f"stream {name} had not ended when the run began")
    if source.carried_over:
        raise EvidenceError(f"stream {name} was carried over itself")
    same_run = _text(reference, "source_run_id") == _text(of_source, "run_id")
    if not same_run or _case(reference) != _case(of_source):
        raise EvidenceError(f"stream {name} is not the evaluation that is carried over")
    recorded = (_number(reference, "source_events"), _text(reference, "source_sha256"))
    if recorded != (source.events, source.digest.hex()):
        raise EvidenceError(f"stream {name} is not what was carried over")


def _case(payload: dict[str, Any]) -> tuple[str, str, int]:
    """(prompt id, model, repetition) of an evaluation."""
    question = _text(payload, "prompt_id"), _text(payload, "model_key")
    return *question, _number(payload, "repetition")


def _check_reviews(run_id: UUID, read: RunReader) -> None:
    """Check that every review is of an ended evaluation of this run, and in its review stream."""
    for stream_id, stream in read.reviews.items():
        for event in stream:
            reviewed = _text(event.payload, "evaluation_id")
            about = event.payload.get("about") == str(run_id)
            evaluation_id = _stream_named(reviewed)
            evaluation = None if evaluation_id is None else read.evaluation(evaluation_id)
            if event.topic != REVIEW or not about or evaluation is None or not evaluation.own:
                raise EvidenceError(
                    f"stream {stream_id} holds something that is not a review of this run"
                )
            digest = hashlib.sha256(f"review\n{reviewed}".encode()).digest()
            if _stream_of(digest) != stream_id.bytes or event.place < evaluation.last:
                raise EvidenceError(f"stream {stream_id} cannot hold a review of {reviewed}")


def _attempts(run_id: UUID, read: RunReader) -> ProvenAttempts:
    """The attempts of the experiment and the overlapping runs, from their own streams."""
    runs: list[list[TopicPayload]] = []
    for stream_id, stream in ((run_id, read.own), *read.other_runs.items()):
        if any(event.topic not in RUN_TOPICS for event in stream):
            raise EvidenceError(f"run {stream_id}: its stream holds a foreign event")
        if stream[0].payload.get("run_id") != str(stream_id):
            raise EvidenceError(f"run {stream_id}: its first event names another run")
        runs.append([(event.topic, event.payload) for event in stream])

    def cases_told(digests: Digests) -> list[tuple[bytes, bytes]]:
        return read.cases_told([_stream_of(digest) for digest in digests.parts()])

    try:
        return read_attempts(runs[0], runs[1:], cases_told)
    except UnrelatedRuns as error:
        raise EvidenceError(str(error)) from None


def _checked_seal(run_id: UUID, read: RunReader, sealed_at: int) -> Seal:
    payload = read.own[sealed_at].payload
    seal = seal_of_records(
        (
            stream_record(evaluation.stream_id, evaluation.events, evaluation.digest)
            for evaluation in read.evaluations()
            if evaluation.own
        ),
        run_id.bytes,
        [event.leaf for event in read.own[:sealed_at]],
    )
    for name, value in (("streams", seal.streams), ("events", seal.events)):
        if _number(payload, name) != value:
            raise EvidenceError(
                f"the seal counts {payload[name]} {name}, and here are {value}: "
                "the run is incomplete"
            )
    if _text(payload, "root") != seal.root.hex():
        raise EvidenceError("the seal does not match these events")
    return seal


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
