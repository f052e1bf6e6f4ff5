"""An evaluation in the shape of specification 003's `Result`, and its status."""

from __future__ import annotations

from typing import Any, Literal

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation

Status = Literal["NEW", "PENDING_JUDGEMENT", "JUDGEMENT_COMPLETED", "FAILED"]

NOT_SCORED = -1.0


def status(evaluation: Evaluation) -> Status:
    """The state of the evaluation in specification 003's words.

    JUDGEMENT_COMPLETED: it has a score. FAILED: it ended without one. PENDING_JUDGEMENT: the model
    has answered. NEW: any other.
    """
    if evaluation.score is not None:
        return "JUDGEMENT_COMPLETED"
    if evaluation.abandoned is not None:
        return "FAILED"
    failed = evaluation.last_error is not None and evaluation.last_error.purpose == "target"
    return "PENDING_JUDGEMENT" if evaluation.replies and not failed else "NEW"


def result(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation so far as a `Result` (specification 003 § 3).

    `result_id` and `run_id` are null: the evaluation has no such numbers, the caller fills them in.
    `evaluation_score` is -1 without a score.
    """
    score, ended = evaluation.score, evaluation.abandoned
    return {
        "result_id": None,
        "run_id": None,
        "model_name": evaluation.model_key or "",
        "task_id": case.case_id,
        "llm_response": evaluation.replies[-1].text_or_refusal if evaluation.replies else "",
        "time_taken_ms": round(evaluation.latency_ms),
        "tokens_generated": evaluation.usage.output_tokens or 0,
        "status": status(evaluation),
        "evaluation_score": score.scores["evaluation_score"] if score else NOT_SCORED,
        "evaluation_reason": score.reason if score else "",
        "error_message": f"{ended.kind}: {ended.reason}" if ended else None,
    }
