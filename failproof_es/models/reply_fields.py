"""Checks the fields of an answer that providers have in common. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from failproof_es.core.finish_reasons import Meaning, meaning_of, was_interrupted, word_of
from failproof_es.models.http_reply import InvalidReply, document_of
from failproof_es.models.protocol import MOST_TOOL_CALLS
from failproof_es.models.replies.content_parts import Content
from failproof_es.models.replies.half_characters import join_halves

_LONGEST_NAME = 1000
_MOST_TOKENS = 10**9
"""The largest token count that is accepted. Sums of such counts stay exact in JSON."""


def finish_word(value: Any) -> str | None:
    """The finish reason as received, a value other than text as JSON; `None` without one.

    Raises `InvalidReply` if it is longer than 1,000 characters.
    """
    return name_or_none(word_of(value))


def reason_or_none(value: Any) -> str | None:
    """The finish reason as received, a value other than text as JSON; `None` without one.

    Raises `InvalidReply` if it is longer than 1,000 characters, or means an interrupted answer.
    """
    reason = finish_word(value)
    if was_interrupted(reason):
        message = f"the answer was broken off by an error: {reason}"
        raise InvalidReply("provider_error", message, "transient")
    return reason


def require_readable(content: Content, reason: str | None, *, more: bool) -> None:
    """Raises `InvalidReply` for a complete answer whose content cannot be read.

    `reason` is the finish reason. `more`: the reply also holds a refusal or a tool call. An answer
    that is not complete passes: its finish reason decides, whatever the content is.
    """
    is_missing = content.is_unreadable and not (more and content.text is None)
    if is_missing and meaning_of(reason) in ("complete", "tool_call"):
        ended = "" if reason is None else f", and ended with {reason}"
        message = f"the content holds what is no text{ended}"
        raise InvalidReply("missing_content", message, "transient")


def require_said(reason: str | None, text: str | None, *, more: bool) -> Meaning:
    """The meaning of the finish reason `reason`.

    `more`: the reply also holds a refusal or a tool call. A reply without content is an answer if
    its finish reason explains that: an empty text, a withheld one, a text that was cut off in its
    thoughts. Raises `InvalidReply` for any other.
    """
    meaning = meaning_of(reason)
    says_nothing = not text and not more
    is_empty_text = text is not None and reason is None
    if (
        says_nothing
        and not is_empty_text
        and (reason is None or meaning in ("tool_call", "broken"))
    ):
        ended = "" if reason is None else f", and ended with {reason}"
        raise InvalidReply("missing_content", f"the message has no content{ended}", "transient")
    return meaning


@dataclass(frozen=True, slots=True)
class CutInput:
    """The beginning of a tool call's input, which its server cut off within the JSON."""

    text: str


def input_of(text: str, reason: Any) -> Any:
    """The input of a streamed tool call; `CutInput` if it is no JSON and the answer was cut off.

    `reason` is the answer's finish reason. Raises `InvalidReply` if the input is no JSON and the
    answer is complete.
    """
    try:
        return document_of(text)
    except InvalidReply:
        if meaning_of(text_or_none(reason)) in ("complete", "tool_call"):
            raise
        return CutInput(join_halves(text))


def require_few_calls(calls: int) -> None:
    """Raises `InvalidReply` for more than `MOST_TOOL_CALLS` tool calls."""
    if calls > MOST_TOOL_CALLS:
        raise InvalidReply("malformed_response", f"more than {MOST_TOOL_CALLS} tool calls", "final")


def text_or_none(value: Any) -> str | None:
    """The value if it is a non-empty text; `None` for anything else."""
    return join_halves(value) if isinstance(value, str) and value else None


def name_or_none(value: Any) -> str | None:
    """A name of a model, a reply or a reason; `None` if it is empty or not text.

    Raises `InvalidReply` if it is longer than 1,000 characters.
    """
    name = text_or_none(value)
    if name is not None and len(name) > _LONGEST_NAME:
        raise InvalidReply("malformed_response", f"a name has {len(name)} characters", "transient")
    return name


def count_or_none(value: Any) -> int | None:
    """The value if it is a whole number from 0 to 1,000,000,000; `None` for anything else."""
    counted = isinstance(value, int) and not isinstance(value, bool)
    return value if counted and 0 <= value <= _MOST_TOKENS else None
