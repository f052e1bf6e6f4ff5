"""A run's events as spans and evaluation results, by OpenTelemetry's GenAI conventions.

Pure: the same events give the same spans, with the same ids. So whoever sends them again, after a
crash or because nobody said that they came, sends no others. One event is taken at a time; what is
kept meanwhile is what the evaluations under way need.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

import orjson

from failproof_es.events import (
    AttemptLost,
    CarriedOver,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    RequestSent,
    ResponseReceived,
    RunCompleted,
    RunFailed,
    RunImported,
    RunStarted,
    Scored,
)
from failproof_es.exports.exporter import Origin

Value = str | int | float | bool | list[str]
_PROVIDERS = {
    "openai-responses": "openai", "gemini": "gcp.gemini", "vertex": "gcp.vertex_ai",
    "bedrock": "aws.bedrock", "azure": "azure.ai.openai", "mistral": "mistral_ai",
}  # fmt: skip
_PARAMETERS = ("temperature", "top_p", "top_k", "max_tokens", "seed", "frequency_penalty",
               "presence_penalty")  # fmt: skip
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
RESULT = "gen_ai.evaluation.result"


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Ids are numbers, times nanoseconds since 1970."""

    name: str
    kind: Literal["internal", "client"]
    trace_id: int
    span_id: int
    parent_id: int | None
    start: int
    end: int
    attributes: Mapping[str, Value]
    error: str | None = None
    """Why it failed, in a few words."""


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """One event `gen_ai.evaluation.result`, beside the span of the answer that was evaluated."""

    trace_id: int
    span_id: int
    time: int
    attributes: Mapping[str, Value]


Telemetry = Span | EvaluationResult


MOST_AT_ONCE = 256
"""Spans and events of one request to a collector, and of one line,"""
MOST_BYTES = 2_000_000
"""and about how many bytes of them: collectors refuse requests that are large."""


def first_part(telemetry: Sequence[Telemetry]) -> Sequence[Telemetry]:
    """As many of the first as go together; at least one, where there is one."""
    size = 0
    for number, each in enumerate(telemetry[:MOST_AT_ONCE]):
        size += sum(len(str(value)) for value in each.attributes.values())
        if number and size > MOST_BYTES:
            return telemetry[:number]
    return telemetry[:MOST_AT_ONCE]


@dataclass(slots=True)
class _UnderWay:
    """An evaluation that has not ended."""

    began: datetime
    sent: RequestSent | None = None
    came: ResponseReceived | None = None
    """The answer to it; an error may follow that voids it."""
    answered_by: int | None = None
    """The span of the last request to the model under test."""
    requests: int = 0


