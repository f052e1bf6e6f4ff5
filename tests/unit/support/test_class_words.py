"""The class of an answer has words of its own beside the result."""

from __future__ import annotations

import pytest

from failproof_es.support.class_words import class_named, class_word


@pytest.mark.parametrize(
    ("name", "word"), [("pass", "match"), ("fail", "no match"), ("refusal", "refusal")]
)
def test_a_class_reads_as_no_verdict_and_is_chosen_by_both_of_its_names(
    name: str, word: str
) -> None:
    assert class_word(name) == word
    assert class_named(word) == class_named(name) == name


def test_a_failed_answer_of_the_class_pass_does_not_read_as_a_success() -> None:
    assert class_word("pass", passed=False) == "unwanted answer"
    assert class_named("unwanted answer") == "pass"
    assert class_word("pass", passed=True) == "match" and class_word("fail", False) == "no match"
