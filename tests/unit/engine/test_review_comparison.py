"""Who is compared with whom, on what, and what is left out."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from statistics import fmean
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from failproof_es.core.case import Case, Turn, review_id
from failproof_es.core.evaluation import Evaluation, EvaluationKey, Judgement, JudgeVerdict, Score
from failproof_es.dialects.kit.judging import checklist, decide
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.engine.reviews.comparison import RaterComparison, RaterPair
from failproof_es.engine.reviews.people import ReviewedEvaluation, ReviewInput
from failproof_es.events import ItemVerdict, Reviewed, ReviewedItem, ReviewVerdict
from failproof_es.report.data.content import JudgeAgreement
from failproof_es.report.data.judge_agreement import agreements_in
from failproof_es.report.data.kappa import agreement

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


def review(reviewer: str, opinion: ReviewInput) -> Reviewed:
    return Reviewed(
        originator_id=review_id(KEY.evaluation_id), originator_version=1, run_id=None,
        timestamp=datetime(2026, 11, 21, tzinfo=UTC), about=RUN, who="w", where="h",
        evaluation_id=KEY.evaluation_id, reviewer=reviewer, items=opinion.items,
        verdict=opinion.verdict, severity=opinion.severity, tags=opinion.tags, notes=opinion.notes,
        blind=True, file_sha256=None, sheet=None, queue=None, seconds=None, adjudicates=False,
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
) -> dict[RaterPair, list[tuple[str, str]]]:
    score = None if scores is None else Score(scores, "r", "s", "1", passed=None)
    state = Evaluation(score=score, verdicts=verdicts)
    comparison = RaterComparison()
    comparison.add(ReviewedEvaluation(RecordedEvaluation(KEY, CASE, ()), state, reviews))
    found = comparison.compared_pairs()
    pairs = [(between, each.pairs) for between, each in found]
    assert all(p.family == ("suite", "paraphrase:one") for _, of in pairs for p in of)
    return {between: [(p.one, p.other) for p in of] for between, of in pairs}


def test_judges_and_a_person_on_the_verdict_and_on_every_item_that_both_decided() -> None:
    scores = {"accuracy": 0.0, "must_do.1": 1.0, "must_not_do.1": 0.0}
    saw = said("must_do.1", "met"), said("must_not_do.1", "did_not_happen"), said("gone.1", "met")
    jane = review("jane", ReviewInput("pass", saw))
    assert compared(scores, jane, verdicts=(judge("j", "present", "present"),)) == {
        RaterPair("judges", "jane", "items", True): [
            ("happened", "happened"), ("happened", "did_not_happen"),
        ],
        RaterPair("judges", "jane", "verdicts", True): [("fail", "pass")],
    }  # fmt: skip


def test_where_no_judge_spoke_checks_are_compared() -> None:
    found = compared({"accuracy": 1.0}, review("jane", ReviewInput("pass")))
    assert found == {RaterPair("checks", "jane", "verdicts", True): [("pass", "pass")]}


def test_what_is_unclear_or_not_scored_is_left_out() -> None:
    assert compared({"accuracy": 1.0}, review("jane", ReviewInput("unclear"))) == {}
    assert compared(None, review("jane", ReviewInput("pass"))) == {}


def test_of_one_reviewer_the_last_word_is_compared() -> None:
    changed = (review("jane", ReviewInput("fail")), review("jane", ReviewInput("pass")))
    found = compared({"accuracy": 1.0}, *changed)
    assert list(found.values()) == [[("pass", "pass")]]


def test_two_people_are_compared_by_name() -> None:
    joe = review("joe", ReviewInput("fail", (said("must_do.1", "not_met"),)))
    jane = review("jane", ReviewInput("pass", (said("must_do.1", "met"),)))
    assert compared(None, joe, jane) == {
        RaterPair("jane", "joe", "items", False): [("happened", "did_not_happen")],
        RaterPair("jane", "joe", "verdicts", False): [("pass", "fail")],
    }


def test_two_judges_are_compared_where_both_proved_what_they_say() -> None:
    verdicts = (
        judge("one", "present", "absent"),
        judge("two", "absent", "present", void="not said"),
        JudgeVerdict("three", None, "no answer"),
    )
    assert compared(None, verdicts=verdicts) == {
        RaterPair("one", "two", "items", True): [("happened", "did_not_happen")]
    }


def test_the_word_present_is_happened_in_every_list() -> None:
    verdicts = (judge("one", "present", "present"), judge("two", "present", "present"))
    assert compared(None, verdicts=verdicts) == {
        RaterPair("one", "two", "items", True): [("happened", "happened"), ("happened", "happened")]
    }


def test_what_was_unreadable_or_without_proof_is_counted_as_left_out_and_is_no_disagreement() -> (
    None
):
    comparison = RaterComparison()
    verdicts = (
        judge("two", "present", "present", void="not said"),
        judge("one", "present", "absent"),
        JudgeVerdict("three", None, "no answer"),
    )
    state = Evaluation(verdicts=verdicts)
    comparison.add(ReviewedEvaluation(RecordedEvaluation(KEY, CASE, ()), state, ()))
    (found,) = agreements_in(comparison)
    assert (found.one, found.other) == ("one", "two"), "in the order of their names"
    assert (found.agreeing, found.pairs, found.left_out) == (1, 1, 1)
    assert comparison.pairs[RaterPair("one", "three", "items", True)].left_out == 2


def both_ways(met: float, said: float, chance: np.random.Generator) -> dict[str, str | None]:
    """What a judge says that looks at nothing: it tosses a coin for each kind of item.

    `met` is how often it holds an item for met; `said` how often it can prove what it claims.
    """
    words = {}
    for item in checklist(MANY.expectation):
        word = item.words.passes if chance.random() < met else item.words.fails
        proved = word not in item.words.quoted or chance.random() < said
        words[item.key] = word if proved else None
    return words


MANY = CASE.model_copy(
    update={
        "tags": (),
        "expectation": {
            "must_do": ["a", "b"],
            "must_not_do": ["c", "d", "e"],
            "pass_criteria": ["f", "g"],
        },
    }
)


def tossed(name: str, words: dict[str, str | None]) -> JudgeVerdict:
    entries = [
        {"item": item, "verdict": word, "quote": "q", "void": None if word else "not said"}
        for item, word in words.items()
    ]
    return JudgeVerdict(name, {"items": entries})


_WORDS: tuple[tuple[ItemVerdict, ItemVerdict], ...] = (
    ("not_met", "met"),
    ("happened", "did_not_happen"),
)
"""A verdict against the model, and one for it; of what must not be done second."""


def person(name: str, chance: np.random.Generator, met: float) -> Reviewed:
    items = [
        said(item.key, _WORDS[item.kind == "must_not_do"][chance.random() < met])
        for item in checklist(MANY.expectation)
    ]
    verdict: ReviewVerdict = "pass" if chance.random() < met else "fail"
    return review(name, ReviewInput(verdict, tuple(items)))


def simulated(
    chance: np.random.Generator, met: tuple[float, float], said: float, cases: int = 40
) -> dict[tuple[str, str, str], JudgeAgreement]:
    """Everybody says what a coin says: two judges, what they came to, two people."""
    comparison = RaterComparison()
    for number in range(cases):
        case = MANY.model_copy(update={"case_id": f"case-{number}"})
        verdicts = tuple(
            tossed(name, both_ways(p, said, chance))
            for name, p in zip(("one", "two"), met, strict=True)
        )
        decisions = decide(checklist(MANY.expectation), Judgement("majority", verdicts))
        scores = {d.item.key: float(d.passes) for d in decisions if d.passes is not None}
        score = Score(
            {"accuracy": float(chance.random() < met[0]), **scores}, "r", "s", "1", passed=None
        )
        people = [person(each, chance, p) for each, p in zip("xy", met, strict=True)]
        recorded = RecordedEvaluation(KEY, case, ())
        comparison.add(
            ReviewedEvaluation(recorded, Evaluation(score=score, verdicts=verdicts), people)
        )
    return {(each.one, each.other, each.what): each for each in agreements_in(comparison)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("met", "said"),
    [((0.5, 0.5), 1.0), ((0.8, 0.8), 1.0), ((0.9, 0.3), 1.0), ((0.5, 0.5), 0.4), ((0.7, 0.6), 0.7)],
)
@pytest.mark.thinned(whole=1)
def test_who_tosses_coins_agrees_with_nobody_beyond_chance(
    met: tuple[float, float], said: float
) -> None:
    """Each figure of agreement there is: its 95 % interval holds 0 in 95 % of the draws."""
    chance = np.random.default_rng(20261122)
    draws = [simulated(chance, met, said) for _ in range(60)]
    assert set(draws[0]) == {
        ("one", "two", "items"),
        ("judges", "x", "items"), ("judges", "x", "verdicts"),
        ("judges", "y", "items"), ("judges", "y", "verdicts"),
        ("x", "y", "items"), ("x", "y", "verdicts"),
    }  # fmt: skip
    for between in draws[0]:
        found = [draw[between] for draw in draws if between in draw]
        intervals = [each.interval for each in found if each.interval is not None]
        assert len(intervals) > 50
        holding = sum(low <= 0 <= high for low, high in intervals)
        assert holding / len(intervals) >= 0.88, between
        kappas = [each.kappa for each in found if each.kappa is not None]
        assert abs(fmean(kappas)) < 0.05, between


def test_the_words_of_two_who_toss_coins_looked_like_agreement() -> None:
    """Eight verdicts, every pair of words once: agreement in four, as chance has it.

    Read as words of one scale they gave a kappa of one third.
    """
    behaviour = list(product(("present", "absent"), ("present", "absent")))
    criterion = list(product(("met", "not_met"), ("met", "not_met")))
    words = agreement([*behaviour, *criterion])
    assert (words.agreeing, words.pairs) == (4, 8)
    assert words.kappa == pytest.approx(1 / 3)
    coded = {"present": "met", "absent": "not_met", "met": "met", "not_met": "not_met"}
    right = agreement([(coded[one], coded[other]) for one, other in (*behaviour, *criterion)])
    assert (right.agreeing, right.pairs) == (4, 8)
    assert right.kappa == pytest.approx(0.0)
