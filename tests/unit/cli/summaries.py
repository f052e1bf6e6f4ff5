"""Summaries of small runs, made of outcomes: `summed(scored_one(1, 1), lost_one(2))`."""

from __future__ import annotations

from typing import Any
from uuid import uuid5

from failproof_es.core.case import Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.core.summary import RunCounts, RunSummary
from tests.unit.cli.samples import RUN, started

Counted = tuple[EvaluationOutcome, Case]


def an_outcome(
    case: int, model: str = "a", *, suite: str = "small", repetition: int = 1, **more: Any
) -> Counted:
    """What became of one evaluation, and its case."""
    outcome = EvaluationOutcome(
        evaluation_id=uuid5(RUN, f"{case}{model}{repetition}"),
        run_id=RUN,
        prompt_id=uuid5(RUN, str(case)),
        model_key=model,
        repetition=repetition,
        **{"status": "unfinished"} | more,
    )
    return outcome, Case(dialect="failproof", case_id=str(case), suite_id=suite, turns=())


def scored_one(case: int, accuracy: float | None, model: str = "a", **more: Any) -> Counted:
    """Scored, and passed with an accuracy of 1 unless it is said otherwise."""
    passed = None if accuracy is None else accuracy == 1
    scores = {} if accuracy is None else {"accuracy": accuracy}
    return an_outcome(
        case, model, status="scored", scores=scores, **{"passed": passed, "class_": "pass"} | more
    )


def abandoned_one(case: int, model: str = "a", **more: Any) -> Counted:
    """Ended without a score."""
    return an_outcome(case, model, status="abandoned", ended_kind="timeout", reason="slow", **more)


def summed(*counted: Counted, models: tuple[str, ...] = ("a",)) -> RunSummary:
    """The summary of a run of which that is all that happened."""
    counts = RunCounts()
    for outcome, case in counted:
        counts.add(outcome, case)
    manifest = started(*models, planned=10 * len(models))
    return RunSummary(run=Run(manifest=manifest, status="running"), counts=counts)
