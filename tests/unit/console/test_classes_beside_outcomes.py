"""Every page writes the class of an answer beside its outcome alike."""

from __future__ import annotations

import re

import pytest

from failproof_es.console import rendering


@pytest.mark.parametrize(
    ("name", "state", "word"),
    [
        (None, "lost", ""), ("pass", "passed", ""), ("fail", "failed", ""),
        ("pass", "failed", "unwanted answer"), ("fail", "passed", "no match"),
        ("pass", "unscored", "match"), ("refusal", "failed", "refusal"),
    ],
)  # fmt: skip
def test_a_class_is_written_unless_it_repeats_the_outcome(
    name: str | None, state: str, word: str
) -> None:
    macros = rendering._environment().get_template("macros.html").module
    assert re.sub("<.*?>", "", macros.class_beside(name, state)) == word  # type: ignore[attr-defined]
