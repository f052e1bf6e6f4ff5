"""Checks an HTTP reply of any provider before its document is parsed. Pure.

A 200 is not yet an answer, and an error says whether asking again makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from failproof_es.core.reply_body import MOST_OF_AN_ERROR
from failproof_es.events import Disposition
from failproof_es.models.protocol import MOST_TOOL_CALLS, Answer, ModelError
from failproof_es.web.bounded_json import JsonTooComplex, read_json

_KEPT_HEADERS = frozenset(
    {
        "content-type", "content-length", "date", "retry-after", "server", "via",
        "x-request-id", "request-id",
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
    429: ("rate_limited", "deferred"),
    529: ("overloaded", "deferred"),
}
_UNAVAILABLE = 503
_TURNED_AWAY = {
    "429": "rate_limited",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "529": "overloaded",
    "overloaded_error": "overloaded",
}
"""What the `code` or the `type` of an error object under status 200 says of the server."""
_PASSING_CODES = frozenset({"408", "500", "502", "503", "504"})
_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_FURTHEST_S = 366 * 86_400.0
"""The longest wait that is believed, one year; a longer one is read as this."""
_LONGEST_NAME = 1000
_MOST_TOKENS = 10**9
"""The largest token count that is believed. Sums of such counts stay exact in JSON."""
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


def kept_headers(headers: Mapping[str, str], own: Collection[str] = ()) -> dict[str, str]:
    """The allow-listed headers, by lower-case name. `own` are a provider's, by their beginnings."""
    kept, beginnings = {}, (*_KEPT_PREFIXES, *own)
    for name, value in headers.items():
        lower = name.lower()
        if lower in _KEPT_HEADERS or lower.startswith(beginnings):
            kept[lower] = value
    return kept


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


class InvalidReply(Exception):
    """Why a reply is not an answer; the received bytes are added later."""

    def __init__(self, kind: str, message: str, disposition: Disposition) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.disposition: Disposition = disposition


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An HTTP reply, or the part of it that was received."""

    status: int
    headers: dict[str, str]
    body: bytes
    latency_ms: float
    received_at: datetime
    first_token_ms: float | None = None

    def error(self, flaw: InvalidReply) -> ModelError:
        """The flaw as the error of this attempt, with everything that came."""
        wait_s = retry_after_s(self.headers, self.received_at)
        disposition = flaw.disposition
        if self.status == _UNAVAILABLE and wait_s is not None:
            disposition = "deferred"  # not tried, and it says when it will be
        return ModelError(
            flaw.kind, flaw.message, disposition, status=self.status, headers=self.headers,
            body=self.body, retry_after_s=wait_s, latency_ms=self.latency_ms,
        )  # fmt: skip


def read_document(reply: HttpReply, read: Callable[[Any], Answer]) -> Answer:
    """Parse the reply's JSON with `read`. Raises `ModelError`, also for any other status."""
    try:
        if reply.status != 200:
            kind, disposition = _status_verdict(reply.status)
            raise InvalidReply(kind, _status_message(reply), disposition)
        return read(document_of(reply.body))
    except InvalidReply as flaw:
        raise reply.error(flaw) from None


def require_no_error(document: Any) -> dict[str, Any]:
    """The document, if it is a JSON object and no error in its place. Raises `InvalidReply`."""
    if not isinstance(document, dict):
        raise InvalidReply("malformed_response", "the reply is not a JSON object", "transient")
    if document.get("error"):
        raise invalid_reply_of_error(document)
    return document


def invalid_reply_of_error(document: dict[str, Any]) -> InvalidReply:
    """The error object that came in place of an answer."""
    said = _error_message(document) or "an error object without a message"
    for word in (_error_field(document, "code"), _error_field(document, "type")):
        if word in _TURNED_AWAY:
            return InvalidReply(_TURNED_AWAY[word], said, "deferred")
    details = _json_bytes(document["error"])[:MOST_OF_AN_ERROR].decode(errors="replace").lower()
    overloaded = any(word in details for word in _OVERLOAD_WORDS)
    passing = overloaded or _error_field(document, "code") in _PASSING_CODES
    return InvalidReply("provider_error", said, "transient" if passing else "final")


def json_text(value: Any) -> str:
    """Something that a reply holds, as JSON. Raises `InvalidReply`: more can be read than
    written."""
    return _json_bytes(value).decode()


def _json_bytes(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise InvalidReply(
            "malformed_response", "the reply is nested too deeply", "transient"
        ) from None


def _status_message(reply: HttpReply) -> str:
    try:
        said = _error_message(document_of(reply.body))
    except InvalidReply:
        said = None
    return f"HTTP {reply.status}" + (f": {said}" if said else "")


def _status_verdict(status: int) -> tuple[str, Disposition]:
    if status in _STATUS:
        return _STATUS[status]
    if status >= 500:
        return "server_error", "transient"
    if 400 <= status < 500:
        return "bad_request", "final"
    return "unexpected_status", "final"


def document_of(text: bytes | str) -> Any:
    """What the JSON of a reply says. Raises `InvalidReply`."""
    try:
        return read_json(text)
    except JsonTooComplex as error:
        raise InvalidReply(
            "malformed_response", f"the reply was not read: {error}", "final"
        ) from None
    except ValueError as error:
        message = f"the reply is not JSON that can be read: {error}"
        raise InvalidReply("malformed_response", message, "transient") from None


def _error_message(document: Any) -> str | None:
    """All that an error object says: it is cut where it is recorded, once no key stands in it."""
    if not isinstance(document, dict):
        return None
    error = document.get("error")
    if isinstance(error, dict):
        error = error.get("message")
    said = (error, document.get("message"), document.get("Message"), document.get("detail"))
    return next((each for each in said if isinstance(each, str)), None)


def _error_field(document: dict[str, Any], name: str) -> str | None:
    error = document["error"]
    value = error.get(name) if isinstance(error, dict) else None
    return str(value) if isinstance(value, int | str) else None


def require_few_calls(calls: int) -> None:
    """Raises `InvalidReply` for more tool calls than any answer has."""
    if calls > MOST_TOOL_CALLS:
        raise InvalidReply("malformed_response", f"more than {MOST_TOOL_CALLS} tool calls", "final")


def text_or_none(value: Any) -> str | None:
    """The value if it is a text that is not empty; `None` for anything else."""
    return value if isinstance(value, str) and value else None


def name_or_none(value: Any) -> str | None:
    """A name: of a model, a reply, a reason. Raises `InvalidReply` for what is longer than any."""
    name = text_or_none(value)
    if name is not None and len(name) > _LONGEST_NAME:
        raise InvalidReply("malformed_response", f"a name has {len(name)} characters", "transient")
    return name


def count_or_none(value: Any) -> int | None:
    """A count of tokens; `None` for anything else."""
    counted = isinstance(value, int) and not isinstance(value, bool)
    return value if counted and 0 <= value <= _MOST_TOKENS else None
