"""Parses replies of Anthropic's Messages API into an `Answer` or a `ModelError`. Pure."""

from __future__ import annotations

from functools import partial
from typing import Any

from failproof_es.events import ToolCall, Usage
from failproof_es.models.anthropic.stream import StreamedMessage
from failproof_es.models.http_reply import (
    HttpReply,
    InvalidReply,
    count_or_none,
    json_text,
    name_or_none,
    read_document,
    require_few_calls,
    require_no_error,
    text_or_none,
)
from failproof_es.models.protocol import Answer

_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
"""In the words that the other protocols use; one that is not known stays as it is."""


def read_reply(reply: HttpReply) -> Answer:
    """The answer in a complete HTTP reply. Raises `ModelError` for everything else."""
    return read_document(reply, partial(_answer, reply))


def read_streamed(reply: HttpReply, stream: StreamedMessage) -> Answer:
    """The answer in a stream that has ended. Raises `ModelError` for everything else."""
    try:
        return _answer(reply, stream.document())
    except InvalidReply as flaw:
        raise reply.error(flaw) from None


def _answer(reply: HttpReply, document: Any) -> Answer:
    """Raises `InvalidReply`."""
    document = require_no_error(document)
    content = document.get("content")
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise InvalidReply("malformed_response", "`content` is not a list of blocks", "transient")
    texts = [block.get("text") for block in content if block.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidReply("malformed_response", "a text block holds no text", "transient")
    uses = [block for block in content if block.get("type") == "tool_use"]
    require_few_calls(len(uses))
    calls = tuple(map(_call, uses))
    reason = name_or_none(document.get("stop_reason"))
    if not texts and not calls and reason != "refusal":
        raise InvalidReply("missing_content", "the message has no text", "transient")
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text="".join(str(text) for text in texts),
        latency_ms=reply.latency_ms,
        finish_reason=None if reason is None else _FINISH_REASONS.get(reason, reason),
        refusal=_said_of(document.get("stop_details")),
        tool_calls=calls,
        model=name_or_none(document.get("model")),
        provider_request_id=reply.headers.get("request-id") or name_or_none(document.get("id")),
        usage=_usage(document.get("usage")),
        first_token_ms=reply.first_token_ms,
    )


def _said_of(refusal: Any) -> str | None:
    """What is said of a refusal: an explanation, or else which policy it is of."""
    if not isinstance(refusal, dict) or refusal.get("type") != "refusal":
        return None
    return text_or_none(refusal.get("explanation")) or text_or_none(refusal.get("category"))


def _call(block: dict[str, Any]) -> ToolCall:
    name, given = block.get("name"), block.get("input")
    if not isinstance(name, str) or not isinstance(given, dict):
        raise InvalidReply("malformed_response", "a tool call has no name or no input", "transient")
    return ToolCall(id=name_or_none(block.get("id")), name=name, arguments=json_text(given))


def _usage(usage: Any) -> Usage:
    """Input counts what was read from a cache and written to one, as everywhere else.

    Thoughts are among the tokens that were answered.
    """
    if not isinstance(usage, dict):
        return Usage()
    fresh = count_or_none(usage.get("input_tokens"))
    read = count_or_none(usage.get("cache_read_input_tokens")) or 0
    written = count_or_none(usage.get("cache_creation_input_tokens")) or 0
    kept = usage.get("cache_creation")
    hour = count_or_none(kept.get("ephemeral_1h_input_tokens") if isinstance(kept, dict) else None)
    parts, said = usage.get("output_tokens_details"), count_or_none(usage.get("output_tokens"))
    thoughts = count_or_none(parts.get("thinking_tokens") if isinstance(parts, dict) else None)
    return Usage(
        input_tokens=None if fresh is None else fresh + read + written,
        output_tokens=said,
        reasoning_tokens=None if (thoughts or 0) > (said or 0) else thoughts,
        cached_input_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=None if (hour or 0) > written else hour,
    )
