"""A pass needs the same evidence as a fail: losing votes at random changes no rate.

All patterns of votes are enumerated, each with its exact probability. A vote is lost with one
chance and wrong with another, both independent of the truth. Then the chance that a case is scored
must not depend on the truth either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Classification,
    Failure,
    Judgement,
    JudgeVerdict,
    ModelReply,
    Rule,
    Score,
    Transcript,
)
from failproof_es.dialects import dialect_named
from failproof_es.dialects.kit.judging import checklist
from failproof_es.dialects.shipped.benchmark.dialect import Benchmark
from failproof_es.dialects.shipped.redteam import RedTeam
from failproof_es.dialects.shipped.redteam.summary import Summary
from failproof_es.problems import Problems
from tests.every import every
from tests.unit.dialects.benchmark.test_benchmark_grading import CASE as TASK
from tests.unit.dialects.redteam.test_red_team_checks import case
from tests.unit.dialects.redteam.test_red_team_grading import FAILED, LOST, PASSED

LOSES, ERRS = Fraction(1, 7), Fraction(1, 5)
RULES: tuple[Rule, ...] = get_args(Rule)
Vote = Literal["right", "wrong", "lost"]
CHANCES: dict[Vote, Fraction] = {
    "lost": LOSES,
    "wrong": (1 - LOSES) * ERRS,
    "right": (1 - LOSES) * (1 - ERRS),
}
REDTEAM, BENCHMARK = RedTeam(), Benchmark()
TWO_ITEMS = (
    {"must_do": ["a", "b"]},
    {"must_not_do": ["a", "b"], "must_do": []},
    {"must_do": ["a"], "must_not_do": ["b"]},
    {"must_do": [], "pass_criteria": ["a", "b"], "absences": ["pass_criteria.2"]},
)
ONE_ITEM = ({"must_do": ["a"]}, {"must_not_do": ["a"], "must_do": []})
PANELS = [
    *((items, rule, judges) for items in TWO_ITEMS for rule in RULES for judges in (1, 2, 3)),
    *((items, rule, 4) for items in ONE_ITEM for rule in RULES),
]


def patterns(votes: int) -> Iterator[tuple[tuple[Vote, ...], Fraction]]:
    """Every pattern of so many votes, and its chance."""
    for pattern in product(CHANCES, repeat=votes):
        chance = Fraction(1)
        for vote in pattern:
            chance *= CHANCES[vote]
        yield pattern, chance


def checklist_verdicts(
    judged: Case, truth: Sequence[bool], pattern: Sequence[Vote]
) -> tuple[JudgeVerdict, ...]:
    """The verdicts of as many judges as the pattern has votes on each item."""
    items = checklist(judged.expectation)
    verdicts = []
    for judge in range(len(pattern) // len(items)):
        votes = pattern[judge * len(items) : (judge + 1) * len(items)]
        entries = []
        for item, holds, vote in zip(items, truth, votes, strict=True):
            passes = holds if vote == "right" else not holds
            word = item.words.passes if passes else item.words.fails
            lost = {"verdict": None, "void": "not answered"}
            entries.append(
                {"item": item.key, "quote": None, "turn": None}
                | (lost if vote == "lost" else {"verdict": word, "void": None})
            )
        void = "void_items" if "lost" in votes else None
        silent = all(vote == "lost" for vote in votes)
        verdicts.append(JudgeVerdict(f"j{judge}", None if silent else {"items": entries}, void))
    return tuple(verdicts)


def chance_of_score(
    score: Callable[[Sequence[Vote]], Score | Failure], votes: int
) -> tuple[Fraction, dict[frozenset[int], set[bool]]]:
    """The chance of a score; and whether there was one, by which of the votes were lost.

    Without wrong votes that must be one answer for each set.
    """
    total, by_lost = Fraction(0), dict[frozenset[int], set[bool]]()
    for pattern, chance in patterns(votes):
        scored = isinstance(score(pattern), Score)
        total += chance * scored
        if "wrong" not in pattern:
            lost = frozenset(n for n, vote in enumerate(pattern) if vote == "lost")
            by_lost.setdefault(lost, set()).add(scored)
    return total, by_lost


@pytest.mark.parametrize(("items", "rule", "judges"), PANELS)
@pytest.mark.thinned(fast=8, whole=len(PANELS))
def test_red_team_cases_are_scored_as_often_when_they_pass_as_when_they_fail(
    items: dict[str, list[str]], rule: Rule, judges: int
) -> None:
    judged = case(("user", "Well?"), **items)
    said = REDTEAM.classify(judged, Transcript((ModelReply(0, "Well, well.", "stop"),)))
    count = len(checklist(judged.expectation))
    found = []
    for truth in product((True, False), repeat=count):

        def score(pattern: Sequence[Vote], truth: Sequence[bool] = truth) -> Score | Failure:
            verdicts = checklist_verdicts(judged, truth, pattern)
            if all(verdict.verdict is None for verdict in verdicts):
                return Failure("judge_failed", "as `next_action` ends it")
            return REDTEAM.score(judged, said, Judgement(rule, verdicts))

        found.append(chance_of_score(score, count * judges))
    assert all(each == found[0] for each in found)
    assert 0 < found[0][0] < 1


@every("fails", ["unknown_source", "wrong_language", "missing_tool"])
@every("rule", RULES)
def test_what_the_checks_fail_is_scored_as_often_as_what_passes(fails: str, rule: Rule) -> None:
    judged = case(("user", "Well?"), must_do=["a"])
    said = REDTEAM.classify(judged, Transcript((ModelReply(0, "Well, well.", "stop"),)))
    chances = set()
    for failed in ([], [fails]):
        classification = Classification(
            said.primary, {**said.details, "fails": failed}, said.classifier, said.version
        )

        def score(
            pattern: Sequence[Vote], classification: Classification = classification
        ) -> Score | Failure:
            verdicts = checklist_verdicts(judged, (True,), pattern)
            return REDTEAM.score(judged, classification, Judgement(rule, verdicts))

        chances.add(chance_of_score(score, 2)[0])
        whole = score(("right", "right"))
        assert isinstance(whole, Score) and whole.passed is not bool(failed)
    assert len(chances) == 1


@every("rule", RULES)
@every("judges", [1, 2, 3])
def test_benchmark_tasks_are_scored_as_often_when_they_pass_as_when_they_fail(
    rule: Rule, judges: int
) -> None:
    """Scores that pass lie in three bands, scores that fail in one: that makes no difference."""
    said = BENCHMARK.classify(TASK, Transcript((ModelReply(0, "It is blue.", "stop"),)))
    passing, failing = (0.55, 0.75, 0.95), (0.0, 0.2, 0.45)
    found = []
    for truth in (True, False):
        total = Fraction(0)
        for pattern, chance in patterns(judges):
            for grades in product(range(3), repeat=judges):
                verdicts = tuple(
                    JudgeVerdict(str(n), None, "no_object: x")
                    if vote == "lost"
                    else JudgeVerdict(
                        str(n),
                        {
                            "score": (passing if truth is (vote == "right") else failing)[grade],
                            "reason": "r",
                        },
                    )
                    for n, (vote, grade) in enumerate(zip(pattern, grades, strict=True))
                )
                end = BENCHMARK.score(TASK, said, Judgement(rule, verdicts))
                total += chance * isinstance(end, Score) / 3**judges
        found.append(total)
    assert found[0] == found[1]
    assert 0 < found[0] < 1


@every("repetitions", [2, 3])
def test_cases_count_for_any_of_k_and_all_of_k_by_what_is_missing_alone(repetitions: int) -> None:
    by_missing: dict[tuple[bool, ...], set[tuple[int, int]]] = {}
    for outcomes in product((PASSED, FAILED, LOST), repeat=repetitions):
        summary = Summary(repetitions)
        for outcome in outcomes:
            document = {"title": "c"}
            named = {"case_id": "c", "document": document, "severity": "S1"}
            asked = Case.model_validate({**case(("user", "Well?")).model_dump(), **named})
            summary.add(asked, outcome)
        told = summary.as_json(repetitions)["repetitions"]
        counted = (told["pass_at_k"]["cases"], told["all_of_k"]["cases"])
        by_missing.setdefault(tuple(each is LOST for each in outcomes), set()).add(counted)
    assert all(len(counted) == 1 for counted in by_missing.values())


CUT: dict[str, tuple[dict[str, Any], str, str]] = {
    "failproof": (
        {"case_id": "a", "suite_id": "s", "prompt": "Hello", "expected_response": "yes"},
        "I say yes, and more",
        "I say no!, and more",
    ),
    "checks": (
        {
            "id": "a",
            "messages": [{"role": "user", "content": "Say 42"}],
            "checks": [{"kind": "contains", "values": ["42"]}],
        },
        "It is 42, you know.",
        "It is 41, you know.",
    ),
    "promptguard": (
        {"prompt_id": "a", "content": "Hello", "category": "c", "expected_label": "reciprocal"},
        'So: {"T": 0.8, "I": 0.1, "F": 0.1, "reasoning": "plain"} That is all.',
        'So: {"T": 0.1, "I": 0.1, "F": 0.8, "reasoning": "plain"} That is all.',
    ),
}


@pytest.mark.parametrize("name", CUT)
def test_wherever_a_reply_is_cut_off_a_right_one_is_scored_as_a_wrong_one_is(
    name: str, tmp_path: Path
) -> None:
    document, right, wrong = CUT[name]
    (tmp_path / "cases.jsonl").write_text(json.dumps(document))
    dialect = dialect_named(name)
    (asked,) = dialect.load([tmp_path / "cases.jsonl"], Problems())

    def end(text: str, finish_reason: str) -> Score | Failure:
        said = dialect.classify(asked, Transcript((ModelReply(0, text, finish_reason),)))
        return dialect.score(asked, said, None)

    whole = [end(text, "stop") for text in (right, wrong)]
    assert [isinstance(each, Score) and each.passed for each in whole] == [True, False]
    for length in range(len(right) + 1):
        ends = [end(text[:length], "length") for text in (right, wrong)]
        assert len({isinstance(each, Score) for each in ends}) == 1, right[:length]


def test_one_vote_against_and_one_missing_says_what_is_decided_and_what_is_not() -> None:
    judged = case(("user", "Well?"), must_do=["Greets.", "Asks back."])
    said = REDTEAM.classify(judged, Transcript((ModelReply(0, "Well, well.", "stop"),)))
    verdicts = checklist_verdicts(judged, (False, True), ("right", "lost"))
    end = REDTEAM.score(judged, said, Judgement("majority", verdicts))
    assert end == Failure(
        "judge_failed",
        "not decided: must_do 2; decided against the model: must_do 1 did not happen: Greets.",
    )


def test_votes_that_differ_are_told_from_votes_that_are_missing() -> None:
    judged = case(("user", "Well?"), must_do=["a"])
    said = REDTEAM.classify(judged, Transcript((ModelReply(0, "Well, well.", "stop"),)))

    def kind(rule: Rule, *pattern: Vote) -> str:
        verdicts = checklist_verdicts(judged, (True,), pattern)
        end = REDTEAM.score(judged, said, Judgement(rule, verdicts))
        return end.kind if isinstance(end, Failure) else "scored"

    assert kind("unanimous", "right", "wrong") == "judges_disagree"
    assert kind("unanimous", "right", "wrong", "lost") == "judges_disagree", "no vote could turn it"
    assert kind("unanimous", "right", "right", "lost") == "judge_failed"
    assert kind("majority", "right", "wrong") == "judges_disagree"
    assert kind("majority", "right", "wrong", "lost") == "judge_failed"
    assert kind("majority", "right", "right", "lost") == "scored"
