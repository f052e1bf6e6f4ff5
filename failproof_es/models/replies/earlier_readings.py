"""What earlier versions read otherwise from the same bytes. Pure.

A reader of replies that learns more must not make an old record look misread. Each rule here
accepts one reading that a version before had, and no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

import orjson

from failproof_es.core.finish_reasons import common_word, was_interrupted, worse
from failproof_es.events import ResponseReceived
from failproof_es.models.protocol import Answer, ModelError

_TRANSLATED = {
    "ESCALATION": "content_filter",
    "LANGUAGE": "content_filter",
    "CONTINUATION": "length",
}
"""Google's words that stood on record as they came, without what is said of a refusal."""
_ENDED_WITH = frozenset({"missing_content", "authentication"})
_NO_WORD = re.compile(r"[\[{\d-]|true\Z|false\Z")
"""How the JSON of what is no text begins."""
_REASONS = re.compile(rb'"(?:finish_reason|finishReason|stop_reason)": ?"(\w{1,99})"')


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
    if reason != raw.finish_reason and reason in (*_unread(raw), *_last_of_several(raw)):
        raw = replace(raw, finish_reason=reason, refusal=recorded.refusal and raw.refusal)
    if (recorded.text, recorded.refusal, recorded.tool_calls) != _said(raw):
        raw = _without_untyped(recorded, raw)
    return raw


def was_an_answer(recorded: ResponseReceived, error: ModelError) -> bool:
    """Whether an earlier version took for an answer what is an error today."""
    reason = recorded.finish_reason
    if reason is None and error.kind == "stream_broken":
        return b'"message_stop"' in (error.body or b"")  # of Anthropic, without a reason
    if was_interrupted(reason):
        return error.kind == "provider_error" and "broken off by an error" in error.message
    if reason is None or error.kind not in _ENDED_WITH:
        return False
    empty = not (recorded.text or recorded.tool_calls) or error.kind == "authentication"
    return empty and error.message.endswith(f" {reason}")


def _unread(raw: Answer) -> tuple[str | None, ...]:
    """What stood on record for a finish reason that is no text; the second of the Responses API."""
    word = raw.finish_reason or ""
    is_text = _NO_WORD.match(word) is None or f'"{word}"'.encode() in raw.body
    return () if is_text else (None, "incomplete")


def _last_of_several(raw: Answer) -> tuple[str, ...]:
    """The last finish reason of a stream that gave several, where today's is the worst of them."""
    words = [word.decode() for word in _REASONS.findall(raw.body)]
    worst = reduce(worse, words, None)
    if worst is None or raw.finish_reason not in (worst, common_word(worst)):
        return ()
    streamed = raw.body[:1] != b"{" and len(words) > 1
    return (words[-1], common_word(words[-1])) if streamed else ()


def _said(answer: Answer) -> tuple[Any, ...]:
    return answer.text, answer.refusal, answer.tool_calls


def _without_untyped(recorded: ResponseReceived, raw: Answer) -> Answer:
    """Without what was not read: parts of a type of their own, and calls of the oldest form."""
    parts = list(_parts(raw.body))
    typed = [part.get("text") for part in parts if part.get("type") in ("text", "output_text")]
    text = "".join(map(str, typed)) if all(isinstance(each, str) for each in typed) else ""
    if parts and recorded.text == text:
        raw = replace(raw, text=text)
    if b'"choices"' not in raw.body:
        return raw
    if recorded.refusal is None and any(part.get("type") == "refusal" for part in parts):
        raw = replace(raw, refusal=None)
    if not recorded.tool_calls and b'"function_call":' in raw.body:
        raw = replace(raw, tool_calls=())
    return raw


def _parts(body: bytes) -> Iterator[dict[str, Any]]:
    """The parts of the content of a whole reply of OpenAI's or Anthropic's protocols.

    One that is no object is given as an empty one.
    """
    try:
        document = orjson.loads(body)
    except ValueError:
        return
    said = _object(document)
    choices, items = _list(said.get("choices")), _list(said.get("output"))
    for holder in (said, *items, *(_object(choice).get("message") for choice in choices)):
        yield from map(_object, _list(_object(holder).get("content")))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _without_cited(raw: Answer) -> str:
    """The text of Bedrock's blocks but those that cite; all of it in a body of another form."""
    try:
        blocks = orjson.loads(raw.body)["output"]["message"]["content"]
        return "".join(block["text"] for block in blocks if "text" in block)
    except (ValueError, LookupError, TypeError):
        return raw.text