@dataclass(slots=True)
class TelemetryOf:
    """Makes telemetry of one run's events, taken in the order of the log."""

    content: bool = False
    """Whether prompts, answers and reasons are told: off unless somebody asks for them."""
    _run: RunStarted | None = None
    _origin: Origin = "asked"
    _providers: dict[str, str] = field(default_factory=dict)
    _under_way: dict[UUID, _UnderWay] = field(default_factory=dict)

    def take(self, event: Event) -> Iterator[Telemetry]:
        """What this event completes. One that tells nothing by itself completes nothing."""
        match event:
            case RunStarted():
                self._run = event
                snapshots = (*event.models, *event.judges)
                self._providers = {each.key: each.provider for each in snapshots}
            case RunImported():
                self._origin = "imported"
            case RunCompleted() | RunFailed():
                yield from self._run_span(event)
            case EvaluationEvent():
                yield from self._of_evaluation(event)

    def _run_span(self, event: RunCompleted | RunFailed) -> Iterator[Telemetry]:
        started = self._run
        if started is None:
            return
        yield Span(
            name=f"run {started.name}",
            kind="internal",
            trace_id=_trace(event.originator_id),
            span_id=_span(event.originator_id),
            parent_id=None,
            start=_nanoseconds(started.timestamp),
            end=_nanoseconds(event.timestamp),
            attributes={
                "failproof_es.run.id": str(started.originator_id),
                "failproof_es.run.number": started.run_number,
                "failproof_es.origin": self._origin,
                "failproof_es.run.status": "failed" if type(event) is RunFailed else "completed",
                "failproof_es.dialect": started.dialect,
                "failproof_es.configuration.sha256": started.configuration_digest,
                "failproof_es.planned": event.counts.planned,
                "failproof_es.scored": event.counts.scored,
                "failproof_es.abandoned": event.counts.abandoned,
            },
            error=event.reason if isinstance(event, RunFailed) else None,
        )

    def _of_evaluation(self, event: EvaluationEvent) -> Iterator[Telemetry]:
        evaluation = event.originator_id
        state = self._under_way.setdefault(evaluation, _UnderWay(event.timestamp))
        sent = state.sent
        if state.came is not None and not isinstance(event, ErrorRecorded):
            yield self._end_request(state, state.came)
        match event:
            case RequestSent():
                state.sent = event
                state.requests += 1
            case ResponseReceived() if sent is not None:
                state.came = event
            case ErrorRecorded() | AttemptLost() if sent is not None:
                yield self._end_request(state, event)
            case Scored() | EvaluationAbandoned() | CarriedOver():
                del self._under_way[evaluation]
                yield from self._results(event, state)
                yield self._evaluation_span(event, state)

    def _end_request(
        self, state: _UnderWay, event: ResponseReceived | ErrorRecorded | AttemptLost
    ) -> Span:
        assert state.sent is not None
        span = self._request_span(state.sent, event, state.came)
        if event.purpose == "target":
            state.answered_by = span.span_id
        state.sent = state.came = None
        return span

    def _request_span(
        self,
        sent: RequestSent,
        event: ResponseReceived | ErrorRecorded | AttemptLost,
        came: ResponseReceived | None,
    ) -> Span:
        asked = sent.judge or sent.model_key
        provider = self._providers.get(asked, "unknown")
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
            "gen_ai.request.model": sent.model,
            "gen_ai.conversation.id": str(sent.originator_id),
            "failproof_es.model.key": asked,
            "failproof_es.purpose": sent.purpose,
            "failproof_es.turn": sent.turn,
            "failproof_es.attempt": sent.attempt,
            "failproof_es.request.sha256": sent.body_sha256,
        }
        with suppress(ValueError):  # what is no address is not told as one
            if host := urlsplit(sent.endpoint).hostname:
                attributes["server.address"] = host
        with_numbers = {name: sent.parameters.get(name) for name in _PARAMETERS}
        for name, value in with_numbers.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                attributes[f"gen_ai.request.{name}"] = value
        error: str | None = None
        if came is not None:
            attributes |= _answered(came)
        if isinstance(event, ErrorRecorded):
            error = attributes["error.type"] = event.kind
            if event.status is not None:
                attributes["http.response.status_code"] = event.status
        elif isinstance(event, AttemptLost):
            error = attributes["error.type"] = "lost"
        if self.content:
            attributes["failproof_es.request.body"] = sent.body
            if came is not None:
                attributes["gen_ai.output.messages"] = _output(came)
        return Span(
            name=f"chat {sent.model}",
            kind="client",
            trace_id=_trace(sent.run_id),
            span_id=_span(sent.originator_id, sent.originator_version),
            parent_id=_span(sent.originator_id),
            start=_nanoseconds(sent.timestamp),
            end=_nanoseconds((came or event).timestamp),
            attributes=attributes,
            error=error,
        )

    def _results(
        self, event: Scored | EvaluationAbandoned | CarriedOver, state: _UnderWay
    ) -> Iterator[EvaluationResult]:
        found: list[dict[str, Value]] = []
        if isinstance(event, Scored):
            found = [
                {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": value}
                for name, value in event.scores.items()
            ]
            if event.passed is not None:
                label = "pass" if event.passed else "fail"
                found.append(
                    {
                        "gen_ai.evaluation.name": "passed",
                        "gen_ai.evaluation.score.value": float(event.passed),
                        "gen_ai.evaluation.score.label": label,
                    }
                )
        elif isinstance(event, EvaluationAbandoned):
            found = [{"gen_ai.evaluation.name": "passed", "error.type": event.kind}]
        for attributes in found:
            if self.content and not isinstance(event, CarriedOver):
                attributes["gen_ai.evaluation.explanation"] = event.reason
            attributes["failproof_es.evaluation.id"] = str(event.originator_id)
            attributes["failproof_es.origin"] = self._origin
            yield EvaluationResult(
                _trace(event.run_id),
                state.answered_by or _span(event.originator_id),
                _nanoseconds(event.timestamp),
                attributes,
            )

    def _evaluation_span(
        self, event: Scored | EvaluationAbandoned | CarriedOver, state: _UnderWay
    ) -> Span:
        attributes: dict[str, Value] = {
            "failproof_es.evaluation.id": str(event.originator_id),
            "failproof_es.case.stream": str(event.prompt_id),
            "failproof_es.model.key": event.model_key,
            "failproof_es.repetition": event.repetition,
            "failproof_es.requests": state.requests,
            "failproof_es.origin": self._origin,
            "failproof_es.status": "scored",
        }
        if isinstance(event, EvaluationAbandoned):
            attributes["failproof_es.status"] = "abandoned"
            attributes["error.type"] = event.kind
        elif isinstance(event, CarriedOver):
            attributes["failproof_es.status"] = "carried over"
            attributes["failproof_es.source.run.id"] = str(event.source_run_id)
        return Span(
            name=f"evaluate {event.model_key}",
            kind="internal",
            trace_id=_trace(event.run_id),
            span_id=_span(event.originator_id),
            parent_id=None if event.run_id is None else _span(event.run_id),
            start=_nanoseconds(state.began),
            end=_nanoseconds(event.timestamp),
            attributes=attributes,
            error=event.kind if isinstance(event, EvaluationAbandoned) else None,
        )


def _answered(event: ResponseReceived) -> dict[str, Value]:
    told: dict[str, Value | None] = {
        "gen_ai.response.model": event.model,
        "gen_ai.response.finish_reasons": None
        if event.finish_reason is None
        else [event.finish_reason],
        "gen_ai.usage.input_tokens": event.usage.input_tokens,
        "gen_ai.usage.output_tokens": event.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": event.usage.cached_input_tokens,
        "http.response.status_code": event.status,
        "failproof_es.latency_ms": event.latency_ms,
        "failproof_es.first_token_ms": event.first_token_ms,
        "failproof_es.provider.request_id": event.provider_request_id,
    }
    return {name: value for name, value in told.items() if value is not None}


def _output(event: ResponseReceived) -> str:
    text = event.text.encode(errors="backslashreplace").decode()
    said = {
        "role": "assistant",
        "parts": [{"type": "text", "content": text}],
        "finish_reason": event.finish_reason or "unknown",
    }
    return orjson.dumps([said]).decode()


def _trace(run_id: UUID | None) -> int:
    """A trace is a run: its id is the run's. It is never 0, which would be none."""
    return 1 if run_id is None or not run_id.int else run_id.int


def _span(stream: UUID, version: int = 0) -> int:
    digest = hashlib.sha256(stream.bytes + version.to_bytes(8, "big")).digest()
    return int.from_bytes(digest[:8], "big") or 1


def _nanoseconds(moment: datetime) -> int:
    """Exactly: a float would lose the microseconds."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
