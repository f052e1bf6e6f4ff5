"""Reads replies of the Gemini API, whole or as events. Pure: bytes in, an answer out.

A candidate is complete when it has a finish reason. A blocked prompt has no candidate, but a
reason. A stream that ends before either is a `ModelError` with all received bytes, never half an
answer. Gemini 1.x writes a finish reason in every event of a stream: the worst of them counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from failproof_es.core.finish_reasons import CONTENT_FILTER, TOOL_CALLS, common_word, worse
from failproof_es.events import Disposition, ToolCall, Usage
from failproof_es.models.http_reply import (
    HttpReply,
    InvalidReply,
    document_of,
    invalid_reply_of_error,
    json_text,
    piece_of,
    require_no_error,
)
from failproof_es.models.protocol import MOST_TOOL_CALLS, Answer, ModelError
from failproof_es.models.replies.content_parts import read_content
from failproof_es.models.replies.event_stream import DONE, EventStream
from failproof_es.models.reply_fields import (
    count_or_none,
    finish_word,
    name_or_none,
    reason_or_none,
    require_few_calls,
    require_readable,
    require_said,
    text_or_none,
)

_ACCOUNT_DISABLED = "PUP_LIMITED_DISABLED"
_REFUSED_KEY = ("UNAUTHENTICATED", "PERMISSION_DENIED")
_MOST_PARTS = 100 * MOST_TOOL_CALLS


def answer_of(reply: HttpReply, document: Any) -> Answer:
    """The answer in a response, the reply's parsed JSON. Raises `InvalidReply` if it holds none.

    A list is a stream in one document: the API's form without `alt=sse`, which some gateways drop.
    A blocked prompt is an answer without text.
    """
    if isinstance(document, list) and document:
        document = _join_chunks(document)
    document = require_no_error(document)
    candidate = _first_candidate(document)
    if candidate is None:
        return _build_answer(reply, document, "", CONTENT_FILTER, _block_reason(document))
    reason = reason_or_none(candidate.get("finishReason"))
    if reason is None:
        raise _malformed("the candidate does not say why it ended")
    if reason == _ACCOUNT_DISABLED:
        raise InvalidReply("authentication", f"the account is limited: {reason}", "halting")
    parts = _content_parts(candidate)
    content = read_content(parts)
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    require_few_calls(len(calls))
    require_readable(content, reason, more=bool(calls))
    text = content.text or ""
    meaning = require_said(reason, text, more=bool(calls))
    explanation = text_or_none(candidate.get("finishMessage")) or reason
    refusal = explanation if meaning == "withheld" else None
    finish = TOOL_CALLS if calls and meaning == "complete" else common_word(reason)
    return _build_answer(reply, document, text, finish, refusal, tuple(map(_tool_call, calls)))


def _build_answer(
    reply: HttpReply,
    document: dict[str, Any],
    text: str,
    finish_reason: str | None,
    refusal: str | None,
    calls: tuple[ToolCall, ...] = (),
) -> Answer:
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=text,
        latency_ms=reply.latency_ms,
        finish_reason=finish_reason,
        refusal=refusal,
        tool_calls=calls,
        model=_model_name(document.get("modelVersion")),
        provider_request_id=name_or_none(document.get("responseId")),
        usage=_usage(document.get("usageMetadata")),
        first_token_ms=reply.first_token_ms,
    )


def _model_name(version: Any) -> str | None:
    """The model's name without `models/`, which previews have in some replies."""
    name = name_or_none(version)
    return None if name is None else name.removeprefix("models/")


def _block_reason(document: dict[str, Any]) -> str:
    """Why the prompt was blocked. Raises `InvalidReply` if it was not."""
    feedback = document.get("promptFeedback")
    reason = finish_word(feedback.get("blockReason")) if isinstance(feedback, dict) else None
    if reason is None or not isinstance(feedback, dict):
        raise InvalidReply("empty_choices", "the reply holds no candidate", "transient")
    return text_or_none(feedback.get("blockReasonMessage")) or reason


def _first_candidate(document: dict[str, Any]) -> dict[str, Any] | None:
    candidates = document.get("candidates")
    if candidates is None or candidates == []:
        return None
    if not isinstance(candidates, list) or not all(
        isinstance(candidate, dict) for candidate in candidates
    ):
        raise _malformed("`candidates` is not a list of candidates")
    first: dict[str, Any] = candidates[0]
    return next((candidate for candidate in candidates if candidate.get("index") == 0), first)


def _content_parts(candidate: dict[str, Any]) -> list[dict[str, Any]]:
    content = candidate.get("content") or {}
    parts = (content.get("parts") or []) if isinstance(content, dict) else None
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise _malformed("`content` is not a list of parts")
    return parts


def _tool_call(value: Any) -> ToolCall:
    name, arguments = (
        (value.get("name"), value.get("args", {})) if isinstance(value, dict) else (0, 0)
    )
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise _malformed("a function call lacks its name or its arguments")
    return ToolCall(id=name_or_none(value.get("id")), name=name, arguments=json_text(arguments))


def _usage(usage: Any) -> Usage:
    """The token counts. Thoughts count as output; the API omits counts of 0."""
    if not isinstance(usage, dict) or count_or_none(usage.get("promptTokenCount")) is None:
        return Usage()

    def count(name: str) -> int:
        return count_or_none(usage.get(name)) or 0

    read = count("promptTokenCount") + count("toolUsePromptTokenCount")
    cached, thoughts = count("cachedContentTokenCount"), count("thoughtsTokenCount")
    return Usage(
        input_tokens=read,
        output_tokens=count("candidatesTokenCount") + thoughts,
        cached_input_tokens=cached if cached <= read else None,
        reasoning_tokens=thoughts,
    )


