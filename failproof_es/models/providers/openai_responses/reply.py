"""Reads replies of the Responses API, whole or as events. Pure: bytes in, an answer out.

A response has a status: `completed`, `incomplete` (with a reason) or `failed`. A stream is an
answer once one of the first two has arrived. A stream that ends earlier is a `ModelError` with all
received bytes, never half an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from failproof_es.core.finish_reasons import STOP, TOOL_CALLS, common_word
from failproof_es.events import ToolCall
from failproof_es.models.http_reply import (
    HttpReply,
    InvalidReply,
    invalid_reply_of_error,
    piece_of,
    require_no_error,
)
from failproof_es.models.protocol import MOST_TOOL_CALLS, Answer
from failproof_es.models.replies.content_parts import Content, read_content
from failproof_es.models.replies.event_stream import DONE, EventStream
from failproof_es.models.replies.openai_family import (
    is_block,
    message_of,
    request_id,
    usage_of,
    withheld_answer,
)
from failproof_es.models.reply_fields import (
    name_or_none,
    reason_or_none,
    require_few_calls,
    require_readable,
)

_INCOMPLETE = "incomplete"
"""The status of a response that was cut off; also its finish reason if it gives none."""
_ENDINGS = ("completed", _INCOMPLETE, "failed")
"""The statuses of a response that has ended, worst last."""
_ENDED = tuple(f"response.{status}" for status in _ENDINGS)
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The types of items that are tool calls, and their fields with the arguments."""
_FINAL = "final_answer"
"""The phase of a message that is the answer; others are commentary."""
_BETWEEN_MESSAGES = "\n\n"
_MOST_ITEMS = 10 * MOST_TOOL_CALLS


def answer_of(reply: HttpReply, document: Any) -> Answer:
    """The answer in a response, the reply's parsed JSON. Raises `InvalidReply` if it holds none.

    A block by a filter is an answer without text.
    """
    if isinstance(document, dict) and is_block(blocked := document.get("error")):
        return replace(
            withheld_answer(reply, message_of(blocked)),
            model=name_or_none(document.get("model")),
            usage=usage_of(document.get("usage"), "input_tokens", "output_tokens"),
        )
    document = require_no_error(document)
    status, items = document.get("status"), document.get("output")
    if status == "failed":
        raise InvalidReply("provider_error", "the response failed, and says no more", "transient")
    if status not in ("completed", _INCOMPLETE):
        raise _malformed(f"the response is not at its end: its status is {status!r:.80}")
    if items is None and status == _INCOMPLETE:
        items = []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _malformed("`output` is not a list of items")
    if not items and status != _INCOMPLETE:
        raise InvalidReply("missing_content", "the response holds no item", "transient")
    messages = [item for item in items if item.get("type") == "message"]
    finals = [item for item in messages if item.get("phase") == _FINAL]
    contents = [read_content(_content_parts(item)) for item in finals or messages]
    content = _join_contents(contents)
    calls = [item for item in items if str(item.get("type")) in _CALLS]
    require_few_calls(len(calls))
    reason = TOOL_CALLS if calls else STOP
    if status == _INCOMPLETE:
        reason = _incomplete_reason(document)
    elif any(item.get("status") == _INCOMPLETE for item in messages):
        reason = _INCOMPLETE
    require_readable(content, reason, more=content.refusal is not None or bool(calls))
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=content.text or "",
        library_text=_library_text(messages),
        latency_ms=reply.latency_ms,
        finish_reason=reason,
        refusal=content.refusal or None,
        tool_calls=tuple(map(_tool_call, calls)),
        model=name_or_none(document.get("model")),
        provider_request_id=request_id(reply.headers) or name_or_none(document.get("id")),
        usage=usage_of(document.get("usage"), "input_tokens", "output_tokens"),
        first_token_ms=reply.first_token_ms,
    )


def _join_contents(contents: list[Content]) -> Content:
    """The contents of several messages as one, with a blank line between their texts."""
    texts = [content.text for content in contents if content.text is not None]
    refusals = [content.refusal for content in contents if content.refusal is not None]
    return Content(
        _BETWEEN_MESSAGES.join(filter(None, texts)) if texts else None,
        "".join(refusals) if refusals else None,
        any(content.is_damaged for content in contents),
        any(content.has_other_parts for content in contents),
    )


