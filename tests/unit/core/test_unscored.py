"""A rate is shown with its bounds, and every reason of an unscored evaluation is in one group."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.evaluation import fold
from failproof_es.core.tally import BoundedRate, Group
from failproof_es.core.unscored import BY_ANSWER, GROUPS, NOTHING_USABLE, WORDS, unscored_group
from tests.unit.histories import History

SHARES = st.fractions(0, 1, max_denominator=20)


@given(scores=st.lists(SHARES, max_size=20), missing=st.lists(SHARES, max_size=20))
def test_whatever_the_unscored_would_have_scored_the_rate_is_within_its_bounds(
    scores: list[Fraction], missing: list[Fraction]
) -> None:
    rate = BoundedRate(sum(scores, Fraction(0)), len(scores), len(missing))
    if not missing:
        assert rate.bounds is None
        return
    assert rate.bounds is not None
    low, high = rate.bounds
    everything = [*scores, *missing]
    assert low <= float(sum(everything) / len(everything)) <= high
    passes, fails = [Fraction(1)] * len(missing), [Fraction(0)] * len(missing)
    assert low == float(sum([*scores, *fails]) / len(everything))
    assert high == float(sum([*scores, *passes]) / len(everything))


def test_what_awaits_people_opens_a_rate_and_is_not_missing() -> None:
    group = Group(
        finished=10, scored=4, abandoned=6, awaiting=5, passed=3, failed=1, measured=4,
        accuracy_sum=Fraction(3),
    )  # fmt: skip
    assert (group.missing, group.unscored) == (1, 6)
    assert group.bounded_pass_rate.bounds == group.bounded_accuracy.bounds == (0.3, 0.9)
    assert (group.pass_rate, group.accuracy) == (0.75, 0.75)


def test_the_list_of_groups_is_closed_and_each_has_its_words_and_its_side() -> None:
    assert WORDS.keys() == set(GROUPS) == NOTHING_USABLE | BY_ANSWER | {"awaiting_people"}
    assert not NOTHING_USABLE & BY_ANSWER


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        ("awaiting_review", "awaiting_people"), ("truncated", "cut_off"),
        ("content_filter", "withheld"), ("grading_stopped", "grading_stopped"),
        ("judge_failed", "undecided"), ("scorer_failed", "ungraded"), ("parse_error", "ungraded"),
    ],
)  # fmt: skip
def test_an_answer_without_a_score_is_in_the_group_of_its_kind(kind: str, group: str) -> None:
    history = History().sent().answered().classified()
    assert unscored_group(fold(history.events)) is None
    assert unscored_group(fold(history.abandoned(kind).events)) == group


@pytest.mark.parametrize("kind", ["timeout", "connection", "http_500", "malformed_response"])
def test_an_evaluation_that_an_error_ended_is_lost(kind: str) -> None:
    history = History().sent().failed(disposition="final", kind=kind).classified("error")
    assert unscored_group(fold(history.abandoned(kind).events)) == "no_answer"
