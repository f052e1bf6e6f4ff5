"""Builds the events of an attempt: its complete result, with secrets replaced."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from failproof_es.core.evaluation import Evaluation
from failproof_es.core.reply_body import (
    MOST_OF_AN_ERROR,
    is_text,
    redacted_body,
    truncated_body,
    whole_body,
    withheld_body,
)
from failproof_es.engine.drive.orphaned_event import identify_request
from failproof_es.engine.drive.redaction import EventRedactor, Redactor
from failproof_es.events import (
    ErrorRecorded,
    RequestSent,
    ResponseReceived,
    ToolCall,
)
from failproof_es.models.protocol import Answer, ModelError
from failproof_es.store.writing.event_header import EventHeader


def response_received(
    header: EventHeader, state: Evaluation, request: RequestSent, answer: Answer, redactor: Redactor
) -> ResponseReceived:
    """The event of a complete answer to `request`, known secrets replaced.

    `header` gives the fields that every event has, `state` is the evaluation before the event.
    """
    redact = redactor.for_event()
    read: dict[str, Any] = {
        "text": redact.text("text", answer.text),
        "tool_calls": tuple(
            ToolCall(
                id=redact.optional("tool_calls", call.id),
                name=redact.text("tool_calls", call.name),
                arguments=redact.text("tool_calls", call.arguments),
            )
            for call in answer.tool_calls
        ),
        "refusal": redact.optional("refusal", answer.refusal),
        "finish_reason": redact.optional("finish_reason", answer.finish_reason),
        "model": redact.optional("model", answer.model),
        "provider_request_id": redact.optional("provider_request_id", answer.provider_request_id),
    }
    return ResponseReceived(
        **header(state),
        **identify_request(request),
        **read,
        **_recorded_body(redact, answer.body, whole_body),
        status=answer.status,
        headers=redact.values("headers", answer.headers),
        usage=answer.usage,
        latency_ms=round(answer.latency_ms, 3),
        first_token_ms=None if answer.first_token_ms is None else round(answer.first_token_ms, 3),
        redactions=redact.record(),
    )


def error_recorded(
    header: EventHeader,
    state: Evaluation,
    request: RequestSent,
    error: ModelError,
    redactor: Redactor,
) -> ErrorRecorded:
    """The event of a request that ended in `error`: with everything received, known secrets
    replaced. Long messages and stack traces are cut off. The error's own message is replaced by the
    recorded one."""
    redact = redactor.for_event()
    message = _truncate_error(redact.text("message", _encodable(error.message)))
    error.args = (message,)  # else the stack trace repeats all of a long message
    trace = _encodable("".join(traceback.format_exception(error)))
    stack_trace = _truncate_error(redact.text("stack_trace", trace))
    return ErrorRecorded(
        **header(state),
        **identify_request(request),
        kind=error.kind,
        message=message,
        disposition=error.disposition,
        stack_trace=stack_trace,
        status=error.status,
        headers=redact.values("headers", error.headers),
        **({} if error.body is None else _recorded_body(redact, error.body, truncated_body)),
        retry_after_s=error.retry_after_s,
        latency_ms=error.latency_ms,
        redactions=redact.record(),
    )


def _encodable(text: str) -> str:
    """Text that an event can hold: lone surrogates, as in odd file names, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _recorded_body(
    redact: EventRedactor, body: bytes, record_body: Callable[[bytes], dict[str, Any]]
) -> dict[str, Any]:
    """The fields that record a received body.

    A body that holds a key is replaced whole by a placeholder; one that is no text is left out if
    there are keys to look for, since they could hide in it. Any other body is recorded as
    `record_body` returns it.
    """
    placeholder = redact.body("body", body)
    if placeholder is not None:
        return redacted_body(body, placeholder)
    if redact.has_keys and not is_text(body):
        return withheld_body(body)
    return record_body(body)


def _truncate_error(text: str) -> str:
    """An error's message, cut off with a remark if it is too long to record."""
    if len(text) <= MOST_OF_AN_ERROR:
        return text
    return f"{text[:MOST_OF_AN_ERROR]} [cut off: only so many characters are recorded]"