def _library_text(messages: list[dict[str, Any]]) -> str:
    """All texts joined with nothing between them: `output_text` of the package `openai`."""
    return "".join(read_content(_content_parts(item)).text or "" for item in messages)


def _incomplete_reason(document: dict[str, Any]) -> str:
    details = document.get("incomplete_details")
    reason = reason_or_none(details.get("reason")) if isinstance(details, dict) else None
    return _INCOMPLETE if reason is None else common_word(reason)


def _content_parts(item: dict[str, Any]) -> list[Any]:
    content = item.get("content")
    if not isinstance(content, list | str):
        raise _malformed("`content` of a message is not a list of parts")
    return content if isinstance(content, list) else [content]


def _tool_call(item: dict[str, Any]) -> ToolCall:
    name, arguments = item.get("name"), item.get(_CALLS[item["type"]])
    if not isinstance(name, str) or not name or not isinstance(arguments, str):
        raise _malformed("a function call lacks its name or its arguments")
    return ToolCall(id=name_or_none(item.get("call_id")), name=name, arguments=arguments)


@dataclass(slots=True)
class StreamedResponse:
    """Assembles a streamed response: feed all pieces, then call `document`."""

    events: EventStream = field(default_factory=EventStream)
    characters: int = 0
    items: list[Any] = field(default_factory=list)
    response: dict[str, Any] | None = None
    is_blocked: bool = False
    """Whether an event said that a filter blocked the answer; `response.failed` may follow it."""

    def feed(self, piece: bytes) -> str:
        """Take the next bytes of the body; return the answer's text in them.

        Raises `InvalidReply` if the stream is malformed or reports an error.
        """
        try:
            return "".join([self._take_event(data) for data in self.events.feed(piece)])
        except UnicodeDecodeError as error:
            raise _malformed("the stream is not UTF-8") from error

    def document(self) -> dict[str, Any]:
        """The response, in the form of one that was not streamed.

        Raises `InvalidReply` if the stream ended before the response did.
        """
        if self.response is None:
            raise InvalidReply(
                "stream_broken",
                f"the stream ended before the reply did, after {self.characters} characters of "
                "text",
                "transient",
            )
        return self.response if self.response.get("output") else {
            **self.response, "output": self.items,
        }  # fmt: skip

    def _take_event(self, data: str) -> str:
        if self.is_blocked or data.strip() == DONE:
            return ""
        event = piece_of(data)
        if not isinstance(event, dict):
            raise _malformed("an event of the stream is not a JSON object")
        kind = event.get("type")
        if kind == "error":
            self._fail(event.get("error") or event)
            return ""
        if self.response is not None:
            raise _malformed("the stream goes on after the response has ended")
        if kind in _ENDED:
            response = event.get("response")
            if not isinstance(response, dict):
                raise _malformed("the last event holds no response")
            self.response = _with_worse_status(kind, response)
        elif kind == "response.output_item.done":
            if len(self.items) >= _MOST_ITEMS:
                raise _malformed(f"the response has more than {_MOST_ITEMS} items")
            self.items.append(event.get("item"))
        elif kind == "response.output_text.delta":
            if not isinstance(delta := event.get("delta"), str):
                raise _malformed("a piece of text is not text")
            self.characters += len(delta)
            return delta
        return ""  # the last event repeats the content of the others

    def _fail(self, error: Any) -> None:
        """Record that a filter blocked the answer. Raises `InvalidReply` for any other error."""
        if not is_block(error):
            raise invalid_reply_of_error(error)
        self.response, self.is_blocked = {"error": error}, True


def _with_worse_status(kind: str, response: dict[str, Any]) -> dict[str, Any]:
    """The response with the worse of two statuses: its own, and that in `kind`, its event's
    type."""
    status, own = kind.removeprefix("response."), response.get("status")
    if own is None or (own in _ENDINGS and _ENDINGS.index(status) > _ENDINGS.index(own)):
        return {**response, "status": status}
    return response


def _malformed(message: str) -> InvalidReply:
    return InvalidReply("malformed_response", message, "transient")
