"""What a case expects beside what came: whole texts, differences marked, the unmet first."""

from __future__ import annotations

from uuid import UUID

import pytest

from failproof_es.catalogue.wording import judge_named
from failproof_es.console.parts.expectations import expected_of, shown_expectations
from failproof_es.console.texts import TextShown, compared_texts
from failproof_es.core.case import Case, Turn
from failproof_es.core.outcome import EvaluationOutcome
from tests.every import every


def text_of(shown: TextShown) -> str:
    return "".join(piece.text for piece in shown.pieces)


def differing(shown: TextShown) -> list[str]:
    return [piece.text for piece in shown.pieces if piece.differs]


def test_words_that_differ_are_marked_in_both_texts() -> None:
    expected, got = compared_texts("is the text", "The sky is red.", "The sky is blue.")
    assert (text_of(expected), differing(expected)) == ("The sky is blue.", ["blue"])
    assert (text_of(got), differing(got)) == ("The sky is red.", ["red"])


@pytest.mark.parametrize("to_the_letter", [None, "Something else entirely", "The sky is red."])
def test_nothing_is_marked_where_it_tells_nothing(to_the_letter: str | None) -> None:
    expected, got = compared_texts("contains red", "The sky is red.", to_the_letter)
    assert (text_of(expected), differing(expected)) == ("contains red", [])
    assert (text_of(got), differing(got)) == ("The sky is red.", [])


def test_marked_texts_are_cut_as_others_are() -> None:
    lines = "\n" * 300
    expected, got = compared_texts("", f"one two b{lines}end", f"one two a{lines}end")
    assert expected.more_lines == got.more_lines == 101
    assert (differing(expected), differing(got)) == (["a"], ["b"])


@pytest.mark.parametrize(("scores", "wanted"), [({}, [None] * 4), (
    {"must_do.1": 1.0, "must_not_do.1": 0.0, "pass_criteria.1": 1.0}, [False, None, True, True],
)])  # fmt: skip
def test_what_is_not_met_comes_first(scores: dict[str, float], wanted: list[bool | None]) -> None:
    case = Case(
        dialect="redteam", case_id="c", suite_id="s",
        turns=(Turn(role="user", content="Well?"),),
        expectation={"must_do": ["Greets."], "must_not_do": ["Swears."],
                     "pass_criteria": ["Says no."], "fails_by": ["empty"]},
    )  # fmt: skip
    outcome = EvaluationOutcome(
        evaluation_id=UUID(int=1), run_id=UUID(int=2), prompt_id=UUID(int=3), model_key="m",
        repetition=1, scores=scores,
    )  # fmt: skip
    rows = shown_expectations(case, outcome)
    assert [row.met for row in rows] == wanted
    assert expected_of(case) == (
        "must_do 1: Greets; must_not_do 1: Swears; pass_criteria 1: Says no"
    ), "and not `an answer`"
    if scores:
        assert rows[0].got is not None and text_of(rows[0].got) == "happened"


@every(
    ("key", "name"),
    [("judge:gpt-9", "judge gpt-9"), ("judge:judge", "judge"), ("gpt-9", "gpt-9"),
     ("judge", "judge")],
)  # fmt: skip
def test_a_judge_is_named_once(key: str, name: str) -> None:
    assert judge_named(key) == name
