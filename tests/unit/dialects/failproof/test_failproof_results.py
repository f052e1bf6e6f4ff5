"""RunResult has exactly the specification's shape."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any
from uuid import UUID

import pytest
from jsonschema import Draft7Validator, FormatChecker

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Classification, Evaluation, ModelReply, Score
from failproof_es.dialects.shipped.failproof import FailProof
from failproof_es.events import EvaluationAbandoned

CASE = Case(
    dialect="failproof", case_id="c1", suite_id="s", turns=(Turn(role="user", content="?"),)
)
BEGUN: dict[str, Any] = {
    "version": 3,
    "run_id": UUID(int=1),
    "model_key": "smollm2",
    "started_at": datetime(2026, 11, 21, 5, 0, tzinfo=UTC),
}
formats = FormatChecker(formats=())


@formats.checks("date-time", raises=ValueError)
def is_date_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def schema(name: str) -> dict[str, Any]:
    text = (
        files("failproof_es.dialects.shipped.failproof").joinpath(f"{name}.schema.json").read_text()
    )
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def result(**state: Any) -> dict[str, Any]:
    found = FailProof().result(CASE, Evaluation(**BEGUN, **state))
    Draft7Validator(schema("run_result"), format_checker=formats).validate(found)
    assert set(found) <= set(schema("run_result")["properties"])
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def test_a_scored_evaluation_has_every_field() -> None:
    assert result(
        replies=(ModelReply(0, " 42\n", "stop"),),
        classification=Classification("pass", {"rule": "r"}, "c", "1"),
        score=Score({"accuracy": 1.0}, "why", "s", "1", passed=True),
        finished_at=datetime(2026, 11, 21, 6, 0, tzinfo=UTC),
    ) == {
        "case_id": "c1",
        "suite_id": "s",
        "run_id": str(UUID(int=1)),
        "model_id": "smollm2",
        "timestamp_utc": "2026-11-21T05:00:00Z",
        "raw_response": " 42\n",
        "error": None,
        "classification": {"primary": "pass", "details": {"rule": "r"}},
        "scores": {"accuracy": 1},
    }


def test_an_abandoned_evaluation_has_its_error_and_no_score() -> None:
    abandoned = EvaluationAbandoned(
        originator_id=UUID(int=2),
        originator_version=4,
        run_id=UUID(int=1),
        timestamp=BEGUN["started_at"],
        prompt_id=UUID(int=3),
        model_key="smollm2",
        repetition=1,
        kind="timeout",
        reason="no answer within 30 s",
    )
    found = result(abandoned=abandoned, classification=Classification("error", {}, "c", "1"))
    assert found["error"] == "no answer within 30 s"
    assert "scores" not in found and "raw_response" not in found


def test_an_evaluation_under_way_has_what_is_known() -> None:
    assert set(result()) == {*schema("run_result")["required"], "error"}


def test_an_evaluation_that_has_not_begun_has_no_result() -> None:
    with pytest.raises(ValueError, match="no result"):
        FailProof().result(CASE, Evaluation())
