"""Who is compared with whom, on what, and what is left out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from failproof_es.case import Case, Turn, review_id
from failproof_es.engine.recorded import RecordedEvaluation
from failproof_es.engine.review_comparison import Between, Comparison
from failproof_es.engine.reviews import Opinion, ReviewedEvaluation
from failproof_es.evaluation import Evaluation, EvaluationKey, JudgeVerdict, Score
from failproof_es.events import ItemVerdict, Reviewed, ReviewedItem

RUN, PROMPT = UUID(int=1), UUID(int=2)
KEY = EvaluationKey(RUN, PROMPT, "model")
CASE = Case(
    dialect="redteam",
    case_id="case",
    suite_id="suite",
    turns=(Turn(role="user", content="?"),),
    expectation={"must_do": ["a"], "must_not_do": ["b"], "pass_criteria": []},
    tags=("paraphrase:one",),
)


def review(reviewer: str, opinion: Opinion) -> Reviewed:
    return Reviewed(
        originator_id=review_id(KEY.evaluation_id), originator_version=1, run_id=None,
        timestamp=datetime(2026, 11, 21, tzinfo=UTC), about=RUN, who="w", where="h",
        evaluation_id=KEY.evaluation_id, reviewer=reviewer, items=opinion.items,
        verdict=opinion.verdict, severity=opinion.severity, tags=opinion.tags, notes=opinion.notes,
        blind=True, file_sha256=None,
    )  # fmt: skip


def said(item: str, verdict: ItemVerdict) -> ReviewedItem:
    return ReviewedItem(item=item, verdict=verdict)


def judge(name: str, must_do: str | None, must_not_do: str, void: str | None = None) -> Any:
    entries = [
        {"item": "must_do.1", "verdict": must_do, "quote": "q", "void": None},
        {"item": "must_not_do.1", "verdict": must_not_do, "quote": "q", "void": void},
    ]
    return JudgeVerdict(name, {"items": entries})


def compared(
    scores: dict[str, float] | None, *reviews: Reviewed, verdicts: tuple[Any, ...] = ()
) -> dict[Between, list[tuple[str, str]]]:
    score = None if scores is None else Score(scores, "r", "s", "1")
    state = Evaluation(score=score, verdicts=verdicts)
    comparison = Comparison()
    comparison.add(ReviewedEvaluation(RecordedEvaluation(KEY, CASE, ()), state, reviews))
    found = comparison.found()
    assert all(p.family == ("suite", "paraphrase:one") for _, pairs in found for p in pairs)
    return {between: [(p.one, p.other) for p in pairs] for between, pairs in found}


def test_judges_and_a_person_on_the_verdict_and_on_every_item_that_both_decided() -> None:
    scores = {"accuracy": 0.0, "must_do.1": 1.0, "must_not_do.1": 0.0}
    jane = review("jane", Opinion("pass", (said("must_do.1", "met"), said("gone.1", "met"))))
    assert compared(scores, jane, verdicts=(judge("j", "present", "present"),)) == {
        Between("judges", "jane", "items", True): [("met", "met")],
        Between("judges", "jane", "verdicts", True): [("fail", "pass")],
    }


def test_where_no_judge_spoke_checks_are_compared() -> None:
    found = compared({"accuracy": 1.0}, review("jane", Opinion("pass")))
    assert found == {Between("checks", "jane", "verdicts", True): [("pass", "pass")]}


def test_what_is_unclear_or_not_scored_is_left_out() -> None:
    assert compared({"accuracy": 1.0}, review("jane", Opinion("unclear"))) == {}
    assert compared(None, review("jane", Opinion("pass"))) == {}


def test_of_one_reviewer_the_last_word_is_compared() -> None:
    changed = (review("jane", Opinion("fail")), review("jane", Opinion("pass")))
    found = compared({"accuracy": 1.0}, *changed)
    assert list(found.values()) == [[("pass", "pass")]]


def test_two_people_are_compared_by_name() -> None:
    joe = review("joe", Opinion("fail", (said("must_do.1", "not_met"),)))
    jane = review("jane", Opinion("pass", (said("must_do.1", "met"),)))
    assert compared(None, joe, jane) == {
        Between("jane", "joe", "items", False): [("met", "not_met")],
        Between("jane", "joe", "verdicts", False): [("pass", "fail")],
    }


def test_two_judges_are_compared_where_both_proved_what_they_say() -> None:
    verdicts = (
        judge("one", "present", "absent"),
        judge("two", "absent", "present", void="not said"),
        JudgeVerdict("three", None, "no answer"),
    )
    assert compared(None, verdicts=verdicts) == {
        Between("one", "two", "items", True): [("present", "absent")]
    }
