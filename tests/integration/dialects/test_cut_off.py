"""A reply that was cut off is unscored in every dialect, under one name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Failure, Reply, Transcript
from failproof_es.dialects import dialect_named
from failproof_es.dialects.kit import cut_off
from failproof_es.problems import Problems
from tests.integration.dialects.test_unknown_keys import GOOD, loaded

HALF = {
    "failproof": "Hello, A",
    "promptguard": '{"T": 0.8, "I": 0.1, "F"',
    "redteam": "Good mor",
    "benchmark": "Becau",
    "command": "ls -l",
    "checks": "It is 4",
}
SAID = ["", "  \n", "I can't help with that", "<think>Let me see"]


def case_of(name: str, folder: Path) -> Case:
    (case,), problems = loaded(name, GOOD[name][0], folder)
    assert isinstance(problems, Problems)
    return case


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name in GOOD for text in [HALF[name], *SAID]]
)
def test_a_reply_that_was_cut_off_is_unscored_in_every_dialect(
    name: str, text: str, tmp_path: Path
) -> None:
    case, dialect = case_of(name, tmp_path), dialect_named(name)
    reply = Reply(0, text, "length")
    found = dialect.classify(case, Transcript((reply,)))
    assert found.primary == cut_off.CLASS
    ended: Any = dialect.score(case, found, None)
    assert isinstance(ended, Failure), ended
    assert ended.kind == cut_off.CLASS and cut_off.MESSAGE in ended.message


@pytest.mark.parametrize("name", GOOD)
def test_the_same_words_without_a_cut_are_not_said_to_be_cut_off(name: str, tmp_path: Path) -> None:
    reply = Reply(0, HALF[name], "stop")
    found = dialect_named(name).classify(case_of(name, tmp_path), Transcript((reply,)))
    assert found.primary != cut_off.CLASS
