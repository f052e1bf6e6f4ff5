"""What an OpenAI-compatible server answered: an `Answer`, or the `ModelError` it really is.

A 200 is not yet an answer. Pure: bytes in, verdict out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from failproof_es.events import Disposition, Usage
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
_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
LONGEST_WAIT_S = 86_400.0
"""Nobody waits longer for a `Retry-After`: the error is final then, never asked earlier."""
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
    """`Retry-After` in seconds, from either form (RFC 9110 § 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def read_reply(
    status: int, headers: dict[str, str], body: bytes, latency_ms: float, now: datetime
) -> Answer:
    """The answer in a complete HTTP reply. Raises `ModelError` for everything else."""

    wait_s = retry_after_s(headers, now)

    def error(kind: str, message: str, disposition: Disposition) -> ModelError:
        if disposition == "transient" and (wait_s or 0.0) > LONGEST_WAIT_S:
            message = f"{message} (asks to wait {wait_s:.0f} s, longer than a day)"
            disposition = "final"
        return ModelError(
            kind, message, disposition, status=status, headers=headers, body=body,
            retry_after_s=wait_s, latency_ms=latency_ms,
        )  # fmt: skip

    if status != 200:
        kind, disposition = _status_verdict(status)
        said = _error_message(_json(body))
        raise error(kind, f"HTTP {status}" + (f": {said}" if said else ""), disposition)
    document = _json(body)
    if not isinstance(document, dict):
        raise error("malformed_response", "the reply is not a JSON object", "transient")
    if document.get("error"):
        said = _error_message(document) or "an error object without a message"
        details = orjson.dumps(document["error"]).decode().lower()
        overloaded = any(word in details for word in _OVERLOAD_WORDS)
        passing = overloaded or _error_code(document) in _PASSING_CODES
        raise error("provider_error", said, "transient" if passing else "final")
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise error("empty_choices", "the reply holds no choice", "transient")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise error("malformed_response", "the first choice holds no message", "transient")
    refusal = _text_or_none(message.get("refusal"))
    text = _content(message.get("content"))
    if text is None:
        if refusal is None:
            raise error("missing_content", "the message has no content", "transient")
        text = ""
    return Answer(
        status=status,
        headers=headers,
        body=body,
        text=text,
        latency_ms=latency_ms,
        finish_reason=_text_or_none(choices[0].get("finish_reason")),
        refusal=refusal,
        model=_text_or_none(document.get("model")),
        provider_request_id=headers.get("x-request-id") or _text_or_none(document.get("id")),
        usage=_usage(document.get("usage")),
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
