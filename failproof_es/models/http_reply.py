"""Checks an HTTP reply of any provider before its document is parsed. Pure.

A 200 is not yet an answer, and an error says whether asking again makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import orjson

from failproof_es.core.finish_reasons import Meaning, meaning_of, was_interrupted, word_of
from failproof_es.core.reply_body import MOST_OF_AN_ERROR
from failproof_es.events import Disposition
from failproof_es.models.protocol import MOST_TOOL_CALLS, Answer, ModelError
from failproof_es.models.replies.content_parts import Content
from failproof_es.models.replies.content_types import detect_content_type
from failproof_es.models.replies.half_characters import (
    join_all_halves,
    join_halves,
    read_piece,
    read_whole,
)
from failproof_es.models.replies.stated_waits import LIMIT_HEADERS, stated_wait
from failproof_es.web.bounded_json import JsonTooComplex

_SHOULD_RETRY = "x-should-retry"
"""By this header a server says whether asking again makes sense. The clients of its vendor obey."""
_KEPT_HEADERS = frozenset(
    {
        "content-type", "content-length", "date", "retry-after", "retry-after-ms", "server", "via",
        "x-request-id", "request-id", _SHOULD_RETRY,
    }
)  # fmt: skip

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
_AT_LIMIT = frozenset({"rate_limited", "overloaded"})
"""The kinds of error that say that a limit is reached."""
_STATUS_OF_WORD: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "billing_hard_limit_reached": 402,
    "billing_not_active": 402,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that means the same as the `code` or the `type` of an error object."""
_ANSWERED, _PAYMENT = 200, 402
_LIMITS = frozenset({429, 529})
"""The statuses that say that a limit is reached."""
_ERROR_STATUS = re.compile(r"[45][0-9]{2}")
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
    allowed, beginnings = {}, (*LIMIT_HEADERS, *own)
    for name, value in headers.items():
        lower = name.lower()
        if lower in _KEPT_HEADERS or lower.startswith(beginnings):
            allowed[lower] = value
    return allowed


class InvalidReply(Exception):
    """Why a reply is not an answer; the received bytes are added later."""

    def __init__(
        self,
        kind: str,
        message: str,
        disposition: Disposition,
        error: Any = None,
    ) -> None:
        """`error` is the error object that the reply holds, if it does."""
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.disposition: Disposition = disposition
        self.error = error


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
        wait = stated_wait(
            self.headers, flaw.error, self.received_at, at_limit=flaw.kind in _AT_LIMIT
        )
        wait_s = None if wait is None else wait.seconds
        words = "" if wait is None or not wait.words else f" ({wait.words})"
        disposition = self._said_disposition(flaw.disposition)
        if self.status == _UNAVAILABLE and wait_s is not None:
            disposition = "deferred"  # not tried, and it says when it will be
        return ModelError(
            flaw.kind, flaw.message + words, disposition, status=self.status, headers=self.headers,
            body=self.body, retry_after_s=wait_s, latency_ms=self.latency_ms,
        )  # fmt: skip

    def _said_disposition(self, disposition: Disposition) -> Disposition:
        """What the server says of asking again, where it says that; else this disposition.

        A request that was turned away at a limit is asked again in any case: it was not tried.
        """
        advice = self.headers.get(_SHOULD_RETRY, "").strip().lower()
        if self.status == _ANSWERED or disposition in ("halting", "deferred"):
            return disposition
        if advice == "true":
            return "transient"
        return "final" if advice == "false" else disposition


class ReplyReader(Protocol):
    """Who reads the replies of a protocol: see `HttpProvider`."""

    @staticmethod
    def stream_of(headers: Mapping[str, str]) -> Any:
        """The assembler for a streamed reply with these headers; `None` if it is not streamed."""

    @staticmethod
    def read(reply: HttpReply, stream: Any) -> Answer:
        """The answer in a complete reply. Raises `ModelError`."""


