"""A run's events as spans and evaluation results, by OpenTelemetry's GenAI conventions.

Pure: the same events give the same spans, with the same ids. So sending them again, after a crash
or without an answer, adds no others. One event is taken at a time; only the evaluations under way
are in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from failproof_es.core.evaluation import left_to_people
from failproof_es.core.request_body import RequestBodies, SentBody
from failproof_es.events import (
    AttemptOrphaned,
    CarriedOver,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    RequestSent,
    ResponseReceived,
    RunCompleted,
    RunFailed,
    RunGivenUp,
    RunImported,
    RunStarted,
    Scored,
)
from failproof_es.models.provider_type import telemetry_name
from failproof_es.reading.recorded_run import Origin

Value = str | int | float | bool | list[str]
_FRACTIONS = ("temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")
_WHOLE = ("max_tokens", "seed")
"""Parameters that the conventions have as attributes, by the type of their values there."""
_PORTS = {"http": 80, "https": 443}
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
RESULT = "gen_ai.evaluation.result"
STATUS = "failproof_es.status"
CARRIED_OVER = "carried over"


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
    """Why the operation failed, in a few words."""


@dataclass(frozen=True, slots=True)
class EvaluationResultEvent:
    """One event `gen_ai.evaluation.result`, attached to the span of the evaluated answer."""

    trace_id: int
    span_id: int
    time: int
    attributes: Mapping[str, Value]


Telemetry = Span | EvaluationResultEvent


MOST_AT_ONCE = 256
"""Maximum spans and events in one request to a collector, and in one line."""
MOST_BYTES = 2_000_000
"""About the maximum bytes in one request: collectors refuse large ones."""


def first_part(telemetry: Sequence[Telemetry]) -> Sequence[Telemetry]:
    """The first records that fit into one request; at least one if there are any.

    Empty if `telemetry` is empty.
    """
    size = 0
    for number, record in enumerate(telemetry[:MOST_AT_ONCE]):
        size += sum(len(str(value)) for value in record.attributes.values())
        if number and size > MOST_BYTES:
            return telemetry[:number]
    return telemetry[:MOST_AT_ONCE]


@dataclass(slots=True)
class _RunningEvaluation:
    """Facts of an unended evaluation, from its events so far."""

    began: datetime
    sent: RequestSent | None = None
    came: ResponseReceived | None = None
    """The answer to the request; a later error may void it."""
    answered_by: int | None = None
    """Id of the span of the last request to the model under test."""
    requests: int = 0
    bodies: RequestBodies = field(default_factory=RequestBodies)
    body: SentBody | None = None
    """Body of the last request, if contents are included."""


@dataclass(slots=True)
class TelemetryOf:
    """Makes the spans and evaluation results of one run from its events, in the log's order."""

    content: bool = False
    """Whether prompts, answers and reasons are included: off by default."""
    _run: RunStarted | None = None
    _origin: Origin = "asked"
    _providers: dict[str, str] = field(default_factory=dict)
    """`gen_ai.provider.name` by the key of the model or judge."""
    _under_way: dict[UUID, _RunningEvaluation] = field(default_factory=dict)

    def take(self, event: Event) -> Iterator[Telemetry]:
        """The telemetry that this event completes; often none.

        Call it with every event of the run, in the order of the log.
        """
        match event:
            case RunStarted():
                self._run = event
                snapshots = (*event.models, *event.judges)
                self._providers = {
                    snapshot.key: telemetry_name(snapshot.provider) for snapshot in snapshots
                }
            case RunImported():
                self._origin = "imported"
            case RunCompleted() | RunFailed() | RunGivenUp():
                yield from self._run_span(event)
            case EvaluationEvent():
                yield from self._of_evaluation(event)

    def _run_span(self, event: RunCompleted | RunFailed | RunGivenUp) -> Iterator[Telemetry]:
        started = self._run
        if started is None:
            return
        yield Span(
            name=f"run {started.name}",
            kind="internal",
            trace_id=_trace_id(event.originator_id),
            span_id=_span_id(event.originator_id),
            parent_id=None,
            start=_nanoseconds(started.timestamp),
            end=_nanoseconds(event.timestamp),
            attributes={
                "failproof_es.run.id": str(started.originator_id),
                "failproof_es.run.number": started.run_number,
                "failproof_es.origin": self._origin,
                "failproof_es.run.status": str(event.run_status),
                "failproof_es.dialect": started.dialect,
                "failproof_es.configuration.sha256": started.configuration_digest,
                "failproof_es.planned": event.counts.planned,
                "failproof_es.scored": event.counts.scored,
                "failproof_es.abandoned": event.counts.abandoned,
            },
            error=None if isinstance(event, RunCompleted) else event.reason,
        )

    def _of_evaluation(self, event: EvaluationEvent) -> Iterator[Telemetry]:
        evaluation = event.originator_id
        state = self._under_way.setdefault(evaluation, _RunningEvaluation(event.timestamp))
        sent = state.sent
        if state.came is not None and not isinstance(event, ErrorRecorded):
            yield self._end_request(state, state.came)
        match event:
            case RequestSent():
                state.sent = event
                state.requests += 1
                if self.content:
                    state.body = state.bodies.rebuild(event)
            case ResponseReceived() if sent is not None:
                state.came = event
            case ErrorRecorded() | AttemptOrphaned() if sent is not None:
                yield self._end_request(state, event)
            case Scored() | EvaluationAbandoned() | CarriedOver():
                del self._under_way[evaluation]
                yield from self._results(event, state)
                yield self._evaluation_span(event, state)

    def _end_request(
        self, state: _RunningEvaluation, event: ResponseReceived | ErrorRecorded | AttemptOrphaned
    ) -> Span:
        assert state.sent is not None
        span = self._request_span(state.sent, event, state.came, state.body)
        if event.purpose == "target":
            state.answered_by = span.span_id
        state.sent = state.came = None
        return span

    def _request_span(
        self,
        sent: RequestSent,
        event: ResponseReceived | ErrorRecorded | AttemptOrphaned,
        came: ResponseReceived | None,
        body: SentBody | None,
    ) -> Span:
        model_key = sent.judge or sent.model_key
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._providers.get(model_key, "unknown"),
            "gen_ai.request.model": sent.model,
            "gen_ai.conversation.id": str(sent.originator_id),
            "failproof_es.model.key": model_key,
            "failproof_es.purpose": sent.purpose,
            "failproof_es.turn": sent.turn,
            "failproof_es.attempt": sent.attempt,
            "failproof_es.request.sha256": sent.body_sha256,
        }
        attributes |= _server_attributes(sent.endpoint) | _parameter_attributes(sent.parameters)
        error: str | None = None
        if came is not None:
            attributes |= _response_attributes(came)
        if isinstance(event, ErrorRecorded):
            error = attributes["error.type"] = event.kind
            if event.status is not None:
                attributes["http.response.status_code"] = event.status
        elif isinstance(event, AttemptOrphaned):
            error = attributes["error.type"] = "orphaned"
        if body is not None:
            attributes["failproof_es.request.body"] = body.text
            if body.problem is not None:
                attributes["failproof_es.request.problem"] = body.problem
            if came is not None:
                attributes["gen_ai.output.messages"] = _output_messages(came)
        return Span(
            name=f"chat {sent.model}",
            kind="client",
            trace_id=_trace_id(sent.run_id),
            span_id=_span_id(sent.originator_id, sent.originator_version),
            parent_id=_span_id(sent.originator_id),
            start=_nanoseconds(sent.timestamp),
            end=_nanoseconds((came or event).timestamp),
            attributes=attributes,
            error=error,
        )

    def _results(
        self, event: Scored | EvaluationAbandoned | CarriedOver, state: _RunningEvaluation
    ) -> Iterator[EvaluationResultEvent]:
        results: list[dict[str, Value]] = []
        if isinstance(event, Scored):
            results = [
                {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": value}
                for name, value in event.scores.items()
            ]
            if event.passed is not None:
                label = "pass" if event.passed else "fail"
                results.append(
                    {
                        "gen_ai.evaluation.name": "passed",
                        "gen_ai.evaluation.score.value": float(event.passed),
                        "gen_ai.evaluation.score.label": label,
                    }
                )
        elif isinstance(event, EvaluationAbandoned) and not left_to_people(event):
            results = [{"gen_ai.evaluation.name": "passed", "error.type": event.kind}]
        for attributes in results:
            if self.content and not isinstance(event, CarriedOver):
                attributes["gen_ai.evaluation.explanation"] = event.reason
            attributes["failproof_es.evaluation.id"] = str(event.originator_id)
            attributes["failproof_es.origin"] = self._origin
            yield EvaluationResultEvent(
                _trace_id(event.run_id),
                state.answered_by or _span_id(event.originator_id),
                _nanoseconds(event.timestamp),
                attributes,
            )

    def _evaluation_span(
        self, event: Scored | EvaluationAbandoned | CarriedOver, state: _RunningEvaluation
    ) -> Span:
        attributes: dict[str, Value] = {
            "failproof_es.evaluation.id": str(event.originator_id),
            "failproof_es.case.stream": str(event.prompt_id),
            "failproof_es.model.key": event.model_key,
            "failproof_es.repetition": event.repetition,
            "failproof_es.requests": state.requests,
            "failproof_es.origin": self._origin,
            STATUS: "scored",
        }
        error: str | None = None
        if isinstance(event, EvaluationAbandoned):
            attributes[STATUS] = "abandoned"
            if left_to_people(event):
                attributes["failproof_es.awaiting_review"] = True
            else:
                error = attributes["error.type"] = event.kind
        elif isinstance(event, CarriedOver):
            attributes[STATUS] = CARRIED_OVER
            attributes["failproof_es.source.run.id"] = str(event.source_run_id)
        return Span(
            name=f"evaluate {event.model_key}",
            kind="internal",
            trace_id=_trace_id(event.run_id),
            span_id=_span_id(event.originator_id),
            parent_id=None if event.run_id is None else _span_id(event.run_id),
            start=_nanoseconds(state.began),
            end=_nanoseconds(event.timestamp),
            attributes=attributes,
            error=error,
        )


def _server_attributes(endpoint: str) -> dict[str, Value]:
    """The server's address and port as attributes; empty if the endpoint is no address."""
    with suppress(ValueError):
        where = urlsplit(endpoint)
        port = where.port or _PORTS.get(where.scheme)
        if where.hostname and port:
            return {"server.address": where.hostname, "server.port": port}
    return {}


def _parameter_attributes(parameters: Mapping[str, Any]) -> dict[str, Value]:
    """The request's parameters that the conventions name, as attributes of the required type."""
    attributes: dict[str, Value] = {}
    for name, value in parameters.items():
        if isinstance(value, bool):
            continue
        if name in _WHOLE and isinstance(value, int):
            attributes[f"gen_ai.request.{name}"] = value
        elif name in _FRACTIONS and isinstance(value, int | float):
            with suppress(OverflowError):
                attributes[f"gen_ai.request.{name}"] = float(value)
    return attributes


def _response_attributes(event: ResponseReceived) -> dict[str, Value]:
    usage, first = event.usage, event.first_token_ms
    attributes: dict[str, Value | None] = {
        "gen_ai.request.stream": None if first is None else True,
        "gen_ai.response.model": event.model,
        "gen_ai.response.finish_reasons": None
        if event.finish_reason is None
        else [event.finish_reason],
        "gen_ai.response.time_to_first_chunk": None if first is None else first / 1000,
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        "http.response.status_code": event.status,
        "failproof_es.latency_ms": event.latency_ms,
        "failproof_es.provider.request_id": event.provider_request_id,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _output_messages(event: ResponseReceived) -> str:
    """A model's reply as the conventions' JSON: texts, a refusal, tool calls."""
    texts = [text for text in (event.text, event.refusal) if text]
    message = {
        "role": "assistant",
        "parts": [
            *({"type": "text", "content": text} for text in texts),
            *(
                {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
                for call in event.tool_calls
            ),
        ],
        "finish_reason": event.finish_reason or "unknown",
    }
    return json.dumps([message])  # escapes a lone surrogate


def _trace_id(run_id: UUID | None) -> int:
    """The trace id of a run: the run's own id as a number; 1 instead of 0, or without a run."""
    return 1 if run_id is None or not run_id.int else run_id.int


def _span_id(stream: UUID, version: int = 0) -> int:
    digest = hashlib.sha256(stream.bytes + version.to_bytes(8, "big")).digest()
    return int.from_bytes(digest[:8], "big") or 1


def _nanoseconds(moment: datetime) -> int:
    """Nanoseconds since 1970, exact: a float would lose the microseconds."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
