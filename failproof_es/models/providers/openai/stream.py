"""Assembles a streamed chat completion as it arrives. Pure: bytes in, an answer out.

A stream is an answer once the server has marked its end: by a finish reason or by `[DONE]`; only by
`[DONE]` if it writes a finish reason in every chunk. A stream that ends earlier, holds an error or
is unreadable is a `ModelError` with all received bytes, never half an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from failproof_es.core.finish_reasons import CONTENT_FILTER, worse
from failproof_es.models.http_reply import InvalidReply, error_in, invalid_reply_of_error, piece_of
from failproof_es.models.replies.content_parts import read_content
from failproof_es.models.replies.event_stream import DONE, EventStream
from failproof_es.models.replies.openai_family import call_of, is_block, message_of
from failproof_es.models.reply_fields import finish_word, require_few_calls


@dataclass(slots=True)
class _StreamedToolCall:
    """A tool call whose name and arguments arrive in pieces."""

    id: str | None = None
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class StreamedReply:
    """Assembles a streamed reply: feed all pieces, then call `document`."""

    events: EventStream = field(default_factory=EventStream)
    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[tuple[int, int], _StreamedToolCall] = field(default_factory=dict)
    """The tool calls by their number and their turn: some gateways number each of them 0."""
    turns: dict[int, int] = field(default_factory=dict)
    """The latest turn of each number."""
    last_call: int = 0
    """The number of the tool call whose piece came last."""
    about: dict[str, Any] = field(default_factory=dict)
    finish_reason: str | None = None
    """The worst finish reason of all chunks."""
    message: dict[str, Any] | None = None
    """The whole message, if the server writes one in place of pieces."""
    other_parts: list[Any] | None = None
    """The latest content parts that are not text."""
    has_begun: bool = False
    went_on: bool = False
    """Whether text with another finish reason followed a finish reason."""
    done: bool = False

    def feed(self, piece: bytes) -> str:
        """Take the next bytes of the body; return the answer's text in them.

        Raises `InvalidReply` if the stream is malformed or reports an error.
        """
        before = len(self.text)
        try:
            for data in self.events.feed(piece):
                self._take_data(data)
        except UnicodeDecodeError as error:
            raise InvalidReply(
                "malformed_response", "the stream is not UTF-8", "transient"
            ) from error
        return "".join(self.text[before:])

    def document(self) -> dict[str, Any]:
        """The reply, in the form of one that was not streamed.

        Raises `InvalidReply` if the stream ended before the reply did.
        """
        is_done = self.done or self.events.pending == DONE
        if not is_done and (self.finish_reason is None or self.went_on):
            came = sum(map(len, self.text))
            raise InvalidReply(
                "stream_broken",
                f"the stream ended before the reply did, after {came} characters of text",
                "transient",
            )
        message: dict[str, Any] = {"content": "".join(self.text) if self.text else self.other_parts}
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
        if self.message is not None and not any((self.text, self.refusal, self.calls)):
            message = self.message
        choice = {"message": message, "finish_reason": self.finish_reason}
        return {**self.about, "choices": [choice] if self.has_begun else []}

    # -- one event -------------------------------------------------------------------------

    def _take_data(self, data: str) -> None:
        if data.strip() == DONE:
            self.done = True
            return
        if self.done:
            raise _malformed("the stream goes on after [DONE]")
        chunk = piece_of(data)
        if not isinstance(chunk, dict):
            raise _malformed("an event of the stream is not a JSON object")
        if (error := error_in(chunk) or _groq_error(chunk)) is not None:
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
            index = choice.get("index")  # some servers write `null` for the only choice
            if not isinstance(index, int) or index == 0:
                self._take_choice(choice)

    def _withhold(self, error: Any) -> None:
        """Record that a filter blocked the answer after it had begun."""
        self.has_begun, self.finish_reason = True, CONTENT_FILTER
        self.refusal.append(message_of(error) or "")

    def _describe(self, chunk: dict[str, Any]) -> None:
        """Record the model, the id and the token counts, which any chunk may hold."""
        model = chunk.get("model")
        is_named = isinstance(model, str) and model
        if is_named and self.about.setdefault("model", model) != model:
            raise _malformed("the stream names two models")
        if isinstance(chunk.get("id"), str):
            self.about.setdefault("id", chunk["id"])
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None  # Kimi's place
        for place in (chunk.get("x_groq"), choice, chunk):
            if isinstance(place, dict) and isinstance(place.get("usage"), dict):
                self.about["usage"] = place["usage"]

    def _take_choice(self, choice: dict[str, Any]) -> None:
        self.has_begun = True
        if error := choice.get("error"):
            if not is_block(error):
                raise invalid_reply_of_error(error)
            self._withhold(error)
        delta = choice.get("delta") or {}
        if not isinstance(delta, dict):
            raise _malformed("`delta` is not a JSON object")
        if isinstance(choice.get("message"), dict):
            self.message = choice["message"]
        reason = finish_word(choice.get("finish_reason"))
        content = delta.get("content", choice.get("text"))  # `text` in a text completion
        pieces = (
            self._add_piece(self.text, content, "content"),
            self._add_piece(self.refusal, delta.get("refusal"), "refusal"),
        )
        if self.finish_reason is not None and any(pieces):
            if reason is None:
                raise _malformed("text follows the finish reason")
            self.went_on = True
        calls = delta.get("tool_calls") or []
        if not isinstance(calls, list):
            raise _malformed("`tool_calls` of a delta is not a list")
        for call in calls:
            self._take_call(call)
        if former := delta.get("function_call"):
            self._take_call({"function": former})
        self.finish_reason = worse(self.finish_reason, reason)

    def _add_piece(self, pieces: list[str], piece: Any, name: str) -> bool:
        """Add a piece of text or of a refusal to `pieces`; return whether it has text.

        `piece` is a text or a list of parts, of which thoughts are ignored. `name` is its field,
        for the error.
        """
        if isinstance(piece, list):
            content = read_content(piece)
            if content.refusal is not None:
                self.refusal.append(content.refusal)
            if content.has_other_parts:
                self.other_parts = piece
            piece = piece if content.is_damaged else content.text
        if piece is None:
            return False
        if not isinstance(piece, str):
            raise _malformed(f"`{name}` of a delta is not text")
        pieces.append(piece)
        return bool(piece)

    def _take_call(self, piece: Any) -> None:
        name, arguments = (part or "" for part in call_of(piece))
        self.last_call = number = self._number_of(piece)
        if name and self._is_further_call(number, piece):
            self.turns[number] = self.turns.get(number, 0) + 1
        place = (number, self.turns.get(number, 0))
        call = self.calls.setdefault(place, _StreamedToolCall())
        require_few_calls(len(self.calls))
        if not isinstance(name, str) or not isinstance(arguments, str):
            raise _malformed("a tool call's name or arguments are not text")
        call.id = piece.get("id") or call.id
        call.name.append(name)
        call.arguments.append(arguments)

    def _number_of(self, piece: dict[str, Any]) -> int:
        """The number of the tool call that this piece belongs to.

        A piece without a number belongs to the last call, unless its id is another one.
        """
        number = piece.get("index")
        if isinstance(number, int):
            return number
        if number is not None:
            raise _malformed("the number of a tool call is none")
        last = self.calls.get((self.last_call, self.turns.get(self.last_call, 0)))
        is_another = last is not None and piece.get("id") not in (None, "", last.id)
        return self.last_call + is_another

    def _is_further_call(self, number: int, piece: dict[str, Any]) -> bool:
        """Whether a piece with a name begins another call under a number in use, by its id."""
        call = self.calls.get((number, self.turns.get(number, 0)))
        return call is not None and bool(call.id) and piece.get("id") not in (None, "", call.id)


def _groq_error(chunk: dict[str, Any]) -> Any:
    """Groq's error in the last chunk of a stream that it stops; `None` without one."""
    groq = chunk.get("x_groq")
    error = groq.get("error") if isinstance(groq, dict) else None
    return {"code": error, "message": error} if isinstance(error, str) and error else error or None


def _malformed(message: str) -> InvalidReply:
    return InvalidReply("malformed_response", message, "transient")
