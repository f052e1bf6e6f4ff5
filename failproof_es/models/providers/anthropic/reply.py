"""Parses replies of Anthropic's Messages API into an `Answer` or a `ModelError`. Pure."""

from __future__ import annotations

from typing import Any

from failproof_es.core.finish_reasons import common_word
from failproof_es.events import ToolCall, Usage
from failproof_es.models.http_reply import HttpReply, InvalidReply, json_text, require_no_error
from failproof_es.models.protocol import Answer
from failproof_es.models.replies.content_parts import read_content
from failproof_es.models.replies.openai_family import is_block, message_of, withheld_answer
from failproof_es.models.reply_fields import (
    CutInput,
    count_or_none,
    name_or_none,
    reason_or_none,
    require_few_calls,
    require_readable,
    require_said,
    text_or_none,
)


def answer_of(reply: HttpReply, document: Any) -> Answer:
    """The answer in a message, the reply's parsed JSON. Raises `InvalidReply` if it holds none."""
    if isinstance(document, dict) and is_block(blocked := document.get("error")):
        return withheld_answer(reply, message_of(blocked))
    document = require_no_error(document)
    reason = reason_or_none(document.get("stop_reason"))
    blocks = document.get("content")
    if blocks is None and reason is not None:
        blocks = []  # the reply holds only its reason
    if not isinstance(blocks, list | str):
        raise InvalidReply("malformed_response", "`content` is not a list of blocks", "transient")
    content = read_content(blocks)
    uses = [
        block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
    require_few_calls(len(uses))
    calls = tuple(map(_tool_call, uses))
    refusal = _refusal_reason(document.get("stop_details")) or content.refusal
    has_more = refusal is not None or bool(calls)
    require_readable(content, reason, more=has_more)
    text = content.text
    require_said(reason, text, more=has_more)
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text=text or "",
        latency_ms=reply.latency_ms,
        finish_reason=None if reason is None else common_word(reason),
        refusal=refusal,
        tool_calls=calls,
        model=name_or_none(document.get("model")),
        provider_request_id=reply.headers.get("request-id") or name_or_none(document.get("id")),
        usage=_usage(document.get("usage")),
        first_token_ms=reply.first_token_ms,
    )


def _refusal_reason(refusal: Any) -> str | None:
    """The explanation of a refusal, or else its policy category; `None` if there is no refusal."""
    if not isinstance(refusal, dict) or refusal.get("type") != "refusal":
        return None
    return text_or_none(refusal.get("explanation")) or text_or_none(refusal.get("category"))


def _tool_call(block: dict[str, Any]) -> ToolCall:
    name, tool_input = block.get("name"), block.get("input")
    if isinstance(tool_input, CutInput):
        arguments = tool_input.text
    elif isinstance(tool_input, dict):
        arguments = json_text(tool_input)
    else:
        arguments = None
    if not isinstance(name, str) or arguments is None:
        raise InvalidReply("malformed_response", "a tool call has no name or no input", "transient")
    return ToolCall(id=name_or_none(block.get("id")), name=name, arguments=arguments)


def _usage(usage: Any) -> Usage:
    """The token counts of a message.

    Input includes cache reads and cache writes; output includes thoughts.
    """
    if not isinstance(usage, dict):
        return Usage()
    fresh = count_or_none(usage.get("input_tokens"))
    read = count_or_none(usage.get("cache_read_input_tokens")) or 0
    cache_writes = count_or_none(usage.get("cache_creation_input_tokens")) or 0
    cache_creation = usage.get("cache_creation")
    hour = count_or_none(
        cache_creation.get("ephemeral_1h_input_tokens")
        if isinstance(cache_creation, dict)
        else None
    )
    parts, output = usage.get("output_tokens_details"), count_or_none(usage.get("output_tokens"))
    thoughts = count_or_none(parts.get("thinking_tokens") if isinstance(parts, dict) else None)
    return Usage(
        input_tokens=None if fresh is None else fresh + read + cache_writes,
        output_tokens=output,
        reasoning_tokens=None if (thoughts or 0) > (output or 0) else thoughts,
        cached_input_tokens=read,
        cache_write_tokens=cache_writes,
        cache_write_1h_tokens=None if (hour or 0) > cache_writes else hour,
    )