# -- errors ----------------------------------------------------------------------------------


def as_google_means(error: ModelError) -> ModelError:
    """The same error, its kind and disposition changed by the `status` in Google's error object."""
    if (google_error := _error_object(error.body or b"")) is not None:
        error.kind, error.disposition = _google_verdict(google_error) or (
            error.kind,
            error.disposition,
        )
    return error


def _google_verdict(error: dict[str, Any]) -> tuple[str, Disposition] | None:
    """Kind and disposition by Google's error object; `None` if the HTTP status says enough."""
    if error.get("status") in _REFUSED_KEY or _is_bad_key(error):
        return "authentication", "halting"
    return ("overloaded", "deferred") if error.get("status") == "UNAVAILABLE" else None


def _flaw_of(error: Any) -> InvalidReply:
    """The flaw for an error object within a stream, with kind and disposition by its `status`."""
    flaw = invalid_reply_of_error(error)
    if isinstance(error, dict):
        flaw.kind, flaw.disposition = _google_verdict(error) or (flaw.kind, flaw.disposition)
    return flaw


def bad_key(body: bytes) -> bool:
    """Whether the error in a reply's body reports an invalid or expired key."""
    return (error := _error_object(body)) is not None and _is_bad_key(error)


def _is_bad_key(error: dict[str, Any]) -> bool:
    reasons = ("API_KEY_INVALID", "API_KEY_EXPIRED")
    return any(detail.get("reason") in reasons for detail in _details(error))


def _error_object(body: bytes) -> dict[str, Any] | None:
    try:
        document = document_of(body)
    except InvalidReply:
        return None
    if isinstance(document, list) and document:
        document = document[0]
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, dict) else None


def _details(error: dict[str, Any]) -> Iterator[dict[str, Any]]:
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict):
            yield detail


# -- streams ---------------------------------------------------------------------------------


@dataclass(slots=True)
class StreamedContent:
    """Assembles a streamed response: feed all pieces, then call `document`."""

    events: EventStream = field(default_factory=EventStream)
    about: dict[str, Any] = field(default_factory=dict)
    """The latest value of each field of the response, without its candidates."""
    parts: list[dict[str, Any]] = field(default_factory=list)
    candidate: dict[str, Any] | None = None
    """The latest value of each field of the candidate, without its content."""
    characters: int = 0

    def feed(self, piece: bytes) -> str:
        """Take the next bytes of the body; return the answer's text in them, without thoughts.

        Raises `InvalidReply` if the stream is malformed or reports an error.
        """
        try:
            return "".join([self._take_data(data) for data in self.events.feed(piece)])
        except UnicodeDecodeError as error:
            raise _malformed("the stream is not UTF-8") from error

    def document(self) -> dict[str, Any]:
        """The response, in the form of one that was not streamed.

        Raises `InvalidReply` if the stream ended before the response did.
        """
        if self.candidate is not None and self.candidate.get("finishReason"):
            return {**self.about, "candidates": [{**self.candidate, "content": self._content()}]}
        if self.candidate is None and "promptFeedback" in self.about:
            return self.about
        raise InvalidReply(
            "stream_broken",
            f"the stream ended before the reply did, after {self.characters} characters of text",
            "transient",
        )

    def _content(self) -> dict[str, Any]:
        """The parts of all events, with adjacent texts joined into one part."""
        parts: list[dict[str, Any]] = []
        texts: list[str] = []
        for part in self.parts:
            if set(part) == {"text"} and isinstance(part["text"], str):
                texts.append(part["text"])
                continue
            parts += _join_texts(texts)
            parts.append(part)
        return {"parts": [*parts, *_join_texts(texts)], "role": "model"}

    def _take_data(self, data: str) -> str:
        return "" if data.strip() == DONE else self.take(piece_of(data))

    def take(self, chunk: Any) -> str:
        """Take the next event, as parsed JSON; return the answer's text in it, without thoughts.

        Raises `InvalidReply` if the event is malformed or reports an error.
        """
        if not isinstance(chunk, dict):
            raise _malformed("an event of the stream is not a JSON object")
        if chunk.get("error"):
            raise _flaw_of(chunk["error"])
        model = self.about.get("modelVersion")
        if chunk.get("modelVersion") not in (None, model) and model is not None:
            raise _malformed("the stream names two models")
        self.about |= {name: value for name, value in chunk.items() if name != "candidates"}
        candidate = _first_candidate(chunk)
        if candidate is None:
            return ""
        parts = _content_parts(candidate)
        before = self.candidate or {}
        reason = worse(before.get("finishReason"), finish_word(candidate.get("finishReason")))
        self.candidate = {**before, **candidate, "finishReason": reason}
        self.candidate.pop("content", None)
        self.parts += parts
        if len(self.parts) > _MOST_PARTS:
            raise _malformed(f"the response has more than {_MOST_PARTS} parts")
        texts = [part.get("text") for part in parts if part.get("thought") is not True]
        text = "".join(piece for piece in texts if isinstance(piece, str))
        self.characters += len(text)
        return text


def _join_chunks(chunks: list[Any]) -> dict[str, Any]:
    """The response, joined from a list of events.

    Raises `InvalidReply` if an event is malformed or the response is incomplete.
    """
    stream = StreamedContent()
    for chunk in chunks:
        stream.take(chunk)
    return stream.document()


def _join_texts(texts: list[str]) -> list[dict[str, Any]]:
    """The texts joined into one part, or no part. Empties `texts`."""
    part = [{"text": "".join(texts)}] if texts else []
    texts.clear()
    return part


def _malformed(message: str) -> InvalidReply:
    return InvalidReply("malformed_response", message, "transient")
