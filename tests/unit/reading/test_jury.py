"""The judges without whom an evaluation would be decided otherwise."""

from __future__ import annotations

from uuid import UUID

from failproof_es.core.evaluation import JudgeVerdict, Rule
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.reading.jury import Jury, decisive_judges
from tests.every import every
from tests.unit.dialects.redteam.test_red_team_grading import (
    ANSWERED,
    CASE,
    DIALECT,
    GOOD,
    SILENT,
    judge,
)

A, B = judge(*GOOD, key="a"), judge(*GOOD, key="b")
AGAINST = judge("present", "present", "met", key="against")


def judged(*judges: JudgeVerdict) -> EvaluationOutcome:
    classification = DIALECT.classify(CASE, ANSWERED)
    nobody = UUID(int=1)
    return EvaluationOutcome(
        evaluation_id=nobody, run_id=nobody, prompt_id=nobody, model_key="m", repetition=1,
        status="scored", class_=classification.primary, details=classification.details,
        judges=judges,
    )  # fmt: skip


@every(
    ("rule", "judges", "decisive"),
    [
        ("majority", (A, B, AGAINST), ["a", "b"]),
        ("majority", (A, B, judge(*GOOD, key="c")), []),
        ("majority", (A, SILENT), ["silent"]),
        ("unanimous", (A, B, AGAINST), ["against"]),
        ("unanimous_or_people", (A, B, AGAINST), ["against"]),
        ("majority", (A,), []),
    ],
)
def test_a_judge_is_decisive_if_the_decision_would_be_another_one_without_it(
    rule: Rule, judges: tuple[JudgeVerdict, ...], decisive: list[str]
) -> None:
    assert list(decisive_judges(DIALECT, rule, CASE, judged(*judges))) == decisive


def test_a_jury_counts_verdicts_and_decisions_by_judge() -> None:
    jury = Jury(DIALECT, "majority")
    for judges in ((A, B, AGAINST), (A, SILENT)):
        jury.add(CASE, judged(*judges))
    assert jury.asked == {"a": 2, "b": 1, "against": 1, "silent": 1}
    assert jury.verdicts == {"a": 2, "b": 1, "against": 1, "silent": 0}
    assert jury.decisive == {"a": 1, "b": 1, "silent": 1}
