"""Reads the common parts of OpenAI's protocols: token counts, filter blocks, tool calls. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from failproof_es.core.finish_reasons import CONTENT_FILTER
from failproof_es.events import Usage
from failproof_es.models.http_reply import (
    AnswerStream,
    HttpReply,
    InvalidReply,
    document_of,
    json_text,
    read_answer,
)
from failproof_es.models.protocol import Answer
from failproof_es.models.reply_fields import count_or_none

_RATE_LIMITED = 429
_CACHED = ("cached_tokens", "num_cached_tokens", "prompt_cache_hit_tokens")
"""Names of the tokens read from a cache at servers without `prompt_tokens_details`."""
_WITHHELD = frozenset(
    {
        *("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"),
        *("bio_policy", "image_content_policy_violation", "misalignment_policy_violation"),
    }
)
"""Error codes of a request that was blocked for its content."""
_FLAGGED = "invalid_prompt"
"""An error code of such a block only if the message names a policy."""
_BLOCK_SAID = re.compile(
    r"content management policy|responsible ?ai ?polic|content_?policy_?violation"
    r"|blocked by content filter",
    re.IGNORECASE,
)
"""The wording of a block in messages of gateways and vendors without an error code for it."""


def usage_of(usage: Any, input_name: str, output_name: str) -> Usage:
    """The token counts in the fields `input_name` and `output_name` of `usage`.

    Their parts are in `NAME_details`, or beside them. Parts that exceed the total count as unknown:
    the rest would have a negative price. Without an object `usage` all counts are unknown.
    """
    if not isinstance(usage, dict):
        return Usage()
    details, thoughts = (
        _as_object(usage.get(f"{name}_details")) for name in (input_name, output_name)
    )
    cached = _first_count(details.get("cached_tokens"), *map(usage.get, _CACHED))
    cache_writes = count_or_none(details.get("cache_write_tokens"))
    reasoning = _first_count(thoughts.get("reasoning_tokens"), usage.get("reasoning_tokens"))
    input_tokens = count_or_none(usage.get(input_name))
    output_tokens = _whole_output(
        usage, input_tokens, count_or_none(usage.get(output_name)), reasoning
    )
    if input_tokens is None or (cached or 0) + (cache_writes or 0) > input_tokens:
        cached = cache_writes = None
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_input_tokens=cached,
        cache_write_tokens=cache_writes,
        reasoning_tokens=None
        if output_tokens is None or (reasoning or 0) > output_tokens
        else reasoning,
    )


def _whole_output(
    usage: dict[str, Any],
    input_tokens: int | None,
    output_tokens: int | None,
    reasoning: int | None,
) -> int | None:
    """The output tokens with the thoughts, which two kinds of servers do not count among them.

    xAI and Gemini's compatible API count them in `total_tokens`, Perplexity beside it.
    """
    total = count_or_none(usage.get("total_tokens"))
    if input_tokens is None or output_tokens is None:
        return output_tokens
    if "citation_tokens" in usage:
        return count_or_none(output_tokens + (reasoning or 0))
    return output_tokens if total is None else max(output_tokens, total - input_tokens)


def _first_count(*values: Any) -> int | None:
    counts = (count_or_none(value) for value in values)
    return next((count for count in counts if count is not None), None)


def withheld(reply: HttpReply) -> Answer | None:
    """The answer for a 4xx reply that reports a block by a filter; `None` for any other reply.

    The answer has no text, and `content_filter` as its finish reason.
    """
    if not 400 <= reply.status < 500 or reply.status == _RATE_LIMITED:
        return None
    try:
        document = _as_object(document_of(reply.body))
        error = _as_object(document.get("error")) or document  # Bedrock's form
    except InvalidReply:
        return None
    return withheld_answer(reply, message_of(error)) if is_block(error) else None


def read_unless_withheld(
    reply: HttpReply, stream: AnswerStream | None, answer_of: Callable[[HttpReply, Any], Answer]
) -> Answer:
    """The answer by `read_answer`; a reply that reports a block by a filter is an answer, too."""
    blocked = withheld(reply)
    return read_answer(reply, stream, answer_of) if blocked is None else blocked


def is_block(error: Any) -> bool:
    """Whether an error reports that a filter blocked the request or the answer."""
    if not isinstance(error, dict):
        return False
    codes = (error.get("code"), _as_object(error.get("innererror")).get("code"))
    if any(isinstance(code, str) and code in _WITHHELD for code in codes):
        return True
    message = message_of(error) or ""
    return (codes[0] == _FLAGGED and "policy" in message) or bool(_BLOCK_SAID.search(message))


def message_of(error: Any) -> str | None:
    """The `message` of an error object; `None` without one."""
    message = _as_object(error).get("message")
    return message if isinstance(message, str) else None


def withheld_answer(reply: HttpReply, refusal: str | None) -> Answer:
    """An answer without text that a filter withheld.

    `refusal` is the filter's message, `None` without one.
    """
    return Answer(
        status=reply.status,
        headers=reply.headers,
        body=reply.body,
        text="",
        latency_ms=reply.latency_ms,
        finish_reason=CONTENT_FILTER,
        refusal=refusal or None,
        provider_request_id=request_id(reply.headers),
    )


def call_of(value: Any) -> tuple[Any, Any]:
    """The name and the arguments of a tool call, each `None` if absent.

    A function's arguments are JSON text, those of a custom tool any text. Raises `InvalidReply` if
    the call holds neither kind of tool.
    """
    called = _as_object(value)
    if isinstance(custom := called.get("custom"), dict):
        return custom.get("name"), custom.get("input")
    if not isinstance(function := called.get("function"), dict):
        raise InvalidReply("malformed_response", "a tool call holds no function", "transient")
    return function.get("name"), arguments_of(function)


def arguments_of(function: Mapping[str, Any]) -> Any:
    """The arguments of a function call as JSON text; some servers write the object itself.

    `None` if absent. Raises `InvalidReply` if the object is nested too deeply.
    """
    arguments = function.get("arguments")
    return json_text(arguments) if isinstance(arguments, dict) else arguments


def request_id(headers: Mapping[str, str]) -> str | None:
    """The server's id of the request, from the reply's headers; `None` without one."""
    names = ("x-request-id", "apim-request-id", "mistral-correlation-id", "x-generation-id")
    return next((headers[name] for name in names if headers.get(name)), None)


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
