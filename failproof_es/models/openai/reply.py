"""Parses replies of OpenAI-compatible servers into an `Answer` or a `ModelError`.

Pure: bytes in, result out.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from failproof_es.events import ToolCall
from failproof_es.models.http_reply import (
    HttpReply,
    InvalidReply,
    invalid_reply_of_error,
    name_or_none,
    read_document,
    require_few_calls,
    require_no_error,
    text_or_none,
)
from failproof_es.models.protocol import Answer
from failproof_es.models.replies.openai_family import (
    arguments_of,
    request_id,
    text_of,
    usage_of,
    withheld,
)

_FAILED = "error"
"""The finish reason of an answer that broke, where vendors of this family have one."""


class StreamedDocument(Protocol):
    """A stream that has come to its end."""

    def document(self) -> dict[str, Any]:
        """The reply as one JSON object. Raises `InvalidReply`."""


def read_reply(reply: HttpReply) -> Answer:
    """The answer in a complete HTTP reply. Raises `ModelError` for everything else."""
    blocked = withheld(reply)
    return read_document(reply, partial(_answer, reply)) if blocked is None else blocked


def read_streamed(reply: HttpReply, stream: StreamedDocument) -> Answer:
    """The answer in a stream that has ended. Raises `ModelError` for everything else."""
    try:
        return _answer(reply, stream.document())
    except InvalidReply as flaw:
        raise reply.error(flaw) from None


def _answer(reply: HttpReply, document: Any) -> Answer:
    """Raises `InvalidReply`."""
    document = require_no_error(document)
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise InvalidReply("empty_choices", "the reply holds no choice", "transient")
    if isinstance(choices[0], dict) and choices[0].get("error"):
        raise invalid_reply_of_error(choices[0]["error"])
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise InvalidReply("malformed_response", "the first choice holds no message", "transient")
    reason = name_or_none(choices[0].get("finish_reason"))
    if reason == _FAILED:
        raise InvalidReply("provider_error", "the answer was broken off by an error", "transient")
    refusal = text_or_none(message.get("refusal"))
    text = text_of(message.get("content"))
    tool_calls = _tool_calls(message.get("tool_calls"))
    if text is None:
        if refusal is None and not tool_calls:
            raise InvalidReply("missing_content", "the message has no content", "transient")
        text = ""
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=text,
        latency_ms=reply.latency_ms,
        finish_reason=reason,
        refusal=refusal,
        tool_calls=tool_calls,
        model=name_or_none(document.get("model")),
        provider_request_id=request_id(reply.headers) or name_or_none(document.get("id")),
        usage=usage_of(document.get("usage"), "prompt_tokens", "completion_tokens"),
        first_token_ms=reply.first_token_ms,
    )


def _tool_calls(value: Any) -> tuple[ToolCall, ...]:
    """The calls that the model wants made, their arguments as it wrote them. Raises
    `InvalidReply`."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidReply("malformed_response", "`tool_calls` is not a list", "transient")
    require_few_calls(len(value))
    return tuple(_tool_call(each) for each in value)


def _tool_call(value: Any) -> ToolCall:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict):
        raise InvalidReply("malformed_response", "a tool call holds no function", "transient")
    name, arguments = function.get("name"), arguments_of(function)
    if not isinstance(name, str) or not name or not isinstance(arguments, str):
        raise InvalidReply(
            "malformed_response", "a tool call lacks its name or its arguments", "transient"
        )
    return ToolCall(id=name_or_none(value.get("id")), name=name, arguments=arguments)