def read_document(reply: HttpReply, read: Callable[[Any], Answer]) -> Answer:
    """Parse the reply's JSON with `read`. Raises `ModelError`, also for any other status."""
    try:
        if reply.status != _ANSWERED:
            raise _invalid_status(reply)
        return read(document_of(reply.body))
    except InvalidReply as flaw:
        raise reply.error(flaw) from None


def read_as_it_came(reader: ReplyReader, reply: HttpReply, stream: Any) -> Answer:
    """The answer in a complete reply. Raises `ModelError`.

    `stream` is the reply's assembler by its content type, fed with the body. Where the body is of
    another form than that says, the body counts: some servers call a stream JSON or plain text,
    and some call a document a stream.
    """
    content_type = detect_content_type(reply.headers.get("content-type", ""), reply.body)
    if reply.status != _ANSWERED or content_type is None:
        return reader.read(reply, stream)
    stream = reader.stream_of({**reply.headers, "content-type": content_type})
    try:
        if stream is not None:
            stream.feed(reply.body)
    except InvalidReply as flaw:
        raise reply.error(flaw) from None
    return reader.read(reply, stream)


def require_no_error(document: Any) -> dict[str, Any]:
    """The document, if it is a JSON object and no error in its place. Raises `InvalidReply`."""
    if not isinstance(document, dict):
        raise InvalidReply("malformed_response", "the reply is not a JSON object", "transient")
    if (error := error_in(document)) is not None:
        raise invalid_reply_of_error(error)
    return document


def error_in(document: dict[str, Any]) -> Any:
    """The error that stands in the document, or that it is; `None` where it is none."""
    if document.get("object") == "error" and "choices" not in document:
        return document
    return document.get("error") or None


def invalid_reply_of_error(error: Any) -> InvalidReply:
    """The error, an object or a text, that came in place of an answer under status 200.

    It means what the status of its `code` or its `type` means. `provider_error` is what says no
    more than that something failed.
    """
    error = join_all_halves(error)
    message = _error_message({"error": error}) or "an error object without a message"
    if (status := _status_of(error)) is not None:
        kind, disposition = _status_verdict(status)
        told_apart = kind not in ("bad_request", "server_error")
        return InvalidReply(kind if told_apart else "provider_error", message, disposition, error)
    details = _json_bytes(error)[:MOST_OF_AN_ERROR].decode(errors="replace").lower()
    passing = any(word in details for word in _OVERLOAD_WORDS)
    return InvalidReply("provider_error", message, "transient" if passing else "final", error)


def json_text(value: Any) -> str:
    """Something that a reply holds, as JSON. Raises `InvalidReply`: more can be read than
    written."""
    return _json_bytes(value).decode()


def _json_bytes(value: Any) -> bytes:
    try:
        return orjson.dumps(join_all_halves(value))
    except orjson.JSONEncodeError:
        raise InvalidReply(
            "malformed_response", "the reply is nested too deeply", "transient"
        ) from None


def _invalid_status(reply: HttpReply) -> InvalidReply:
    """What a status means that is none of an answer.

    No credit is no limit that passes; and a limit is one under whatever status it comes.
    """
    try:
        document = document_of(reply.body)
    except InvalidReply:
        document = None
    if isinstance(document, list) and document:
        document = document[0]  # of Google, where a stream was asked for
    detail = _error_message(document)
    error = (error_in(document) or document) if isinstance(document, dict) else None
    error_status = _status_of(error)
    of_account = error_status == _PAYMENT or (
        error_status in _LIMITS and reply.status not in _LIMITS
    )
    kind, disposition = _status_verdict(
        error_status if error_status is not None and of_account else reply.status
    )
    message = f"HTTP {reply.status}" + (f": {detail}" if detail else "")
    return InvalidReply(kind, message, disposition, error)


