"""Every word by which a server ends an answer has one meaning, or none that is known."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.finish_reasons import (
    Meaning,
    common_word,
    meaning_of,
    was_interrupted,
    word_of,
    word_or_none,
    worse,
)
from tests.every import every

WORDS: dict[Meaning, tuple[str, ...]] = {
    "complete": (
        *("stop", "STOP", "end_turn", "stop_sequence", "eos", "eos_token", "COMPLETE", "FINISH"),
        *("endoftext", "done", "end_of_text", "FinishReason.STOP", "FINISH_REASON_STOP"),
    ),
    "tool_call": ("tool_calls", "tool_use", "function_call", "TOOL_CALL", "tool-calls"),
    "cut_off": (
        *("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length", "maxTokens"),
        *("model_context_window_exceeded", "pause_turn", "max_messages", "incomplete", "steered"),
        *("ERROR_LIMIT", "CONTINUATION", "REASON_MAX_LEN", "token_limit", "max_new_tokens"),
    ),
    "withheld": (
        *("content_filter", "content-filter", "SAFETY", "PROHIBITED_CONTENT", "recitation"),
        *("RECITATION", "BLOCKLIST", "SPII", "sensitive", "content_filtered", "refusal"),
        *("guardrail_intervened", "ERROR_TOXIC", "IMAGE_SAFETY", "MODEL_ARMOR", "LANGUAGE"),
    ),
    "broken": (
        *("error", "network_error", "abort", "insufficient_system_resource", "cancelled"),
        *("MALFORMED_FUNCTION_CALL", "malformed_model_output", "malformed_tool_use", "NO_IMAGE"),
    ),
    "unknown": (
        *("OTHER", "FINISH_REASON_UNSPECIFIED", "something_new", "stopped?", "stop.", "lengthy"),
        *("unknown", "ｓｔｏｐ", "sto\u200bp", "0"),
    ),
}
PAIRS = [(word, meaning) for meaning, words in WORDS.items() for word in words]
KNOWN = [(word, meaning) for word, meaning in PAIRS if meaning != "unknown" and "." not in word]


@every(("word", "meaning"), PAIRS)
def test_a_word_means_one_thing_whatever_protocol_it_comes_by(word: str, meaning: Meaning) -> None:
    assert meaning_of(word) == meaning


@given(st.sampled_from(KNOWN), st.sampled_from("_- "), st.booleans(), st.sampled_from(["", " "]))
def test_neither_case_nor_joints_change_a_meaning(
    pair: tuple[str, Meaning], joint: str, upper: bool, blank: str
) -> None:
    word, meaning = pair
    if word == "maxTokens":
        word = "max_tokens"
    written = blank + word.replace("_", joint).replace("-", joint) + blank
    assert meaning_of(written.upper() if upper else written.lower()) == meaning


@given(st.text(alphabet=st.characters(min_codepoint=0x3041), min_size=1, max_size=20))
def test_a_word_that_nobody_listed_has_no_known_meaning(word: str) -> None:
    assert meaning_of(word) == "unknown" or not word.strip()


@every("nothing", [None, "", " ", "null", "NULL", "None"])
def test_a_server_that_gives_no_word_says_nothing_against_its_answer(nothing: str | None) -> None:
    assert word_or_none(nothing) is None
    assert meaning_of(nothing) == "complete"


@every(("word", "meaning"), PAIRS)
def test_a_common_word_means_the_same_and_an_uncommon_one_stays_as_it_came(
    word: str, meaning: Meaning
) -> None:
    common = common_word(word)
    assert meaning_of(common) == meaning
    assert common in (word, "stop", "length", "content_filter", "tool_calls")


def test_only_a_failure_of_the_server_is_an_interruption() -> None:
    interrupted = {word for word, _ in PAIRS if was_interrupted(word)}
    assert interrupted == {
        "error", "network_error", "abort", "insufficient_system_resource", "cancelled",
    }  # fmt: skip


json_values: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.none() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "reason"]), inner, max_size=2)
        | st.lists(st.sampled_from([word for word, _ in PAIRS]), min_size=1, max_size=2)
    ),
    max_leaves=5,
)


@given(json_values)
def test_what_is_no_text_is_kept_word_for_word_and_means_nothing_that_is_known(value: Any) -> None:
    word = word_of(value)
    if isinstance(value, str | None):
        assert word == word_or_none(value)
    else:
        assert word is not None and meaning_of(word) == "unknown" and not was_interrupted(word)
        assert repr(json.loads(word)) == repr(value)


def test_a_reason_too_deep_to_be_written_is_unknown() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert meaning_of(word_of(deep)) == "unknown"


ORDER: tuple[Meaning, ...] = ("complete", "tool_call", "cut_off", "unknown", "broken", "withheld")
"""From what is graded to what is never graded."""
any_word = st.sampled_from([pair for pair in PAIRS if "unspecified" not in pair[0].lower()])


@given(any_word, any_word)
def test_of_two_words_the_worse_counts_whatever_their_order(
    first: tuple[str, Meaning], later: tuple[str, Meaning]
) -> None:
    worst = max(first[1], later[1], key=ORDER.index)
    came = worse(first[0], later[0])
    assert came in (first[0], later[0])
    if worst not in ("complete", "tool_call"):
        assert meaning_of(came) == meaning_of(worse(later[0], first[0])) == worst
    if first[1] == later[1]:
        assert came == later[0]


@given(any_word, st.sampled_from([None, "", "null", "FINISH_REASON_UNSPECIFIED", "UNSPECIFIED"]))
def test_what_says_nothing_changes_no_word(pair: tuple[str, Meaning], nothing: str | None) -> None:
    assert worse(pair[0], nothing) == worse(nothing, pair[0]) == pair[0]
    assert worse(None, nothing) in (None, nothing)
