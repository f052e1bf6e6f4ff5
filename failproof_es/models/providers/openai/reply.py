"""Parses replies of OpenAI-compatible servers into an `Answer` or a `ModelError`.

Pure: bytes in, result out.
"""

from __future__ import annotations

from typing import Any

from failproof_es.core.finish_reasons import CONTENT_FILTER, Meaning, meaning_of
from failproof_es.events import ToolCall
from failproof_es.models.http_reply import (
    HttpReply,
    InvalidReply,
    invalid_reply_of_error,
    require_no_error,
)
from failproof_es.models.protocol import Answer
from failproof_es.models.replies.content_parts import read_content
from failproof_es.models.replies.openai_family import (
    call_of,
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
    require_said,
    text_or_none,
)


def answer_of(reply: HttpReply, document: Any) -> Answer:
    """The answer in a reply's parsed JSON. Raises `InvalidReply` if it holds none."""
    if isinstance(document, dict) and is_block(blocked := document.get("error")):
        return withheld_answer(reply, message_of(blocked))
    document = require_no_error(document)
    choice = _first_choice(document.get("choices"))
    if (error := choice.get("error")) and not is_block(error):
        raise invalid_reply_of_error(error)
    reason = CONTENT_FILTER if error else reason_or_none(choice.get("finish_reason"))
    message = _message(choice, reason)
    content = read_content(message.get("content"))
    refusals = (text_or_none(message.get("refusal")), text_or_none(content.refusal))
    refusal = message_of(error) or "\n".join(filter(None, dict.fromkeys(refusals))) or None
    tool_calls = _tool_calls(_raw_calls(message), meaning_of(reason))
    has_more = refusal is not None or bool(tool_calls)
    require_readable(content, reason, more=has_more)
    text = content.text
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


def _message(choice: dict[str, Any], reason: str | None) -> dict[str, Any]:
    """The message of a choice; for a reply in the form of a text completion, its text as one.

    Raises `InvalidReply` if the choice has neither.
    """
    message = choice.get("message")
    if message is None and (reason is not None or isinstance(choice.get("text"), str)):
        return {"content": choice.get("text")}  # without a text the reply holds only its reason
    if not isinstance(message, dict):
        raise InvalidReply("malformed_response", "the first choice holds no message", "transient")
    return message


def _first_choice(choices: Any) -> dict[str, Any]:
    """The choice with index 0, at any place; without one, the first choice.

    Raises `InvalidReply` if there is no choice.
    """
    if not isinstance(choices, list) or not choices:
        raise InvalidReply("empty_choices", "the reply holds no choice", "transient")
    numbered = (
        choice for choice in choices if isinstance(choice, dict) and choice.get("index") == 0
    )
    choice = next(numbered, choices[0])
    if not isinstance(choice, dict):
        raise InvalidReply("malformed_response", "the first choice holds no message", "transient")
    return choice


def _raw_calls(message: dict[str, Any]) -> Any:
    """The message's tool calls as received; before 2023-11 the API had one `function_call`."""
    former = message.get("function_call")
    return message.get("tool_calls") or ([{"function": former}] if former else None)


def _tool_calls(value: Any, ended: Meaning) -> tuple[ToolCall, ...]:
    """The tool calls of the answer, with their arguments as the model wrote them.

    `ended` is the meaning of the finish reason. Raises `InvalidReply` for an unreadable call of a
    complete answer; if the answer was cut off, such a call is left out.
    """
    if not value:  # some servers write an empty text for no calls
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
    name, arguments = call_of(value)
    arguments = "" if arguments is None else arguments  # as in a stream without pieces of them
    if not isinstance(name, str) or not name or not isinstance(arguments, str):
        raise InvalidReply(
            "malformed_response", "a tool call lacks its name or its arguments", "transient"
        )
    return ToolCall(id=name_or_none(value.get("id")), name=name, arguments=arguments)
