"""What earlier versions read otherwise from the same bytes. Pure.

A reader of replies that learns more must not make an old record look misread. Each rule here
accepts one reading that a version before had, and no other.
"""

from __future__ import annotations

from dataclasses import replace

import orjson

from failproof_es.core.finish_reasons import was_interrupted
from failproof_es.events import ResponseReceived
from failproof_es.models.protocol import Answer, ModelError

_TRANSLATED = {
    "ESCALATION": "content_filter",
    "LANGUAGE": "content_filter",
    "CONTINUATION": "length",
}
"""Google's words that stood on record as they came, without what is said of a refusal."""
_ENDED_WITH = frozenset({"missing_content", "authentication"})


def as_read_before(recorded: ResponseReceived, raw: Answer) -> Answer:
    """The answer as the version that recorded it can have read it; else as it is."""
    reason = recorded.finish_reason
    if recorded.refusal is None and raw.refusal is not None and b'"stop_details"' in raw.body:
        raw = replace(raw, refusal=None)  # of Anthropic
    today = None if reason is None else _TRANSLATED.get(reason)
    if today is not None and today == raw.finish_reason and f'"{reason}"'.encode() in raw.body:
        raw = replace(raw, finish_reason=reason, refusal=None)
    if recorded.text != raw.text and b'"citationsContent"' in raw.body:
        raw = replace(raw, text=_without_cited(raw))
    return raw


def was_an_answer(recorded: ResponseReceived, error: ModelError) -> bool:
    """Whether an earlier version took for an answer what is an error today."""
    reason = recorded.finish_reason
    if was_interrupted(reason):
        return error.kind == "provider_error" and "broken off by an error" in error.message
    if reason is None or error.kind not in _ENDED_WITH:
        return False
    empty = not (recorded.text or recorded.tool_calls) or error.kind == "authentication"
    return empty and error.message.endswith(f" {reason}")


def _without_cited(raw: Answer) -> str:
    """The text of Bedrock's blocks but those that cite; all of it in a body of another form."""
    try:
        blocks = orjson.loads(raw.body)["output"]["message"]["content"]
        return "".join(block["text"] for block in blocks if "text" in block)
    except (ValueError, LookupError, TypeError):
        return raw.text
