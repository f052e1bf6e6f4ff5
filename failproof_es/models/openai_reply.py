"""What an OpenAI-compatible server answered: an `Answer`, or the `ModelError` it really is.

A 200 is not yet an answer. Pure: bytes in, verdict out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import orjson

from failproof_es.events import Disposition, ToolCall, Usage
from failproof_es.models.protocol import Answer, ModelError

_KEPT_HEADERS = frozenset(
    {
        "content-type", "content-length", "date", "retry-after", "server", "via",
        "x-request-id", "request-id", "openai-model", "openai-organization",
        "openai-processing-ms", "openai-version",
    }
)  # fmt: skip
_KEPT_PREFIXES = ("x-ratelimit-",)

_STATUS: Mapping[int, tuple[str, Disposition]] = {
    401: ("authentication", "halting"),
    402: ("payment_required", "halting"),
    404: ("not_found", "halting"),
    408: ("timeout", "transient"),
    409: ("conflict", "transient"),
    425: ("too_early", "transient"),
    429: ("rate_limited", "transient"),
}
_PASSING_CODES = frozenset({"408", "429", "500", "502", "503", "504", "529"})
_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
LONGEST_WAIT_S = 86_400.0
"""No run waits longer for a `Retry-After`: it is paused then, and nothing is asked earlier."""
_FURTHEST_S = 366 * 86_400.0
"""What is further away than a year is read as a year: clocks can't be reckoned with beyond."""
_OVERLOAD_WORDS = (
    "overload",
    "rate_limit",
    "rate limit",
    "timeout",
    "unavailable",
    "server_error",
    "429",
    "503",
    "529",
)


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The allow-listed headers, by lower-case name."""
    lower = {name.lower(): value for name, value in headers.items()}
    return {
        name: value
        for name, value in lower.items()
        if name in _KEPT_HEADERS or name.startswith(_KEPT_PREFIXES)
    }


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """`Retry-After` in seconds, from either form (RFC 9110 § 10.2.3), a year at most.

    A date is one of the server's clock: it is taken against the reply's own `Date`, and
    against `now` only where there is none.
    """
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), _FURTHEST_S)
    moment = _http_date(value)
    if moment is None:
        return None
    said_at = _http_date(headers.get("date", "")) or now
    return min(max(0.0, (moment - said_at).total_seconds()), _FURTHEST_S)


def _http_date(value: str) -> datetime | None:
    """A date in any of the three forms of RFC 9110 § 5.6.7."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class StreamedDocument(Protocol):
    """A stream that has come to its end."""

    def document(self) -> dict[str, Any]:
        """The reply as one JSON object. Raises `Flaw`."""


class Flaw(Exception):
    """Why a reply is no answer, before it is known what came with it."""

    def __init__(self, kind: str, message: str, disposition: Disposition) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.disposition: Disposition = disposition


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An HTTP reply, or as much of one as came."""

    status: int
    headers: dict[str, str]
    body: bytes
    latency_ms: float
    received_at: datetime
    first_token_ms: float | None = None

    def error(self, flaw: Flaw) -> ModelError:
        """The flaw as the error of this attempt, with everything that came."""
        wait_s = retry_after_s(self.headers, self.received_at)
        message, disposition = flaw.message, flaw.disposition
        if disposition == "transient" and (wait_s or 0.0) > LONGEST_WAIT_S:
            message = f"{message} (asks to wait {wait_s:.0f} s, longer than a day)"
            disposition = "halting"
        return ModelError(
            flaw.kind, message, disposition, status=self.status, headers=self.headers,
            body=self.body, retry_after_s=wait_s, latency_ms=self.latency_ms,
        )  # fmt: skip


def read_reply(reply: HttpReply) -> Answer:
    """The answer in a complete HTTP reply. Raises `ModelError` for everything else."""
    try:
        if reply.status != 200:
            kind, disposition = _status_verdict(reply.status)
            said = _error_message(_json(reply.body))
            raise Flaw(kind, f"HTTP {reply.status}" + (f": {said}" if said else ""), disposition)
        return _answer(reply, _json(reply.body))
    except Flaw as flaw:
        raise reply.error(flaw) from None


def read_streamed(reply: HttpReply, stream: StreamedDocument) -> Answer:
    """The answer in a stream that has ended. Raises `ModelError` for everything else."""
    try:
        return _answer(reply, stream.document())
    except Flaw as flaw:
        raise reply.error(flaw) from None


def flaw_of_error(document: dict[str, Any]) -> Flaw:
    """The error object that came in place of an answer."""
    said = _error_message(document) or "an error object without a message"
    details = orjson.dumps(document["error"]).decode().lower()
    overloaded = any(word in details for word in _OVERLOAD_WORDS)
    passing = overloaded or _error_code(document) in _PASSING_CODES
    return Flaw("provider_error", said, "transient" if passing else "final")


def _answer(reply: HttpReply, document: Any) -> Answer:
    """Raises `Flaw`."""
    if not isinstance(document, dict):
        raise Flaw("malformed_response", "the reply is not a JSON object", "transient")
    if document.get("error"):
        raise flaw_of_error(document)
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise Flaw("empty_choices", "the reply holds no choice", "transient")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise Flaw("malformed_response", "the first choice holds no message", "transient")
    refusal = _text_or_none(message.get("refusal"))
    text = _content(message.get("content"))
    tool_calls = _tool_calls(message.get("tool_calls"))
    if text is None:
        if refusal is None and not tool_calls:
            raise Flaw("missing_content", "the message has no content", "transient")
        text = ""
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=text,
        latency_ms=reply.latency_ms,
        finish_reason=_text_or_none(choices[0].get("finish_reason")),
        refusal=refusal,
        tool_calls=tool_calls,
        model=_text_or_none(document.get("model")),
        provider_request_id=reply.headers.get("x-request-id") or _text_or_none(document.get("id")),
        usage=_usage(document.get("usage")),
        first_token_ms=reply.first_token_ms,
    )


def _status_verdict(status: int) -> tuple[str, Disposition]:
    if status in _STATUS:
        return _STATUS[status]
    if status >= 500:
        return "server_error", "transient"
    if 400 <= status < 500:
        return "bad_request", "final"
    return "unexpected_status", "final"


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _error_message(document: Any) -> str | None:
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, str):
        return error
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return str(error["message"])
    return None


def _error_code(document: dict[str, Any]) -> str | None:
    error = document["error"]
    code = error.get("code") if isinstance(error, dict) else None
    return str(code) if isinstance(code, int | str) else None


def _content(content: Any) -> str | None:
    """Text content: a string, or the text parts of a list, joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"]
        if parts and all(isinstance(part, str) for part in parts):
            return "".join(str(part) for part in parts)
    return None


def _tool_calls(value: Any) -> tuple[ToolCall, ...]:
    """The calls that the model wants made, their arguments as it wrote them. Raises `Flaw`."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Flaw("malformed_response", "`tool_calls` is not a list", "transient")
    return tuple(_tool_call(each) for each in value)


def _tool_call(value: Any) -> ToolCall:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict):
        raise Flaw("malformed_response", "a tool call holds no function", "transient")
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name or not isinstance(arguments, str):
        raise Flaw("malformed_response", "a tool call lacks its name or its arguments", "transient")
    return ToolCall(id=_text_or_none(value.get("id")), name=name, arguments=arguments)


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_input_tokens=_count(cached),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
