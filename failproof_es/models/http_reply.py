"""Checks an HTTP reply of any provider before its document is parsed. Pure.

A reply with status 200 may hold an error, and an error may say whether to retry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol

import orjson

from failproof_es.core.reply_body import MOST_OF_AN_ERROR
from failproof_es.events import Disposition
from failproof_es.models.protocol import RATE_LIMIT_KINDS, Answer, ModelError
from failproof_es.models.replies.content_types import detect_content_type
from failproof_es.models.replies.half_characters import (
    join_all_halves,
    read_piece,
    read_whole,
)
from failproof_es.models.replies.stated_waits import LIMIT_HEADERS, stated_wait
from failproof_es.web.bounded_json import JsonTooComplex

_SHOULD_RETRY = "x-should-retry"
"""The header in which a server says whether to retry. Its vendor's own clients obey."""
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
    498: ("overloaded", "deferred"),
    499: ("timeout", "transient"),
    529: ("overloaded", "deferred"),
}
_UNAVAILABLE = 503
_STATUS_OF_WORD: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "billing_hard_limit_reached": 402,
    "billing_not_active": 402,
    "insufficient_quota": 402,
    "exceeded_current_quota_error": 402,
    "Arrearage": 402,
    "1113": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "over_capacity": 529,
}
"""The HTTP status that corresponds to the `code` or the `type` of an error object."""
_ANSWERED, _PAYMENT, _TOO_LARGE = 200, 402, 413
_LIMITS = frozenset({429, 498, 529})
"""The HTTP statuses that mean a reached limit. Groq's 498 is that of its flex tier."""
_NO_CREDIT = re.compile(
    r"credit balance is too low|insufficient (?:balance|credit|funds)|credits are depleted"
    r"|used all available credits|(?:n't|not) have any credits|spend(?:ing)? limit"
    r"|key limit exceeded|budget has been exceeded|reached your specified api usage limits",
    re.IGNORECASE,
)
"""The wording of missing credit in messages of a 4xx whose code says something else."""
_REQUESTED = re.compile(r"\bLimit:? (\d{1,15})\b.{1,60}\bRequested:? (\d{1,15})\b")
_MOST_DEFECTS = 10
_ERROR_STATUS = re.compile(r"[45][0-9]{2}")
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
    """The headers to record, by lower-case name.

    `own`: prefixes of further headers that the provider records.
    """
    allowed, beginnings = {}, (*LIMIT_HEADERS, *own)
    for name, value in headers.items():
        lower = name.lower()
        if lower in _KEPT_HEADERS or lower.startswith(beginnings):
            allowed[lower] = value
    return allowed


class InvalidReply(Exception):
    """The reply is not an answer. `HttpReply.error` adds the received bytes."""

    def __init__(
        self,
        kind: str,
        message: str,
        disposition: Disposition,
        error: Any = None,
    ) -> None:
        """`kind` and `disposition` become those of the `ModelError`.

        `error` is the error object in the reply, if it has one.
        """
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
        """The error for this reply: the flaw, with the reply's status, headers, bytes and wait.

        The wait is the one that the reply states before a retry, if it states one.
        """
        wait = stated_wait(
            self.headers, flaw.error, self.received_at, at_limit=flaw.kind in RATE_LIMIT_KINDS
        )
        wait_s = None if wait is None else wait.seconds
        words = "" if wait is None or not wait.words else f" ({wait.words})"
        disposition = self._advised_disposition(flaw.disposition, has_wait=wait is not None)
        if self.status == _UNAVAILABLE and wait_s is not None:
            disposition = (
                "deferred"  # the request was not processed, and the server says when to retry
            )
        return ModelError(
            flaw.kind, flaw.message + words, disposition, status=self.status, headers=self.headers,
            body=self.body, retry_after_s=wait_s, latency_ms=self.latency_ms,
        )  # fmt: skip

    def _advised_disposition(self, disposition: Disposition, *, has_wait: bool) -> Disposition:
        """The disposition by the header `x-should-retry`; without the header, this disposition.

        `halting` stays, and so does `deferred` unless the server says not to retry and states no
        wait: a request that a limit turned away was not processed.
        """
        advice = self.headers.get(_SHOULD_RETRY, "").strip().lower()
        if self.status == _ANSWERED or disposition == "halting":
            return disposition
        if disposition == "deferred" and (has_wait or advice != "false"):
            return disposition
        if advice == "true":
            return "transient"
        return "final" if advice == "false" else disposition


