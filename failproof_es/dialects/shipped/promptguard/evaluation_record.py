"""An evaluation in the JSON shape of specification 001 § 3.2, unabridged."""

from __future__ import annotations

from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation
from failproof_es.core.reply_body import body_text
from failproof_es.support.timestamps import utc_text


def evaluation_record(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation so far, as a JSON record; unknown values are null.

    `model` is the name in the response, or the requested one without a response. A caller with the
    run's prices and models fills in `cost_usd`, which is null, and puts the model's template around
    `full_prompt`. Raises `ValueError` for an evaluation that has
    not begun.
    """
    request, response = evaluation.request, evaluation.response
    if evaluation.started_at is None or request is None:
        raise ValueError("an evaluation without events has no record")
    usage = evaluation.usage
    tokens = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    return {
        "evaluation_id": str(request.originator_id),
        "test_run_id": str(evaluation.run_id),
        "prompt_id": case.case_id,
        "model": (response.model if response else None) or request.model,
        "timestamp": utc_text(evaluation.started_at),
        "request": {
            "full_prompt": case.turns[0].content,
            "temperature": request.parameters.get("temperature"),
            "max_tokens": request.parameters.get("max_tokens"),
        },
        "response": {
            "raw": _raw(evaluation),
            "parsed": _parsed(evaluation),
            "error": _error(evaluation),
        },
        "metrics": {
            "latency_ms": round(evaluation.latency_ms) if response else None,
            "tokens_used": sum(tokens) if tokens else None,
            "cost_usd": None,
        },
    }


def _raw(evaluation: Evaluation) -> str | None:
    """The received body of the answer, or else of the last error; base64 if it is no text.

    `None` if neither was received.
    """
    last = evaluation.response or evaluation.last_error
    return None if last is None else body_text(last)


def _parsed(evaluation: Evaluation) -> dict[str, Any] | None:
    """The verdict as JSON with T, I, F and the reasoning; `None` for a reply without one."""
    details = evaluation.classification.details if evaluation.classification else {}
    if "T" not in details:
        return None
    return {name: details[name] for name in ("T", "I", "F", "reasoning")}


def _error(evaluation: Evaluation) -> str | None:
    """Kind and message of the error, with the stack trace if there is one (§ 5.2).

    `None` without an error.
    """
    if error := evaluation.last_error:
        message = f"{error.kind}: {error.message}"
        return f"{message}\n\n{error.stack_trace}" if error.stack_trace else message
    if ended := evaluation.abandoned:
        return f"{ended.kind}: {ended.reason}"
    return None
