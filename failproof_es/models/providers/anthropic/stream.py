"""Assembles a streamed message as it arrives. Pure: bytes in, a document out.

A message is complete once a `stop_reason` and `message_stop` have arrived. A stream that ends
earlier, holds an error or is unreadable is a `ModelError` with all received bytes, never half an
answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from failproof_es.core.finish_reasons import worse
from failproof_es.models.http_reply import InvalidReply, invalid_reply_of_error, piece_of
from failproof_es.models.protocol import MOST_TOOL_CALLS
from failproof_es.models.replies.event_stream import DONE, EventStream
from failproof_es.models.replies.openai_family import is_block, message_of
from failproof_es.models.reply_fields import finish_word, input_of, require_few_calls

_MOST_BLOCKS = 10 * MOST_TOOL_CALLS


@dataclass(slots=True)
class _AnthropicBlock:
    """A content block whose text or input arrives in pieces."""

    opening: dict[str, Any]
    text: list[str] = field(default_factory=list)
    json: list[str] = field(default_factory=list)
    ended: bool = False

    def whole(self, reason: Any) -> dict[str, Any]:
        """The block as in a message that was not streamed, with this `stop_reason`.

        Raises `InvalidReply` if a tool's input is not JSON although the answer is complete.
        """
        if self.opening.get("type") == "text":
            return {**self.opening, "text": "".join(self.text)}
        input_json = "".join(self.json)
        return (
            {**self.opening, "input": input_of(input_json, reason)} if input_json else self.opening
        )


@dataclass(slots=True)
class StreamedMessage:
    """Assembles a streamed message: feed all pieces, then call `document`."""

    events: EventStream = field(default_factory=EventStream)
    message: dict[str, Any] | None = None
    blocks: list[_AnthropicBlock] = field(default_factory=list)
    calls: int = 0
    characters: int = 0
    stopped: bool = False

    def feed(self, piece: bytes) -> str:
        """Take the next bytes of the body; return the answer's text in them.

        Raises `InvalidReply` if the stream is malformed or reports an error.
        """
        try:
            return "".join([self._take_event(data) for data in self.events.feed(piece)])
        except UnicodeDecodeError as error:
            raise _malformed("the stream is not UTF-8") from error

    def document(self) -> dict[str, Any]:
        """The message, in the form of one that was not streamed.

        Raises `InvalidReply` if the stream ended before the message did.
        """
        reason = None if self.message is None else finish_word(self.message.get("stop_reason"))
        if not self.stopped or self.message is None or reason is None:
            raise InvalidReply(
                "stream_broken",
                f"the stream ended before the reply did, after {self.characters} characters of "
                "text",
                "transient",
            )
        return {**self.message, "content": [block.whole(reason) for block in self.blocks]}

    # -- one event -------------------------------------------------------------------------

    def _take_event(self, data: str) -> str:
        if data.strip() == DONE:
            return ""
        event = piece_of(data)
        if not isinstance(event, dict):
            raise _malformed("an event of the stream is not a JSON object")
        kind = event.get("type")
        if kind == "error":
            if not event.get("error"):
                raise _malformed("an event says that there is an error, and not which")
            self._fail(event["error"])
            return ""
        if kind == "ping":
            return ""
        if self.stopped:
            raise _malformed("the stream goes on after message_stop")
        if kind == "message_start":
            self._start(event)
        elif self.message is None:
            raise _malformed("the stream does not begin with message_start")
        elif kind == "content_block_start":
            return self._begin_block(event)
        elif kind == "content_block_delta":
            return self._add_delta(event)
        elif kind == "content_block_stop":
            self._open_block(event).ended = True
        elif kind == "message_delta":
            self._update(self.message, event)
        elif kind == "message_stop":
            self.stopped = True
        return ""  # the vendor may add kinds of events

    def _fail(self, error: Any) -> None:
        """Record that a filter blocked the answer. Raises `InvalidReply` for any other error."""
        if not is_block(error):
            raise invalid_reply_of_error(error)
        refusal = {"type": "refusal", "explanation": message_of(error)}
        self.message = {**(self.message or {}), "stop_reason": "refusal", "stop_details": refusal}
        self.stopped = True

    def _start(self, event: dict[str, Any]) -> None:
        if self.message is not None:
            raise _malformed("the stream begins twice")
        self.message = dict(_require_object(event, "message"))

    def _begin_block(self, event: dict[str, Any]) -> str:
        content_block = _require_object(event, "content_block")
        if event.get("index") != len(self.blocks) or len(self.blocks) >= _MOST_BLOCKS:
            raise _malformed("a block of content is not the next one")
        block = _AnthropicBlock(content_block)
        self.blocks.append(block)
        self.calls += content_block.get("type") == "tool_use"
        require_few_calls(self.calls)
        return (
            self._add_text(block, content_block.get("text"))
            if content_block.get("type") == "text"
            else ""
        )

    def _add_delta(self, event: dict[str, Any]) -> str:
        block, delta = self._open_block(event), _require_object(event, "delta")
        if delta.get("type") == "text_delta":
            return self._add_text(block, delta.get("text"))
        if delta.get("type") == "input_json_delta":
            if not isinstance(piece := delta.get("partial_json"), str):
                raise _malformed("a piece of a tool's input is not text")
            block.json.append(piece)
        return ""  # thoughts and signatures stay in the raw bytes only

    def _add_text(self, block: _AnthropicBlock, text: Any) -> str:
        if not isinstance(text, str) or block.opening.get("type") != "text":
            raise _malformed("a piece of text is not text, or not in a block of text")
        block.text.append(text)
        self.characters += len(text)
        return text

    def _open_block(self, event: dict[str, Any]) -> _AnthropicBlock:
        index = event.get("index")
        if not isinstance(index, int) or not 0 <= index < len(self.blocks):
            raise _malformed("an event is about a block of content that there is not")
        block = self.blocks[index]
        if block.ended:
            raise _malformed("a block of content goes on after its end")
        return block

    def _update(self, message: dict[str, Any], event: dict[str, Any]) -> None:
        """Update the message by an event: the worst `stop_reason` and the latest token counts."""
        before, delta = finish_word(message.get("stop_reason")), _require_object(event, "delta")
        reason = worse(before, finish_word(delta.get("stop_reason")))
        message |= {**delta, "stop_reason": reason}
        used = event.get("usage")
        if isinstance(used, dict):
            before = message.get("usage")
            counts = {name: count for name, count in used.items() if count is not None}
            message["usage"] = {**(before if isinstance(before, dict) else {}), **counts}


def _require_object(event: dict[str, Any], name: str) -> dict[str, Any]:
    value = event.get(name)
    if not isinstance(value, dict):
        raise _malformed(f"`{name}` of an event is not a JSON object")
    return value


def _malformed(message: str) -> InvalidReply:
    return InvalidReply("malformed_response", message, "transient")