class ReplyReader(Protocol):
    """Reads the replies of one protocol. `HttpProvider` implements it."""

    @staticmethod
    def stream_of(headers: Mapping[str, str]) -> Any:
        """The assembler for a streamed reply with these headers; `None` if it is not streamed."""

    @staticmethod
    def read(reply: HttpReply, stream: Any) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler that `stream_of` returned, fed with the whole body, or `None`.
        """


class AnswerStream(Protocol):
    """A streamed reply, assembled as it arrives."""

    def feed(self, piece: bytes) -> str:
        """Take the next bytes of the body; return the answer's text in them.

        Raises `InvalidReply` if the stream is malformed or reports an error.
        """

    def document(self) -> Any:
        """The reply as one JSON document, in the form of one that was not streamed.

        Raises `InvalidReply` if the stream ended before the reply did.
        """


def read_document(reply: HttpReply, read: Callable[[Any], Answer]) -> Answer:
    """The answer that `read` finds in the reply's JSON.

    Raises `ModelError` if the status is not 200, the body is not JSON, or `read` raises
    `InvalidReply`.
    """
    try:
        if reply.status != _ANSWERED:
            raise _invalid_status(reply)
        return read(document_of(reply.body))
    except InvalidReply as flaw:
        raise reply.error(flaw) from None


def read_answer(
    reply: HttpReply, stream: AnswerStream | None, answer_of: Callable[[HttpReply, Any], Answer]
) -> Answer:
    """The answer that `answer_of` finds in the document of a complete reply, streamed or not.

    `stream` is the assembler of a streamed reply, fed with the whole body. Raises `ModelError` if
    the status is not 200, the stream is incomplete, or `answer_of` raises `InvalidReply`.
    """
    if stream is None or reply.status != _ANSWERED:
        return read_document(reply, partial(answer_of, reply))
    try:
        return answer_of(reply, join_all_halves(stream.document()))
    except InvalidReply as flaw:
        raise reply.error(flaw) from None


def read_as_it_came(reader: ReplyReader, reply: HttpReply, stream: Any) -> Answer:
    """The answer in a complete reply. Raises `ModelError` if the reply holds none.

    `stream` is the assembler for the declared content type, fed with the body. Where the body
    contradicts its content type, the body counts: some servers declare a stream as JSON or plain
    text, and some declare a document as a stream.
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
    """The document. Raises `InvalidReply` unless it is a JSON object without an error."""
    if not isinstance(document, dict):
        raise InvalidReply("malformed_response", "the reply is not a JSON object", "transient")
    if (error := error_in(document)) is not None:
        raise invalid_reply_of_error(error)
    return document


def error_in(document: dict[str, Any]) -> Any:
    """The error in the document, or the document if it is an error itself; else `None`."""
    if document.get("object") == "error" and "choices" not in document:
        return document
    return document.get("error") or None


def invalid_reply_of_error(error: Any) -> InvalidReply:
    """The flaw for an error, an object or a text, that a reply with status 200 holds.

    Its `code` or its `type` decides, read as an HTTP status. An error that says no more than that
    something failed is a `provider_error`.
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
    """A value from a reply as JSON. Raises `InvalidReply` if it is nested too deeply to be
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
    """The flaw for a status other than 200.

    The error object overrides the status if it says that credit is missing (which no wait ends),
    that a limit is reached, or that the request is above it.
    """
    try:
        document = document_of(reply.body)
    except InvalidReply:
        document = None
    if isinstance(document, list) and document:
        document = document[0]  # Google's form of an error of a stream
    detail = _error_message(document)
    error = (error_in(document) or document) if isinstance(document, dict) else None
    kind, disposition = _status_verdict(
        _meant_status(reply.status, _status_of(error), detail or "")
    )
    message = f"HTTP {reply.status}" + (f": {detail}" if detail else "")
    return InvalidReply(kind, message, disposition, error)


def _meant_status(status: int, coded: int | None, message: str) -> int:
    """The status that an error means: its own, or that of its code or, for a 4xx, its message."""
    if coded == _PAYMENT or (400 <= status < 500 and _NO_CREDIT.search(message)):
        return _PAYMENT
    if status == _TOO_LARGE or (_LIMITS & {status, coded} and _is_above_limit(message)):
        return _TOO_LARGE  # no wait makes the request smaller
    return coded if coded in _LIMITS and status not in _LIMITS else status


def _is_above_limit(message: str) -> bool:
    requested = _REQUESTED.search(message)
    return "request too large" in message.lower() or (
        requested is not None and int(requested[2]) > int(requested[1])
    )


def _status_of(error: Any) -> int | None:
    """The HTTP status that the `code` or `type` of an error object stands for, or `None`."""
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
    """The JSON value of a whole reply, with U+FFFD for each half character (lone surrogate).

    Raises `InvalidReply` if the text is not JSON or would take too much memory.
    """
    return _read_by(read_whole, text)


def piece_of(text: bytes | str) -> Any:
    """The JSON value of one event of a stream, half characters (lone surrogates) kept.

    Raises `InvalidReply` if the text is not JSON or would take too much memory.
    """
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
    """The whole message of an error object. It is cut when recorded, after keys are redacted."""
    if not isinstance(document, dict):
        return None
    error = document.get("error")
    if isinstance(error, dict):
        error = error.get("message")
    messages = (error, document.get("message"), document.get("Message"), document.get("detail"))
    texts = map(_message_text, messages)
    return next((text for text in texts if text is not None), None)


def _message_text(message: Any) -> str | None:
    """A message as text: itself, or the defects in a list, as FastAPI and Mistral report them."""
    if isinstance(message, dict):
        message = message.get("detail")
    if isinstance(message, list):
        defects = filter(None, map(_describe_defect, message[:_MOST_DEFECTS]))
        return "; ".join(defects) or None
    return message if isinstance(message, str) else None


def _describe_defect(defect: Any) -> str | None:
    """One defect of a request: its text, or `field: text`."""
    if not isinstance(defect, dict):
        return defect if isinstance(defect, str) else None
    text, place = defect.get("msg"), defect.get("loc")
    if not isinstance(text, str):
        return None
    steps = place if isinstance(place, list) else []
    field = ".".join(str(step) for step in steps if isinstance(step, str | int))
    return f"{field}: {text}" if field else text
