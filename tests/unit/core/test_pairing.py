"""Who is compared with whom: what was asked decides, not what it is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.case import Case, Turn
from failproof_es.core.pairing import (
    Question,
    Unpaired,
    advice_on,
    graded_alike,
    other_versions,
    pair_evaluations,
    same_questions,
    what_differs,
)
from failproof_es.engine.planning.asked_cases import question_of


def asked(
    prompt: str, name: str = "c", suite: str = "s", grading: str = "g", nth: int = 1
) -> Question:
    return Question(f"{prompt}/{grading}", prompt, suite, name, nth)


def whys(first: list[Question], second: list[Question]) -> dict[str, tuple[int, int]]:
    return {
        each.why: (each.first, each.second) for each in pair_evaluations(first, second).unpaired
    }


def test_an_altered_prompt_under_the_same_name_is_not_the_same_question() -> None:
    found = pair_evaluations([asked("one")], [asked("two")])
    assert found.pairs == ()
    assert found.unpaired == (Unpaired("sent another prompt under the same name", 1, 1),)
    assert not same_questions(found.unpaired)
    assert "matrix.prompts" in (advice_on(found.unpaired) or "")
    assert advice_on([Unpaired("graded otherwise", 1, 1)]) is None


def test_the_same_question_by_another_name_is_a_pair() -> None:
    found = pair_evaluations([asked("one", "a")], [asked("one", "b", suite="t")])
    assert (found.pairs, found.unpaired) == (((0, 0),), ())
    assert same_questions(found.unpaired)


def test_why_there_is_no_partner_is_counted_on_both_sides() -> None:
    first = [
        asked("kept", "a"),
        asked("old text", "b"),
        asked("regraded", "c", grading="old"),
        *(asked("often", "d", nth=n) for n in (1, 2, 3)),
        asked("gone", "e"),
    ]
    second = [
        asked("regraded", "c", grading="new"),
        asked("new text", "b"),
        asked("kept", "a"),
        asked("often", "d"),
        asked("new", "f"),
        asked("newer", "g"),
    ]
    assert pair_evaluations(first, second).pairs == ((0, 2), (3, 3))
    assert whys(first, second) == {
        "sent another prompt under the same name": (1, 1),
        "graded otherwise": (1, 1),
        "asked another number of times": (2, 0),
        "asked in one only": (1, 2),
    }


def test_of_several_alike_those_of_one_name_are_paired_first() -> None:
    first = [asked("x", "a"), asked("x", "b"), asked("x", "c")]
    second = [asked("x", "c"), asked("x", "a"), asked("x", "z")]
    assert pair_evaluations(first, second).pairs == ((0, 1), (1, 2), (2, 0))


def test_what_was_not_scored_on_both_sides_is_counted_and_was_asked_all_the_same() -> None:
    first = [asked("x", "a"), asked("y", "b")]
    found = pair_evaluations(first, first, lambda one, _: one == 0)
    assert found.pairs == ((0, 0),)
    assert found.unpaired == (Unpaired("without a score on at least one side", 1, 1),)
    assert same_questions(found.unpaired)


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ({}, {}, []),
        ({"a": "1"}, {"a": "1"}, []),
        ({"a": "1"}, {"a": "2"}, ["a"]),
        ({"a": "1", "b": "2"}, {"a": "1"}, []),  # an empty answer is shown to no judge
        ({"a": "1+x.2"}, {"a": "1+x.3"}, ["a"]),
        ({"a": "2 extractor 3"}, {"a": "2 shfmt-3.8 extractor 3"}, []),  # nothing to be checked
        ({"a": "2 shfmt-3.9 extractor 3"}, {"a": "2 shfmt-3.8 extractor 3"}, ["a"]),
        ({"a": "1", "b": "1", "c": "1"}, {"a": "2", "b": "1", "c": "2"}, ["a", "c"]),
    ],
)
def test_what_graded_in_two_versions_is_named(
    one: dict[str, str], other: dict[str, str], differs: list[str]
) -> None:
    assert [each.grader for each in other_versions(one, other)] == differs
    assert graded_alike(one, other) is graded_alike(other, one) is (differs == [])


def test_what_other_versions_graded_is_no_pair_and_counted() -> None:
    both = [asked("x", "a"), asked("y", "b"), asked("z", "c")]
    found = pair_evaluations(both, both, lambda one, _: one != 2, lambda one, _: one == 0)
    assert found.pairs == ((0, 0),)
    assert found.unpaired == (
        Unpaired("graded otherwise, by other versions", 1, 1),
        Unpaired("without a score on at least one side", 1, 1),
    )
    assert same_questions(found.unpaired) and what_differs(found.unpaired) == "graded alike"
    assert what_differs((Unpaired("without a score on at least one side", 1, 1),)) is None


questions = st.lists(
    st.builds(
        asked,
        st.sampled_from("pqr"),
        st.sampled_from("ab"),
        st.sampled_from("st"),
        st.sampled_from("gh"),
        st.integers(1, 2),
    ),
    max_size=12,
)


@given(questions, questions)
def test_each_evaluation_is_in_one_pair_or_counted_once(
    first: list[Question], second: list[Question]
) -> None:
    found = pair_evaluations(first, second)
    for side, of in enumerate((first, second)):
        places = [pair[side] for pair in found.pairs]
        assert len(set(places)) == len(places)
        counts = sum((each.first, each.second)[side] for each in found.unpaired)
        assert len(places) + counts == len(of)
    for one, other in found.pairs:
        assert first[one].graded == second[other].graded
        assert first[one].repetition == second[other].repetition
    swapped = pair_evaluations(second, first)
    assert len(swapped.pairs) == len(found.pairs)
    assert [(each.why, each.second, each.first) for each in swapped.unpaired] == [
        (each.why, each.first, each.second) for each in found.unpaired
    ]


def test_notes_tags_and_names_of_a_case_are_no_part_of_what_it_asks() -> None:
    case = Case(
        dialect="plain",
        case_id="c",
        suite_id="s",
        turns=(Turn(role="user", content="?"),),
        expectation={"equals": "a"},
    )
    noted = case.model_copy(update={"case_id": "d", "document": {"note": "x"}, "tags": ("t",)})
    regraded = case.model_copy(update={"expectation": {"equals": "b"}})
    resent = case.model_copy(update={"turns": (Turn(role="user", content="!"),)})
    of = question_of
    assert (of(noted).graded, of(noted).sent) == (of(case).graded, of(case).sent)
    assert of(regraded).sent == of(case).sent and of(regraded).graded != of(case).graded
    assert of(resent).sent != of(case).sent and of(resent).graded != of(case).graded
