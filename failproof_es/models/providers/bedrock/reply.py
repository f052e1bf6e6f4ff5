"""Reads replies of the Converse API, whole or as frames. Pure: bytes in, an answer out.

A stream is an answer once `messageStop` has arrived. A stream that ends earlier, holds an exception
or is unreadable is a `ModelError` with all received bytes, never half an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from failproof_es.core.finish_reasons import common_word
from failproof_es.events import Disposition, ToolCall, Usage
from failproof_es.models.http_reply import HttpReply, InvalidReply, document_of, json_text, piece_of
from failproof_es.models.protocol import MOST_TOOL_CALLS, Answer, ModelError
from failproof_es.models.providers.bedrock.frames import BrokenFrame, Frame, FrameStream
from failproof_es.models.replies.content_parts import read_content
from failproof_es.models.replies.openai_family import is_block, message_of, withheld_answer
from failproof_es.models.reply_fields import (
    CutInput,
    count_or_none,
    input_of,
    name_or_none,
    reason_or_none,
    require_few_calls,
    require_readable,
    require_said,
)

_EXCEPTIONS: dict[str, tuple[str, Disposition]] = {
    "throttlingException": ("rate_limited", "deferred"),
    "serviceUnavailableException": ("server_error", "transient"),
    "internalServerException": ("server_error", "transient"),
    "modelStreamErrorException": ("server_error", "transient"),
    "modelTimeoutException": ("timeout", "transient"),
}
"""Exceptions within a stream; any other one is final."""
_CONTENT = frozenset(
    {"contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStart", "messageStop"}
)
"""Kinds of events that must not follow the end of the message."""
_MOST_BLOCKS = 10 * MOST_TOOL_CALLS


def answer_of(reply: HttpReply, document: Any) -> Answer:
    """The answer in a response, the reply's parsed JSON. Raises `InvalidReply` if it holds none."""
    if not isinstance(document, dict):
        raise _malformed("the reply is not a JSON object")
    output = document.get("output")
    if output is None and is_block(document):
        return withheld_answer(reply, message_of(document))
    if output is None and isinstance(error_message := document.get("message"), str):
        raise InvalidReply("provider_error", error_message, "final")
    reason = reason_or_none(document.get("stopReason"))
    message = output.get("message") if isinstance(output, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if content is None and reason is not None:
        content = []  # the reply holds only its reason
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise _malformed("the reply holds no message with a list of blocks")
    answer_content = read_content([part for block in content for part in _content_parts(block)])
    uses = [block["toolUse"] for block in content if "toolUse" in block]
    require_few_calls(len(uses))
    require_readable(answer_content, reason, more=bool(uses))
    text = answer_content.text
    require_said(reason, text, more=bool(uses))
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=text or "",
        latency_ms=reply.latency_ms,
        finish_reason=None if reason is None else common_word(reason),
        refusal=message_of(document),
        tool_calls=tuple(map(_tool_call, uses)),
        model=_routed_model(document.get("trace")),
        provider_request_id=reply.headers.get("x-amzn-requestid"),
        usage=_usage(document.get("usage")),
        first_token_ms=reply.first_token_ms,
    )


def as_aws_means(error: ModelError) -> ModelError:
    """The same error, its kind and disposition changed to AWS's meaning of the HTTP status."""
    if error.status == 403 and error.kind == "bad_request":
        error.kind, error.disposition = "authentication", "halting"
    elif error.status == 424:  # the model failed, not the request
        error.kind, error.disposition = "server_error", "transient"
    return error


def _routed_model(trace: Any) -> str | None:
    """The model that a prompt router chose; no other answer names its model."""
    router = trace.get("promptRouter") if isinstance(trace, dict) else None
    return name_or_none(router.get("invokedModelId")) if isinstance(router, dict) else None


def _content_parts(block: dict[str, Any]) -> list[Any]:
    """The block itself, or the parts of its `citationsContent`.

    Raises `InvalidReply` if that is not a list of objects.
    """
    if "citationsContent" not in block:
        return [block]
    cited = block["citationsContent"]
    parts = cited.get("content", []) if isinstance(cited, dict) else None
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise _malformed("`citationsContent` of a block is not a list of parts")
    return parts


def _tool_call(value: Any) -> ToolCall:
    name, tool_input = (
        (value.get("name"), value.get("input")) if isinstance(value, dict) else (0, 0)
    )
    if not isinstance(name, str) or not name or not isinstance(tool_input, dict | CutInput):
        raise _malformed("a tool call has no name or no input")
    arguments = tool_input.text if isinstance(tool_input, CutInput) else json_text(tool_input)
    return ToolCall(id=name_or_none(value.get("toolUseId")), name=name, arguments=arguments)


def _usage(usage: Any) -> Usage:
    """The token counts. Input includes cache reads and cache writes."""
    if not isinstance(usage, dict):
        return Usage()
    fresh = count_or_none(usage.get("inputTokens"))
    read = count_or_none(usage.get("cacheReadInputTokens")) or 0
    cache_writes = count_or_none(usage.get("cacheWriteInputTokens")) or 0
    hour = _hour_cache_writes(usage.get("cacheDetails"))
    return Usage(
        input_tokens=None if fresh is None else fresh + read + cache_writes,
        output_tokens=count_or_none(usage.get("outputTokens")),
        cached_input_tokens=read,
        cache_write_tokens=cache_writes,
        cache_write_1h_tokens=None if (hour or 0) > cache_writes else hour,
    )


