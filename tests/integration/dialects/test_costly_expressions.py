"""Expressions of cases that cost too much: each is stopped in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import ModelReply, Transcript
from failproof_es.dialects.shipped.failproof import FailProof
from failproof_es.problems import Problems

pytestmark = pytest.mark.usefixtures("soon_stopped")

COSTLY = "((a{1000}){1000}){1000}"


def test_it_is_an_error_of_its_line(tmp_path: Path) -> None:
    file = tmp_path / "suite.jsonl"
    case = {"suite_id": "s", "prompt": "Hello"}
    lines = [{**case, "case_id": "a", "expected_response": COSTLY}, {**case, "case_id": "b"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    problems = Problems()
    assert [case.case_id for case in FailProof().load([file], problems)] == ["b"]
    (error,) = problems.errors
    assert "costs too much" in error.message and error.remedy
    assert (error.line, error.field) == (1, "expected_response")


def test_it_is_an_error_of_an_answer_that_was_planned_elsewhere() -> None:
    turns = (Turn(role="user", content="How?"),)
    expectation = {"expected_response": COSTLY}
    case = Case(
        dialect="failproof", case_id="c", suite_id="s", turns=turns, expectation=expectation
    )
    classified = FailProof().classify(
        case, Transcript((ModelReply(0, "a" * 40 + "!", "stop", None),))
    )
    assert (classified.primary, classified.details["rule"]) == ("error", "unusable_pattern")
