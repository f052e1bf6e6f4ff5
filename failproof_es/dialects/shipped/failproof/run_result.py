"""RunResult: an evaluation in the JSON shape of specification 000 § 2."""

from __future__ import annotations

from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation
from failproof_es.support.timestamps import utc_text


def run_result(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation so far as a `RunResult`, without fields that are not known yet.

    `raw_response` is the reply's text, or else its refusal, unmodified; absent without a reply.
    `error` is null unless
    the evaluation failed. The numbers of installed scorers are beside the accuracy. Raises
    `ValueError` for an evaluation that has not begun.
    """
    if evaluation.started_at is None:
        raise ValueError("an evaluation without events has no result")
    result: dict[str, Any] = {
        "case_id": case.case_id,
        "suite_id": case.suite_id,
        "run_id": str(evaluation.run_id),
        "model_id": evaluation.model_key,
        "timestamp_utc": utc_text(evaluation.started_at),
    }
    if evaluation.replies:
        result["raw_response"] = evaluation.replies[-1].text_or_refusal
    result["error"] = _error(evaluation)
    if classification := evaluation.classification:
        result["classification"] = {
            "primary": classification.primary,
            "details": classification.details,
        }
    if evaluation.score is not None and "accuracy" in evaluation.score.scores:
        added = {name: evaluation.score.scores[name] for name in evaluation.score.graders}
        result["scores"] = {"accuracy": int(evaluation.score.scores["accuracy"]), **added}
    return result


def _error(evaluation: Evaluation) -> str | None:
    if evaluation.abandoned is not None:
        return evaluation.abandoned.reason
    if evaluation.last_error is not None:
        return evaluation.last_error.message
    if evaluation.classification is not None and evaluation.classification.primary == "error":
        return str(evaluation.classification.details.get("message"))
    return None
