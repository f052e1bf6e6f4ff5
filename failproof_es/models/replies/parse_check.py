"""Parses a recorded reply again from its raw bytes, and reports a parse mismatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from failproof_es.events import ResponseReceived, Usage
from failproof_es.models.protocol import ModelError
from failproof_es.models.provider_type import provider_type

_READ = ("text", "refusal", "finish_reason", "model", "usage", "tool_calls")


@dataclass(frozen=True, slots=True)
class ParseMismatch:
    """A recorded field that the raw bytes contradict."""

    field: str
    recorded: Any
    raw: Any


def find_parse_mismatch(provider: str, response: ResponseReceived) -> ParseMismatch | None:
    """The first recorded field that differs from the raw bytes; `None` if none does.

    `None` also if the check is impossible: for a user's own client, which returns text and no
    bytes, and for a reply with redacted secrets or with bytes that were not recorded. Raises
    `InvalidInput` if the provider is not installed.
    """
    kind = provider_type(provider)
    if response.redactions or response.withheld is not None:
        return None
    try:
        answer = kind.reparse(response)
    except ModelError as error:
        return ParseMismatch("body", "an answer", error.message)
    if answer is None:
        return None
    for field in _READ:
        recorded, raw = getattr(response, field), getattr(answer, field)
        if isinstance(recorded, Usage) and vars(recorded) == vars(raw):
            continue  # faster than the comparison of two models
        if recorded != raw:
            return ParseMismatch(field, recorded, raw)
    return None
