"""Telemetry in OTLP, by OpenTelemetry's own SDK: as JSON lines, and as requests to a collector."""

from __future__ import annotations

import base64
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from google.protobuf.json_format import MessageToDict
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from failproof_es.exports.otel.collector_session import CollectorSession
from failproof_es.exports.otel.endpoint import Delivery
from failproof_es.exports.otel.telemetry import (
    RESULT,
    EvaluationResultEvent,
    Span,
    Telemetry,
    Value,
)

_NAME = "failproof-es"
_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})


def json_lines(telemetry: Sequence[Telemetry]) -> list[bytes]:
    """The telemetry as OTLP's JSON: at most one line of spans and one line of events.

    Empty without telemetry. Each line ends with a line feed.
    """
    spans, events = _sorted(telemetry)
    messages = [encode_spans(spans)] if spans else []
    messages += [encode_logs(events)] if events else []
    return [
        orjson.dumps(_with_ids(MessageToDict(message, use_integers_for_enums=True))) + b"\n"
        for message in messages
    ]


_NEVER_TAKEN = (400, 413, 422)
"""HTTP statuses of a collector that never accepts the request."""


class Sender:
    """Sends telemetry to the collector at `endpoint`, with a time-out in seconds.

    Its headers come from `OTEL_EXPORTER_OTLP_HEADERS`, or those of a signal, alone.
    """

    def __init__(self, endpoint: str, timeout_s: float = 10.0) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # `why` reports errors
        base = endpoint.rstrip("/")
        self._session = CollectorSession()
        how: dict[str, Any] = {"timeout": timeout_s, "session": self._session}
        self._spans = OTLPSpanExporter(endpoint=f"{base}/v1/traces", **how)
        self._events = OTLPLogExporter(endpoint=f"{base}/v1/logs", **how)
        self.why = ""
        """Why telemetry was not accepted, the last time. One line."""
        self.rejected = 0
        """Number of spans and events that the collector accepted, but reported as rejected."""

    def send(self, telemetry: Sequence[Telemetry]) -> Delivery:
        """Send the telemetry in at most two requests, spans first; return the outcome.

        After a failure `why` has the reason. A collector that did not answer may have received it.
        """
        spans, events = _sorted(telemetry)
        if spans:
            sent = self._spans.export(spans) is SpanExportResult.SUCCESS
            if (delivery := self._delivery(sent, len(spans))) is not Delivery.TAKEN:
                return delivery
        if events:
            sent = self._events.export(events) is LogRecordExportResult.SUCCESS
            return self._delivery(sent, len(events))
        return Delivery.TAKEN

    def _delivery(self, sent: bool, count: int) -> Delivery:
        if sent:
            if rejected := min(self._session.rejected, count):
                self.rejected += rejected
                self.why = self._session.why or "it does not say why"
            return Delivery.TAKEN
        self.why = self._session.why or "it did not answer"
        if self._session.status is None:
            return Delivery.SILENT
        return Delivery.REFUSED if self._session.status in _NEVER_TAKEN else Delivery.AGAIN


def _sorted(
    telemetry: Sequence[Telemetry],
) -> tuple[list[ReadableSpan], list[ReadableLogRecord]]:
    spans = [_span(span) for span in telemetry if isinstance(span, Span)]
    events = [_event(result) for result in telemetry if isinstance(result, EvaluationResultEvent)]
    return spans, events


def _resource() -> Resource:
    return Resource({"service.name": _encodable(os.environ.get("OTEL_SERVICE_NAME") or _NAME)})


def _span(span: Span) -> ReadableSpan:
    parent = None if span.parent_id is None else _context(span.trace_id, span.parent_id)
    status = Status(StatusCode.UNSET)
    if span.error is not None:
        status = Status(StatusCode.ERROR, _encodable(span.error))
    return ReadableSpan(
        _encodable(span.name),
        context=_context(span.trace_id, span.span_id),
        parent=parent,
        resource=_resource(),
        attributes=_attributes(span.attributes),
        kind=_KINDS[span.kind],
        instrumentation_scope=InstrumentationScope(_NAME),
        status=status,
        start_time=span.start,
        end_time=span.end,
    )


def _event(event: EvaluationResultEvent) -> ReadableLogRecord:
    around = set_span_in_context(NonRecordingSpan(_context(event.trace_id, event.span_id)))
    record = LogRecord(
        timestamp=event.time,
        observed_timestamp=event.time,
        context=around,
        attributes=_attributes(event.attributes),
        event_name=RESULT,
    )
    return ReadableLogRecord(record, _resource(), InstrumentationScope(_NAME))


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(1))


def _attributes(attributes: Mapping[str, Value]) -> dict[str, Value]:
    encoded: dict[str, Value] = {}
    for name, value in attributes.items():
        if isinstance(value, list):
            encoded[name] = [_encodable(member) for member in value]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            encoded[name] = str(value)
        else:
            encoded[name] = _encodable(value) if isinstance(value, str) else value
    return encoded


def _encodable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _with_ids(value: Any) -> Any:
    """A message of protobuf's JSON as OTLP has it: ids in hexadecimal instead of base64."""
    if isinstance(value, dict):
        return {
            name: base64.b64decode(member).hex() if name in _IDS else _with_ids(member)
            for name, member in value.items()
        }
    return [_with_ids(member) for member in value] if isinstance(value, list) else value
