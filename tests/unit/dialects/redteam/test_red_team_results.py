"""What one evaluation of a red-team case comes out as: everything that is known, nothing more."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation, ModelReply, Transcript, fold
from failproof_es.dialects.shipped.redteam import RedTeam
from failproof_es.events import EvaluationAbandoned
from tests.unit.dialects.redteam.test_red_team_checks import case
from tests.unit.histories import KEY, RUN, History

DIALECT = RedTeam()
CASE = case(
    ("system", "Be kind."), ("user", "one"), ("assistant", "scripted"), ("user", "two"),
    must_do=["Answers."], must_not_do=["Shouts."],
).model_copy(
    update={
        "category": "Grounding",
        "severity": "S1",
        "tags": ("a", "b"),
        "document": {"title": "A title"},
    }
)  # fmt: skip
SCHEMA = json.loads(
    files("failproof_es.dialects.shipped.redteam").joinpath("result.schema.json").read_text("utf-8")
)
ITEMS = [
    {"item": "must_do.1", "verdict": "present", "quote": "my answer", "turn": 5, "void": None},
    {"item": "must_not_do.1", "verdict": "absent", "quote": None, "turn": None, "void": "no"},
]


def result_of(evaluation: Evaluation, of: Case = CASE) -> dict[str, Any]:
    found = DIALECT.result(of, evaluation)
    Draft202012Validator(SCHEMA).validate(found)
    return found


def answered() -> History:
    found = DIALECT.classify(CASE, Transcript((ModelReply(0, "my answer", "stop"),)))
    return History().sent().answered("my answer").classified(found.primary, found.details)


def judged() -> History:
    history = answered().asked_judge("j", "{}").judged("j", {"items": ITEMS})
    return history.asked_judge("k", "?").judged("k", None)


def scored(**scores: float) -> Evaluation:
    history = judged().scored()
    last = history.events[-1].model_copy(
        update={"scores": scores, "passed": scores["accuracy"] == 1, "reason": "because"}
    )
    return fold([*history.events[:-1], last])


def test_a_scored_evaluation_says_everything() -> None:
    found = result_of(scored(**{"accuracy": 1.0, "must_do.1": 1.0, "must_not_do.1": 0.0}))
    checks = found.pop("checks")
    assert (checks["primary"], checks["fails"]) == ("answer", [])
    nothing: dict[str, Any] = {"finish_reason": None, "refusal": None, "tool_calls": []}
    assert found == {
        "evaluation_id": str(KEY.evaluation_id),
        "run_id": str(RUN),
        "case_id": "c",
        "suite_id": "s",
        "title": "A title",
        "category": "Grounding",
        "severity_expectation": "S1",
        "tags": ["a", "b"],
        "language": "en",
        "model": "model",
        "repetition": 1,
        "timestamp": "2026-11-21T12:00:00.001000Z",
        "outcome": "passed",
        "reason": "because",
        "transcript": [
            {"turn": 1, "role": "system", "content": "Be kind.", "scripted": True, **nothing},
            {"turn": 2, "role": "user", "content": "one", "scripted": True, **nothing},
            {"turn": 3, "role": "assistant", "content": "scripted", "scripted": True, **nothing},
            {"turn": 4, "role": "user", "content": "two", "scripted": True, **nothing},
            {"turn": 5, "role": "assistant", "content": "my answer", "scripted": False,
             **nothing, "finish_reason": "stop"},
        ],
        "raw_response": "{}",
        "judgements": [
            {"judge": "j", "items": ITEMS, "problem": None, "reply": None},
            {"judge": "k", "items": None, "problem": "it says nothing", "reply": "?"},
        ],
        "items": [
            {"item": "must_do.1", "text": "Answers.", "passed": True,
             "judged": [{"judge": "j", "verdict": "present", "quote": "my answer"}]},
            {"item": "must_not_do.1", "text": "Shouts.", "passed": False, "judged": []},
        ],
        "reviews": None,
        "error": None,
    }  # fmt: skip


def left_to_people() -> Evaluation:
    ended = judged().abandoned().events[-1]
    assert isinstance(ended, EvaluationAbandoned)
    left = ended.model_copy(update={"kind": "awaiting_review", "reason": "nobody judges"})
    return fold([*judged().events, left])


@pytest.mark.parametrize(
    ("evaluation", "outcome", "reason", "error"),
    [
        (scored(accuracy=1.0), "passed", "because", None),
        (scored(accuracy=0.0), "failed", "because", None),
        (fold(judged().abandoned().events), "unscored", "no answer", "timeout"),
        (left_to_people(), "awaiting_review", "nobody judges", None),
        (fold(judged().events), "unfinished", None, None),
        (fold(History().sent().events), "unfinished", None, None),
    ],
)
def test_an_evaluation_has_an_outcome(
    evaluation: Evaluation, outcome: str, reason: str | None, error: str | None
) -> None:
    found = result_of(evaluation)
    assert (found["outcome"], found["reason"], found["error"]) == (outcome, reason, error)
    assert [item["passed"] for item in found["items"]] == [None, None]


def test_what_is_not_known_yet_is_null() -> None:
    found = result_of(fold(History().sent().events))
    assert (found["raw_response"], found["checks"], found["judgements"]) == (None, None, [])
    assert [turn["content"] for turn in found["transcript"]] == [
        "Be kind.", "one", "scripted", "two",
    ]  # fmt: skip


def test_an_evaluation_that_has_not_begun_has_no_result() -> None:
    with pytest.raises(ValueError, match="without events"):
        DIALECT.result(CASE, fold([]))
