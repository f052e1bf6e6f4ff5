"""The one table of finish reasons: the meaning of every word by which a server ends an answer.

Words are compared without regard to case, separators and the name of an enumeration before them
(`content-filter`, `maxTokens`, `FinishReason.MAX_TOKENS`). The protocol plays no part: gateways
that speak one vendor's protocol pass on the words of another. The meaning of an unlisted word, or
of a value that is not text, is `unknown`: its answer is recorded, but not scored. An answer without
a word counts as complete. Pure.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Literal

Meaning = Literal["complete", "tool_call", "cut_off", "withheld", "broken", "unknown"]
"""`cut_off`: the server ended an answer that was not at its end, at a limit of tokens or context.
`withheld`: a filter of the provider blocked the request or the answer. `broken`: the server failed
while it answered, or could not use what the model wrote."""

STOP, LENGTH, CONTENT_FILTER, TOOL_CALLS = "stop", "length", "content_filter", "tool_calls"
"""The common words, to which others are mapped: those of OpenAI's chat completions."""

_COMMON: dict[str, Meaning] = {
    STOP: "complete",
    LENGTH: "cut_off",
    CONTENT_FILTER: "withheld",
    TOOL_CALLS: "tool_call",
}
_SYNONYMS: dict[str, tuple[str, ...]] = {
    STOP: (
        *("end_turn", "stop_sequence", "stop_sequences", "stop_sequence_reached", "stop_token"),
        *("eos", "eos_token", "eot", "end_of_text", "endoftext", "end_of_turn", "end_of_sequence"),
        *("stop_criteria_met", "complete", "completed", "finish", "finished", "done", "normal"),
        *("success", "stop_word", "word"),
    ),
    LENGTH: (
        *("max_tokens", "max_token", "maximum_tokens", "max_output_tokens", "max_new_tokens"),
        *("max_completion_tokens", "max_output", "max_length", "max_len", "model_length", "limit"),
        *("token_limit", "token_limit_reached", "error_limit", "continuation", "max_context"),
        *("model_context_window_exceeded", "context_window_exceeded", "context_length"),
        *("context_length_exceeded", "context_limit", "context"),
    ),
    CONTENT_FILTER: (
        *("content_filtered", "content_filter_error", "content_policy_violation", "content_policy"),
        *("filtered", "blocked", "safety", "recitation", "language", "blocklist", "spii"),
        *("prohibited_content", "model_armor", "image_safety", "image_prohibited_content"),
        *("image_recitation", "escalation", "guardrail_intervened", "guardrails", "guardrail"),
        *("refusal", "sensitive", "moderation", "moderated", "error_toxic", "toxic", "jailbreak"),
    ),
    TOOL_CALLS: ("tool_call", "tool_use", "function_call", "function_calls"),
}
_FURTHER: dict[Meaning, tuple[str, ...]] = {
    "cut_off": (
        # Paused, steered or stopped from outside before the model had finished.
        *("incomplete", "not_finished", "pause_turn", "compaction", "max_messages", "steered"),
        *("time_limit", "max_time", "repetition", "user_cancel"),
    ),
    "broken": (
        *("malformed_function_call", "malformed_tool_call", "malformed_tool_use"),
        *("malformed_model_output", "malformed_response", "unexpected_tool_call"),
        *("too_many_tool_calls", "missing_thought_signature", "no_image", "image_other"),
    ),
}
_INTERRUPTED = (
    *("error", "network_error", "server_error", "internal_error", "engine_error", "model_error"),
    *("insufficient_system_resource", "abort", "aborted", "cancel", "cancelled", "canceled"),
    *("timeout", "timed_out", "failed", "failure", "interrupted", "overloaded", "unavailable"),
)
"""The server failed during the answer; another attempt may succeed."""

_COMMON_WORDS = {word: common for common, words in _SYNONYMS.items() for word in words}
_MEANINGS: dict[str, Meaning] = {
    **_COMMON,
    **{word: _COMMON[common] for word, common in _COMMON_WORDS.items()},
    **{word: meaning for meaning, words in _FURTHER.items() for word in words},
    **dict.fromkeys(_INTERRUPTED, "broken"),
}
_SEPARATORS = re.compile(r"[\s\-]+|(?<=[a-z])(?=[A-Z])")
_ENUMERATION = re.compile(r"\A(?:(?:finish|stop)_?reason[._:]+|reason_)")
_LONGEST_WORD = 64
"""The longest word that is cached, in characters: a server may send any text."""
_NOTHING = frozenset({"", "null", "none"})
_UNSPECIFIED = "unspecified"
"""The default of an enumeration. Google's servers write it while an answer goes on."""
_UNGRADED_LAST: tuple[Meaning, ...] = ("cut_off", "unknown", "broken", "withheld")
"""The meanings of answers that are not whole, from the least to the most severe."""


def word_of(value: Any) -> str | None:
    """The finish reason in a field of a reply, unchanged; `None` for an empty one.

    A value that is not text becomes its JSON, whose meaning is `unknown`.
    """
    if isinstance(value, str | None):
        return word_or_none(value)
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return type(value).__name__


def word_or_none(word: str | None) -> str | None:
    """The finish reason unchanged; `None` for an empty one (some servers write `"null"`)."""
    return None if word is None or word.strip().lower() in _NOTHING else word


def meaning_of(word: str | None) -> Meaning:
    """The meaning of a finish reason; `complete` for `None`, `unknown` for an unlisted word."""
    if word is None or len(word) > _LONGEST_WORD:
        return _meaning_uncached(word)
    return _meaning_cached(word)


def _meaning_uncached(word: str | None) -> Meaning:
    return "complete" if word_or_none(word) is None else _MEANINGS.get(_normalize(word), "unknown")


_meaning_cached = lru_cache(maxsize=256)(_meaning_uncached)
"""Cached: an answer's word is looked up a dozen times, and a run has few different words."""


def worse(first: str | None, later: str | None) -> str | None:
    """The more severe of two finish reasons of one answer; `later`, if they are equally severe.

    `None` is no finish reason, the least severe.
    """
    if word_or_none(later) is None:
        return first
    return first if _severity(first) > _severity(later) else later


def _severity(word: str | None) -> int:
    if word_or_none(word) is None or _normalize(word) == _UNSPECIFIED:
        return 0
    meaning = meaning_of(word)
    return 2 + _UNGRADED_LAST.index(meaning) if meaning in _UNGRADED_LAST else 1


def was_interrupted(word: str | None) -> bool:
    """Whether this finish reason says that the server failed while it answered."""
    return word is not None and _normalize(word) in _INTERRUPTED


def common_word(word: str) -> str:
    """The common finish reason that means the same as this one (`STOP`, `LENGTH` and so on).

    The word itself if there is none.
    """
    plain = _normalize(word)
    return plain if plain in _COMMON else _COMMON_WORDS.get(plain, word)


def _normalize(word: str | None) -> str:
    plain = _SEPARATORS.sub("_", (word or "").strip()).lower()
    return _ENUMERATION.sub("", plain)