def _status_of(error: Any) -> int | None:
    """The status that an error object means; `None` where it does not say."""
    if not isinstance(error, dict):
        return None
    for word in (error.get("code"), error.get("type")):
        text = str(word) if isinstance(word, int | str) else ""
        if text in _STATUS_OF_WORD:
            return _STATUS_OF_WORD[text]
        if _ERROR_STATUS.fullmatch(text):
            return int(text)
    return None


def _status_verdict(status: int) -> tuple[str, Disposition]:
    if status in _STATUS:
        return _STATUS[status]
    if status >= 500:
        return "server_error", "transient"
    if 400 <= status < 500:
        return "bad_request", "final"
    return "unexpected_status", "final"


def document_of(text: bytes | str) -> Any:
    """What the JSON of a whole reply says, half characters replaced. Raises `InvalidReply`."""
    return _read_by(read_whole, text)


def piece_of(text: bytes | str) -> Any:
    """What the JSON of an event of a stream says, half characters kept. Raises `InvalidReply`."""
    return _read_by(read_piece, text)


def _read_by(read: Callable[[bytes | str], Any], text: bytes | str) -> Any:
    try:
        return read(text)
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
    messages = (error, document.get("message"), document.get("Message"), document.get("detail"))
    return next((message for message in messages if isinstance(message, str)), None)


def finish_word(value: Any) -> str | None:
    """The finish reason as it came (`word_of`). Raises `InvalidReply` for a far too long one."""
    return name_or_none(word_of(value))


def reason_or_none(value: Any) -> str | None:
    """The same. Raises `InvalidReply` also for one of an interrupted answer."""
    reason = finish_word(value)
    if was_interrupted(reason):
        message = f"the answer was broken off by an error: {reason}"
        raise InvalidReply("provider_error", message, "transient")
    return reason


def require_readable(content: Content, reason: str | None, *, more: bool) -> None:
    """Raises `InvalidReply` for an answer that is at its end, and whose content cannot be read.

    `more`: the reply holds a refusal or a tool call besides. What its reason says of any other
    answer holds whatever the content is.
    """
    is_missing = content.is_unreadable and not (more and content.text is None)
    if is_missing and meaning_of(reason) in ("complete", "tool_call"):
        ended = "" if reason is None else f", and ended with {reason}"
        message = f"the content holds what is no text{ended}"
        raise InvalidReply("missing_content", message, "transient")


def require_said(reason: str | None, text: str | None, *, more: bool) -> Meaning:
    """The meaning of the finish reason. `more`: the reply holds a refusal or a tool call.

    A reply that says nothing is an answer where its reason says that it has ended: an empty one,
    a withheld one, one that was cut off in its thoughts. Raises `InvalidReply` for any other.
    """
    meaning = meaning_of(reason)
    says_nothing = not text and not more
    is_empty_text = text is not None and reason is None
    if (
        says_nothing
        and not is_empty_text
        and (reason is None or meaning in ("tool_call", "broken"))
    ):
        ended = "" if reason is None else f", and ended with {reason}"
        raise InvalidReply("missing_content", f"the message has no content{ended}", "transient")
    return meaning


@dataclass(frozen=True, slots=True)
class CutInput:
    """The beginning of a tool call's input, which its server cut off within the JSON."""

    text: str


def input_of(text: str, reason: Any) -> Any:
    """The input of a streamed tool call; `CutInput` where the answer was not at its end.

    Raises `InvalidReply`.
    """
    try:
        return document_of(text)
    except InvalidReply:
        if meaning_of(text_or_none(reason)) in ("complete", "tool_call"):
            raise
        return CutInput(join_halves(text))


def require_few_calls(calls: int) -> None:
    """Raises `InvalidReply` for more tool calls than any answer has."""
    if calls > MOST_TOOL_CALLS:
        raise InvalidReply("malformed_response", f"more than {MOST_TOOL_CALLS} tool calls", "final")


def text_or_none(value: Any) -> str | None:
    """The value if it is a text that is not empty; `None` for anything else."""
    return join_halves(value) if isinstance(value, str) and value else None


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
