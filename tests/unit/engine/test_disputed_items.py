"""Items with different verdicts and with void votes, and the lines that list them."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.cli.reviewing.disputed_lines import Disagreements, disputed_lines
from failproof_es.core.evaluation import Evaluation, JudgeVerdict, Score
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.engine.reviews.comparison import RaterChoice
from failproof_es.engine.reviews.disputed_items import DisputedItem, disputed_items
from failproof_es.engine.reviews.people import ReviewedEvaluation, ReviewInput
from failproof_es.events import Reviewed
from tests.unit.engine.test_review_comparison import CASE, KEY, judge, review, said


def items_of(verdicts: Sequence[JudgeVerdict], *reviews: Reviewed) -> list[DisputedItem]:
    state = Evaluation(verdicts=tuple(verdicts))
    return list(
        disputed_items(ReviewedEvaluation(RecordedEvaluation(KEY, CASE, ()), state, reviews))
    )


def between(one: str, other: str, *found: ReviewedEvaluation) -> list[str]:
    """The lines about the items on which two raters disagree."""
    chosen = Disagreements(RaterChoice(frozenset((one, other)), None))
    return lines_of(*(item for evaluation in found for item in chosen.items_of(evaluation)))


def test_two_raters_are_listed_with_the_items_on_which_they_disagree_and_no_others() -> None:
    """Judges a and b agree on must_do 1 and disagree on must_not_do 1; jane and joe on both."""
    jane = ReviewInput(
        "fail", (said("must_do.1", "not_met"), said("must_not_do.1", "happened")), notes="Rude."
    )
    joe = ReviewInput("pass", (said("must_do.1", "met"), said("must_not_do.1", "did_not_happen")))
    judges = judge("judge:a", "present", "present"), judge("judge:b", "present", "absent")
    state = Evaluation(
        verdicts=judges,
        score=Score({"accuracy": 1.0, "must_do.1": 1.0}, "r", "s", "1", passed=True),
    )
    evaluation = ReviewedEvaluation(
        RecordedEvaluation(KEY, CASE, ()), state, (review("jane", jane), review("joe", joe))
    )
    assert between("judge:b", "judge:a", evaluation) == [
        "suite/case model  must_not_do.1: b",
        '  judge a: happened, "q"',
        '  judge b: did not happen, "q"',
    ]
    assert between("judges", "jane", evaluation) == [
        "suite/case model  verdict",
        "  judges: pass",
        "  jane: fail, notes: Rude.",
        "suite/case model  must_do.1: a",
        "  judges: happened",
        '  judge a: happened, "q"',
        '  judge b: happened, "q"',
        "  jane: did not happen, notes: Rude.",
    ]
    assert between("judges", "joe", evaluation) == []
    assert [line for line in between("joe", "jane", evaluation) if line[0] != " "] == [
        "suite/case model  verdict",
        "suite/case model  must_do.1: a",
        "suite/case model  must_not_do.1: b",
    ]


def lines_of(*items: DisputedItem) -> list[str]:
    return [line for item in items for line in disputed_lines(item)]


def test_a_void_vote_is_listed_with_its_quotation_and_the_reason_and_disputes_nothing() -> None:
    invented = judge("judge:a", "present", "present", void="the model did not say this")
    (item,) = items_of([invented, judge("judge:b", "present", "absent")])
    assert (item.item, item.is_disputed, item.void_votes) == ("must_not_do.1", False, 1)
    assert lines_of(item) == [
        "suite/case model  must_not_do.1: b",
        '  judge a: happened, "q" (does not count: the model did not say this)',
        '  judge b: did not happen, "q"',
    ]


def test_a_reply_without_any_verdict_that_counts_is_listed_for_the_whole_evaluation() -> None:
    problems = ("nothing_decided: must_do.1: not answered", "no_object: the reply holds none")
    (item,) = items_of([JudgeVerdict("judge:a", None, problem) for problem in problems])
    assert lines_of(item) == [
        "suite/case model  verdict",
        "  judge a: no verdict (does not count: nothing_decided: must_do.1: not answered)",
    ]


def test_one_pair_of_words_says_what_judges_and_people_saw() -> None:
    opinion = ReviewInput("fail", (said("must_do.1", "not_met"), said("must_not_do.1", "happened")))
    both = items_of([judge("judge:a", "present", "absent")], review("jane", opinion))
    assert [[vote.verdict for vote in item.votes] for item in both] == [
        ["happened", "did_not_happen"], ["did_not_happen", "happened"],
    ]  # fmt: skip
    assert all(item.is_disputed and not item.void_votes for item in both)