def _hour_cache_writes(details: Any) -> int | None:
    """Tokens written to a cache that is kept for an hour; `None` if unknown."""
    if not isinstance(details, list) or not details:
        return None
    hour_details = [
        detail for detail in details if isinstance(detail, dict) and detail.get("ttl") == "1h"
    ]
    return sum(count_or_none(detail.get("inputTokens")) or 0 for detail in hour_details)


# -- streams ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _BedrockBlock:
    """A content block that arrives in pieces."""

    use: dict[str, Any] | None = None
    text: list[str] = field(default_factory=list)
    input: list[str] = field(default_factory=list)

    def whole(self, reason: Any) -> dict[str, Any]:
        """The block as in a reply that was not streamed, with this `stopReason`.

        Raises `InvalidReply` if a tool's input is not JSON although the answer is complete.
        """
        if self.use is not None:
            input_json = "".join(self.input) or "{}"
            return {"toolUse": {**self.use, "input": input_of(input_json, reason)}}
        return {"text": "".join(self.text)} if self.text else {}


@dataclass(slots=True)
class StreamedConversation:
    """Assembles a streamed reply: feed all pieces, then call `document`."""

    frames: FrameStream = field(default_factory=FrameStream)
    blocks: dict[int, _BedrockBlock] = field(default_factory=dict)
    stop: dict[str, Any] | None = None
    about: dict[str, Any] = field(default_factory=dict)
    characters: int = 0

    def feed(self, piece: bytes) -> str:
        """Take the next bytes of the body; return the answer's text in them.

        Raises `InvalidReply` if the stream is malformed or reports an exception.
        """
        try:
            return "".join([self._take_frame(frame) for frame in self.frames.feed(piece)])
        except BrokenFrame as error:
            raise _malformed(str(error)) from None

    def document(self) -> dict[str, Any]:
        """The reply, in the form of one that was not streamed.

        Raises `InvalidReply` if the stream ended before the reply did.
        """
        if self.stop is None:
            raise InvalidReply(
                "stream_broken",
                f"the stream ended before the reply did, after {self.characters} characters of "
                "text",
                "transient",
            )
        reason = self.stop.get("stopReason")
        content = [block.whole(reason) for _, block in sorted(self.blocks.items())]
        return {**self.about, **self.stop, "output": {"message": {"content": content}}}

    def _take_frame(self, frame: Frame) -> str:
        kind = frame.headers.get(":event-type", "")
        if frame.headers.get(":message-type") != "event":
            self._fail(frame)
            return ""
        event = piece_of(frame.payload)
        if not isinstance(event, dict):
            raise _malformed("an event of the stream is not a JSON object")
        if kind == "metadata":
            self.about |= event
        elif kind not in _CONTENT:
            pass  # the vendor may add kinds of events
        elif self.stop is not None:
            raise _malformed("the stream goes on after messageStop")
        elif kind == "messageStop":
            self.stop = event
        elif kind == "contentBlockStart":
            start = event.get("start")
            if isinstance(start, dict) and isinstance(start.get("toolUse"), dict):
                self._block_of(event).use = start["toolUse"]
        elif kind == "contentBlockDelta":
            return self._add_delta(event)
        return ""

    def _fail(self, frame: Frame) -> None:
        """Record that a filter blocked the answer. Raises `InvalidReply` for another exception."""
        message = _exception_message(frame)
        if not is_block({"message": message}):
            raise _exception_flaw(frame, message)
        self.stop = {"stopReason": "content_filtered", "message": message}

    def _add_delta(self, event: dict[str, Any]) -> str:
        block, delta = self._block_of(event), event.get("delta")
        if not isinstance(delta, dict):
            raise _malformed("`delta` is not a JSON object")
        if "toolUse" in delta:
            use = delta["toolUse"]
            if not isinstance(use, dict) or not isinstance(piece := use.get("input"), str):
                raise _malformed("a piece of a tool's input is not text")
            block.input.append(piece)
        if "text" not in delta:
            return ""
        if not isinstance(text := delta["text"], str):
            raise _malformed("a piece of text is not text")
        block.text.append(text)
        self.characters += len(text)
        return text

    def _block_of(self, event: dict[str, Any]) -> _BedrockBlock:
        index = event.get("contentBlockIndex")
        if not isinstance(index, int) or not 0 <= index < _MOST_BLOCKS:
            raise _malformed("an event is about a block of content that there can't be")
        return self.blocks.setdefault(index, _BedrockBlock())


def _exception_message(frame: Frame) -> str:
    try:
        message = message_of(document_of(frame.payload))
    except InvalidReply:
        message = None
    return frame.headers.get(":error-message", "") if message is None else message


def _exception_flaw(frame: Frame, detail: str) -> InvalidReply:
    """The flaw for an exception frame with the message `detail`."""
    word = frame.headers.get(":exception-type") or frame.headers.get(":error-code") or ""
    kind, disposition = _EXCEPTIONS.get(word, ("provider_error", "final"))
    return InvalidReply(kind, f"{word}: {detail}" if detail else word, disposition)


def _malformed(message: str) -> InvalidReply:
    return InvalidReply("malformed_response", message, "transient")
