"""Observations as they are made of runs, for tests of what is made of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from failproof_es.core.pairing import Question
from failproof_es.report.data.observations import Observation


def observed(case: str = "c", passed: bool | None = True, **more: Any) -> Observation:
    """One evaluation that passed, unless told otherwise; `None` is lost to an error."""
    lost = passed is None
    fields: dict[str, Any] = {
        "series": "m",
        "run_id": UUID(int=1),
        "run_number": 1,
        "evaluation_id": UUID(int=2),
        "prompt_id": UUID(int=3),
        "model_key": "m",
        "suite": "s",
        "case": case,
        "cluster": ("s", case),
        "category": "s",
        "severity": None,
        "tags": (),
        "repetition": 1,
        "sent": True,
        "answered": not lost,
        "class_": "error" if lost else "pass",
        "judges": (),
        "passed": passed,
        "reason": "",
        "scores": {} if lost else {"accuracy": float(bool(passed))},
        "unscored_reason": "timeout" if lost else None,
        "refusal_wanted": False,
        "latency_ms": None,
        "first_token_ms": None,
        "tokens_per_second": None,
        "model_answered": None,
        "errors": (),
        "retries": 0,
        "graded_by": {},
        "fault": "does not contain the text" if passed is False else "",
    }
    fields |= more
    asked = f"{fields['suite']} {fields['case']}"
    question = Question(asked, asked, fields["suite"], fields["case"], fields["repetition"])
    return Observation(**{"question": question} | fields)


def tries(case: str, *passed: bool | None, **more: Any) -> list[Observation]:
    """The repetitions of one case, in order."""
    return [observed(case, each, repetition=n, **more) for n, each in enumerate(passed, 1)]
