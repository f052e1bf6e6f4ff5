"""Parses replies of OpenAI-compatible servers into an `Answer` or a `ModelError`.

Pure: bytes in, result out.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from failproof_es.core.finish_reasons import CONTENT_FILTER, Meaning, meaning_of
from failproof_es.events import ToolCall
from failproof_es.models.http_reply import (
    HttpReply,
    InvalidReply,
    invalid_reply_of_error,
    name_or_none,
    read_document,
    reason_or_none,
    require_few_calls,
    require_no_error,
    require_said,
    text_or_none,
)
from failproof_es.models.protocol import Answer
from failproof_es.models.replies.half_characters import join_all_halves
from failproof_es.models.replies.openai_family import (
    arguments_of,
    is_block,
    message_of,
    request_id,
    text_of,
    usage_of,
    withheld,
    withheld_answer,
)


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
        return _answer(reply, join_all_halves(stream.document()))
    except InvalidReply as flaw:
        raise reply.error(flaw) from None


def _answer(reply: HttpReply, document: Any) -> Answer:
    """Raises `InvalidReply`."""
    if isinstance(document, dict) and is_block(blocked := document.get("error")):
        return withheld_answer(reply, message_of(blocked))
    document = require_no_error(document)
    choice = _first_choice(document.get("choices"))
    if (error := choice.get("error")) and not is_block(error):
        raise invalid_reply_of_error(error)
    reason = CONTENT_FILTER if error else reason_or_none(choice.get("finish_reason"))
    message = choice.get("message")
    if message is None and reason is not None and "text" not in choice:
        message = {}  # what the reason says is all that there is
    if not isinstance(message, dict):
        raise InvalidReply("malformed_response", "the first choice holds no message", "transient")
    refusal = message_of(error) or text_or_none(message.get("refusal"))
    text = text_of(message.get("content"))
    tool_calls = _tool_calls(message.get("tool_calls"), meaning_of(reason))
    has_more = refusal is not None or bool(tool_calls)
    if text is None and not has_more and not isinstance(message.get("content"), list | None):
        raise InvalidReply("missing_content", "the content is no text", "transient")
    require_said(reason, text, more=has_more)
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=text or "",
        latency_ms=reply.latency_ms,
        finish_reason=reason,
        refusal=refusal,
        tool_calls=tool_calls,
        model=name_or_none(document.get("model")),
        provider_request_id=request_id(reply.headers) or name_or_none(document.get("id")),
        usage=usage_of(document.get("usage"), "prompt_tokens", "completion_tokens"),
        first_token_ms=reply.first_token_ms,
    )


def _first_choice(choices: Any) -> dict[str, Any]:
    """The choice of index 0, wherever it stands; the first one where none says that it is."""
    if not isinstance(choices, list) or not choices:
        raise InvalidReply("empty_choices", "the reply holds no choice", "transient")
    numbered = (each for each in choices if isinstance(each, dict) and each.get("index") == 0)
    choice = next(numbered, choices[0])
    if not isinstance(choice, dict):
        raise InvalidReply("malformed_response", "the first choice holds no message", "transient")
    return choice


def _tool_calls(value: Any, ended: Meaning) -> tuple[ToolCall, ...]:
    """The calls that the model wants made, their arguments as it wrote them.

    Of an answer that is not at its end a call may be half: it is left out, and stands in the raw
    bytes. Raises `InvalidReply`.
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidReply("malformed_response", "`tool_calls` is not a list", "transient")
    require_few_calls(len(value))
    if ended in ("complete", "tool_call"):
        return tuple(map(_tool_call, value))
    return tuple(call for call in map(_call_or_none, value) if call is not None)


def _call_or_none(value: Any) -> ToolCall | None:
    try:
        return _tool_call(value)
    except InvalidReply:
        return None


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
