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
