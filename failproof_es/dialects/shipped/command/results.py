"""Evaluations and runs in the JSON of specification 004: pure folds over recorded events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation
from failproof_es.dialects.kit import cut_off
from failproof_es.dialects.shipped.command.models import (
    AnswerSafety,
    BackendError,
    Category,
    CategoryResult,
    EvaluationResult,
    FailedCase,
    ModelResult,
)
from failproof_es.dialects.shipped.command.scorer import is_answered, is_safe
from failproof_es.events import ModelSnapshot, RunStarted
from failproof_es.support.timestamps import utc_text


def case_result(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    """One evaluation as JSON: the fields of `FailedCase`, for passed cases too, and the verdicts.

    `passed` and `reason` are null while undecided. Raises `ValueError` for an evaluation that has
    not begun.
    """
    if evaluation.started_at is None:
        raise ValueError("an evaluation without events has no result")
    details = evaluation.classification.details if evaluation.classification else {}
    verdicts = {name: details.get(name) for name in ("equivalence", "safety", "posix")}
    return {
        "test_id": case.case_id,
        "prompt": case.document["prompt"],
        "expected": case.document["expected_command"],
        "actual": details.get("command", ""),
        "reason": _reason(evaluation),
        "passed": _passed(evaluation) if evaluation.finished else None,
        "category": case.category,
        "suite_id": case.suite_id,
        "run_id": str(evaluation.run_id),
        "model_id": evaluation.model_key,
        "timestamp": utc_text(evaluation.started_at),
        "raw_response": evaluation.replies[-1].text_or_refusal if evaluation.replies else None,
        "removed": details.get("removed", []),
        **verdicts,
        "checked_by": evaluation.classification.version if evaluation.classification else None,
    }


def evaluation_results(
    started: RunStarted, evaluations: Iterable[tuple[Case, Evaluation]]
) -> Iterator[dict[str, Any]]:
    """One `ModelResult`, as JSON, for each model of a run, over its finished evaluations.

    A category without a case is not listed. An evaluation without an answer counts as failed, with
    a `backend_error`. `failed_cases` are in plan order.
    """
    sums = {model.key: _ModelTotals(model) for model in started.models}
    for case, evaluation in evaluations:
        if evaluation.finished and evaluation.model_key is not None:
            sums[evaluation.model_key].add(case, evaluation)
    for model_sum in sums.values():
        yield model_sum.result(started).model_dump(mode="json")


@dataclass(slots=True)
class _ModelTotals:
    """The counts for one model, by category, and its failed cases."""

    model: ModelSnapshot
    totals: dict[Category, int] = field(default_factory=lambda: dict.fromkeys(Category, 0))
    passed: dict[Category, int] = field(default_factory=lambda: dict.fromkeys(Category, 0))
    answers: dict[Category, int] = field(default_factory=lambda: dict.fromkeys(Category, 0))
    dangerous: dict[Category, int] = field(default_factory=lambda: dict.fromkeys(Category, 0))
    failed: list[FailedCase] = field(default_factory=list)
    last: datetime | None = None

    def add(self, case: Case, evaluation: Evaluation) -> None:
        category = Category(str(case.category))
        self.totals[category] += 1
        classification = evaluation.classification
        if classification is not None and is_answered(classification):
            self.answers[category] += 1
            self.dangerous[category] += not is_safe(classification)
        if evaluation.finished_at is not None:
            self.last = max(self.last or evaluation.finished_at, evaluation.finished_at)
        if _passed(evaluation):
            self.passed[category] += 1
            return
        one = case_result(case, evaluation)
        self.failed.append(FailedCase.model_validate(one))

    def result(self, started: RunStarted) -> ModelResult:
        counted = EvaluationResult.new(
            backend=str(self.model.settings.get("backend") or self.model.provider),
            total_tests=sum(self.totals.values()),
            passed_tests=sum(self.passed.values()),
            category_results={
                str(category): CategoryResult.new(total, self.passed[category])
                for category, total in self.totals.items()
                if total
            },
            failed_cases=self.failed,
            timestamp=utc_text(self.last or started.timestamp),
            caro_version=started.code_version,
        )
        return ModelResult(
            **dict(counted),
            model_id=self.model.key,
            answer_safety=AnswerSafety.new(
                sum(self.answers.values()), sum(self.dangerous.values())
            ),
            answer_safety_per_category={
                str(category): AnswerSafety.new(self.answers[category], self.dangerous[category])
                for category, total in self.totals.items()
                if total
            },
        )


def _passed(evaluation: Evaluation) -> bool:
    return evaluation.score is not None and evaluation.score.passed is True


def _reason(evaluation: Evaluation) -> dict[str, Any] | None:
    """Why the case failed, in the specification's JSON; `None` if it passed or is undecided.

    A failure that ended the evaluation comes before the reason in its class.
    """
    ended, score = evaluation.abandoned, evaluation.score
    if ended is not None:
        return BackendError(message=ended.reason).model_dump(mode="json")
    if score is not None and score.scorer == cut_off.STOPPED_SCORER:
        return BackendError(message=score.reason).model_dump(mode="json")
    classification = evaluation.classification
    return classification.details.get("reason") if classification else None
