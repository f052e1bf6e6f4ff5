"""Parses a recorded reply again from its raw bytes, and reports a parse mismatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from failproof_es.events import ResponseReceived, Usage
from failproof_es.models.protocol import ModelError
from failproof_es.models.provider_type import provider_type
from failproof_es.models.replies.earlier_readings import as_read_before, was_an_answer

_READ_LATER = ("cache_write_tokens", "cache_write_1h_tokens", "reasoning_tokens")
_READ = ("text", "refusal", "finish_reason", "model", "usage", "tool_calls")


@dataclass(frozen=True, slots=True)
class ParseMismatch:
    """A recorded field that the raw bytes contradict."""

    field: str
    recorded: Any
    raw: Any


def find_parse_mismatch(provider: str, response: ResponseReceived) -> ParseMismatch | None:
    """The first field that was read otherwise than the raw bytes say; `None` when none was.

    What an earlier version read from them is no mismatch.

    Nothing can be said of a client of the user's own, which gives text and no bytes, nor of a
    reply in which a secret was replaced, or whose bytes are not all recorded. Raises
    `InvalidInput` where the provider is not installed here.
    """
    kind = provider_type(provider)
    if response.redactions or response.withheld is not None:
        return None
    try:
        answer = kind.reparse(response)
    except ModelError as error:
        if was_an_answer(response, error):
            return None
        return ParseMismatch("body", "an answer", error.message)
    if answer is None:
        return None
    answer = as_read_before(response, answer)
    for field in _READ:
        recorded, raw = getattr(response, field), getattr(answer, field)
        if isinstance(recorded, Usage):
            if vars(recorded) == vars(raw):  # faster than models are compared
                continue
            raw = _as_far_as(recorded, raw)
        if recorded != raw:
            return ParseMismatch(field, recorded, raw)
    return None


def _as_far_as(recorded: Usage, raw: Usage) -> Usage:
    """What the raw bytes say, without the counts that older versions did not read."""
    unread = {name: None for name in _READ_LATER if getattr(recorded, name) is None}
    return raw.model_copy(update=unread)
