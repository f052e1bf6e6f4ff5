"""Assembles a streamed chat completion as it arrives. Pure: bytes in, an answer out.

A stream is an answer when the server said that it is whole: by a finish reason or by
`[DONE]`. One that ends before, holds an error, or holds what can't be read is a `ModelError`
with every byte that came, and never half an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from failproof_es.core.finish_reasons import CONTENT_FILTER, word_or_none
from failproof_es.models.http_reply import (
    InvalidReply,
    error_in,
    invalid_reply_of_error,
    piece_of,
    require_few_calls,
)
from failproof_es.models.replies.event_stream import EventStream
from failproof_es.models.replies.openai_family import (
    arguments_of,
    is_block,
    message_of,
    text_of,
)

_DONE = "[DONE]"


@dataclass(slots=True)
class _Call:
    """A tool call whose name and arguments arrive in pieces."""

    id: str | None = None
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class StreamedReply:
    """The stream received so far. Feed it every piece; then `document` is the whole reply."""

    events: EventStream = field(default_factory=EventStream)
    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, _Call] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    finish_reason: str | None = None
    begun: bool = False
    done: bool = False

    def feed(self, piece: bytes) -> str:
        """Take the next bytes; return the text that they add. Raises `InvalidReply`."""
        before = len(self.text)
        try:
            for data in self.events.feed(piece):
                self._take(data)
        except UnicodeDecodeError as error:
            raise InvalidReply(
                "malformed_response", "the stream is not UTF-8", "transient"
            ) from error
        return "".join(self.text[before:])

    def document(self) -> dict[str, Any]:
        """The reply as a server that doesn't stream would have sent it.

        Raises `InvalidReply` when the stream ended before the reply did.
        """
        if not self.done and self.finish_reason is None and self.events.pending != _DONE:
            came = sum(map(len, self.text))
            raise InvalidReply(
                "stream_broken",
                f"the stream ended before the reply did, after {came} characters of text",
                "transient",
            )
        message: dict[str, Any] = {"content": "".join(self.text) if self.text else None}
        if self.refusal:
            message["refusal"] = "".join(self.refusal)
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "function": {"name": "".join(call.name), "arguments": "".join(call.arguments)},
                }
                for _, call in sorted(self.calls.items())
            ]
        choice = {"message": message, "finish_reason": self.finish_reason}
        return {**self.about, "choices": [choice] if self.begun else []}

    # -- one event -------------------------------------------------------------------------

    def _take(self, data: str) -> None:
        if data.strip() == _DONE:
            self.done = True
            return
        if self.done:
            raise _malformed("the stream goes on after [DONE]")
        chunk = piece_of(data)
        if not isinstance(chunk, dict):
            raise _malformed("an event of the stream is not a JSON object")
        if (error := error_in(chunk)) is not None:
            if not is_block(error):
                raise invalid_reply_of_error(error)
            self._withhold(error)
            return
        self._describe(chunk)
        choices = chunk.get("choices") or []
        if not isinstance(choices, list):
            raise _malformed("`choices` is not a list")
        for choice in choices:
            if not isinstance(choice, dict):
                raise _malformed("a choice is not a JSON object")
            if choice.get("index", 0) == 0:
                self._choice(choice)

    def _withhold(self, error: Any) -> None:
        """A filter blocked the answer after it had begun."""
        self.begun, self.finish_reason = True, CONTENT_FILTER
        self.refusal.append(message_of(error) or "")

    def _describe(self, chunk: dict[str, Any]) -> None:
        """Who answers, and what it used: said in any chunk, and the same in all."""
        model = chunk.get("model")
        named = isinstance(model, str) and model
        if named and self.about.setdefault("model", model) != model:
            raise _malformed("the stream names two models")
        if isinstance(chunk.get("id"), str):
            self.about.setdefault("id", chunk["id"])
        if isinstance(chunk.get("usage"), dict):
            self.about["usage"] = chunk["usage"]

    def _choice(self, choice: dict[str, Any]) -> None:
        self.begun = True
        delta = choice.get("delta") or {}
        if not isinstance(delta, dict):
            raise _malformed("`delta` is not a JSON object")
        for name, pieces in (("content", self.text), ("refusal", self.refusal)):
            piece = delta.get(name)
            if isinstance(piece, list):  # thoughts and text
                piece = text_of(piece)
            if piece is None:
                continue
            if not isinstance(piece, str):
                raise _malformed(f"`{name}` of a delta is not text")
            if self.finish_reason is not None and piece:
                raise _malformed("text follows the finish reason")
            pieces.append(piece)
        calls = delta.get("tool_calls") or []
        if not isinstance(calls, list):
            raise _malformed("`tool_calls` of a delta is not a list")
        for call in calls:
            self._call(call)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and word_or_none(reason) is not None:
            self.finish_reason = reason

    def _call(self, piece: Any) -> None:
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(function, dict) or not isinstance(piece.get("index", 0), int):
            raise _malformed("a tool call of a delta holds no function")
        call = self.calls.setdefault(piece.get("index", 0), _Call())
        require_few_calls(len(self.calls))
        name, arguments = function.get("name") or "", arguments_of(function) or ""
        if not isinstance(name, str) or not isinstance(arguments, str):
            raise _malformed("a tool call's name or arguments are not text")
        call.id = piece.get("id") or call.id
        call.name.append(name)
        call.arguments.append(arguments)


def _malformed(message: str) -> InvalidReply:
    return InvalidReply("malformed_response", message, "transient")
