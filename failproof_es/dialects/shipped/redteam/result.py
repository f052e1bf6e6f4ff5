"""The result document of one evaluation: transcript, checks, verdicts of judges, result.

`result.schema.json` describes it. Unknown values are null; nothing is shortened.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation, JudgeVerdict, awaits_review
from failproof_es.core.reply_body import body_text
from failproof_es.dialects.kit.judging import Item, checklist
from failproof_es.dialects.shipped.redteam.conversation import GradedTurn, spoken
from failproof_es.support.timestamps import utc_text

Outcome = Literal["passed", "failed", "unscored", "awaiting_review", "unfinished"]
"""`awaiting_review`: no judge model was asked. Once people reviewed the evaluation, its result
has their decision instead (`failproof_es.core.people.OUTCOMES`)."""


def result(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    """The result document of the evaluation so far.

    Raises `ValueError` for an evaluation that has not begun.
    """
    request, response = evaluation.request, evaluation.response
    if evaluation.started_at is None or request is None:
        raise ValueError("an evaluation without events has no result")
    classification = evaluation.classification
    return {
        "evaluation_id": str(request.originator_id),
        "run_id": str(evaluation.run_id),
        "case_id": case.case_id,
        "suite_id": case.suite_id,
        "title": case.document["title"],
        "category": case.category,
        "severity_expectation": case.severity,
        "tags": list(case.tags),
        "language": case.expectation["language"],
        "model": evaluation.model_key,
        "repetition": evaluation.repetition,
        "timestamp": utc_text(evaluation.started_at),
        "outcome": outcome_of(evaluation),
        "reason": _reason(evaluation),
        "transcript": [
            _turn(number, spoken_turn)
            for number, spoken_turn in enumerate(spoken(case.turns, evaluation.replies), 1)
        ],
        "raw_response": None if response is None else body_text(response),
        "checks": None
        if classification is None
        else {"primary": classification.primary, **classification.details},
        "judgements": [
            {
                "judge": verdict.judge,
                "items": verdict.verdict["items"] if verdict.verdict else None,
                "problem": verdict.problem,
                "reply": verdict.words,
            }
            for verdict in evaluation.verdicts
        ],
        "items": [_item(item, evaluation) for item in checklist(case.expectation)],
        "reviews": None,
        "error": _error(evaluation),
    }


def outcome_of(evaluation: Evaluation) -> Outcome:
    """Whether the evaluation passed, failed, awaits people, has no score or is unfinished."""
    if evaluation.score is not None:
        return "passed" if evaluation.score.passed else "failed"
    if awaits_review(evaluation):
        return "awaiting_review"
    return "unfinished" if evaluation.abandoned is None else "unscored"


def quotations(item: Item, verdicts: Iterable[JudgeVerdict]) -> list[dict[str, str]]:
    """Verdict and quotation of each judge with a valid vote on the item.

    The keys are `judge`, `verdict` and `quote`, which is empty if the judge quoted nothing.
    """
    return [
        {"judge": verdict.judge, "verdict": entry["verdict"], "quote": entry["quote"] or ""}
        for verdict in verdicts
        for entry in (verdict.verdict or {}).get("items", ())
        if entry["item"] == item.key and entry["void"] is None
    ]


def passed_item(item: Item, evaluation: Evaluation) -> bool | None:
    """Whether the item holds in the evaluation's score; `None` if there is no score of it."""
    number = evaluation.score.scores.get(item.key) if evaluation.score else None
    return None if number is None else number == 1.0


def _turn(number: int, spoken_turn: GradedTurn) -> dict[str, Any]:
    reply = spoken_turn.reply
    return {
        "turn": number,
        "role": spoken_turn.turn.role,
        "content": spoken_turn.turn.content if reply is None else reply.text,
        "scripted": reply is None,
        "finish_reason": None if reply is None else reply.finish_reason,
        "refusal": None if reply is None else reply.refusal,
        "tool_calls": []
        if reply is None
        else [call.model_dump(mode="json") for call in reply.tool_calls],
    }


def _item(item: Item, evaluation: Evaluation) -> dict[str, Any]:
    return {
        "item": item.key,
        "text": item.text,
        "passed": passed_item(item, evaluation),
        "judged": quotations(item, evaluation.verdicts),
    }


def _reason(evaluation: Evaluation) -> str | None:
    if evaluation.score is not None:
        return evaluation.score.reason
    return None if evaluation.abandoned is None else evaluation.abandoned.reason


def _error(evaluation: Evaluation) -> str | None:
    """The kind of failure that ended the evaluation without a score.

    `None` if it has a score, is unfinished or awaits people.
    """
    ended = None if awaits_review(evaluation) else evaluation.abandoned
    return None if ended is None else ended.kind
