"""`Result`: one planned evaluation as a typed row, and the columns of a data frame.

Nothing is computed here: each value is one of the case's or of its `EvaluationOutcome`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

from failproof_es.core.outcome import Status
from failproof_es.core.people import PeopleOutcome
from failproof_es.reading.recorded_run import PlannedOutcome

Kind = Literal["text", "texts", "integer", "number", "boolean", "moment"]
"""What a column holds. Each may be missing, but `texts`."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one planned evaluation. Texts are as they were recorded, whole."""

    place: int
    """Which of the plan it is, from 1."""
    suite: str
    case: str
    model: str
    repetition: int
    """From 1."""
    status: Status
    passed: bool | None
    """`None` where it has no score, or one that neither passes nor fails."""
    accuracy: float | None
    classification: str | None
    """The class of what came back, as its dialect names it."""
    reason: str
    """Why the score is what it is, or why there is none."""
    awaiting_review: bool
    """Whether it was left to people and nobody reviewed it yet."""
    by_people: PeopleOutcome | None
    """What people decided of it; `None` where it was not left to them."""
    category: str | None
    severity: str | None
    tags: tuple[str, ...]
    questions: tuple[str, ...]
    """What the user of the conversation says, turn by turn."""
    answer: str | None
    """The last reply."""
    finish_reason: str | None
    error_kind: str | None
    error_message: str | None
    requests: int
    """Requests sent, to the model and to judges."""
    latency_ms: float | None
    first_token_ms: float | None
    tokens_per_second: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: Decimal | None
    """In US dollars; `None` where it is not known."""
    started_at: datetime | None
    finished_at: datetime | None
    source_run_id: UUID | None
    """The run that it was carried over from; its requests, times and cost are of that run."""
    evaluation_id: UUID
    """Its stream: `failproof-es log --stream ID` prints each of its events."""
    scores: Mapping[str, float]
    """Every score by its name, those of installed scorers among them."""

    @classmethod
    def of(cls, planned: PlannedOutcome) -> Result:
        """The row of a planned evaluation."""
        case, outcome = planned.case, planned.outcome
        return cls(
            place=planned.place,
            suite=case.suite_id,
            case=case.case_id,
            model=outcome.model_key,
            repetition=outcome.repetition,
            status=outcome.status,
            passed=outcome.passed,
            accuracy=outcome.accuracy,
            classification=outcome.primary,
            reason=outcome.reason,
            awaiting_review=planned.people == "awaiting",
            by_people=planned.by_people,
            category=case.category,
            severity=case.severity,
            tags=case.tags,
            questions=tuple(turn.content for turn in case.turns if turn.role == "user"),
            answer=outcome.answer,
            finish_reason=outcome.finish_reason,
            error_kind=outcome.error_kind,
            error_message=outcome.error_message,
            requests=outcome.requests,
            latency_ms=outcome.latency_ms,
            first_token_ms=outcome.first_token_ms,
            tokens_per_second=outcome.tokens_per_second,
            input_tokens=outcome.input_tokens,
            output_tokens=outcome.output_tokens,
            cost_usd=outcome.cost_usd,
            started_at=outcome.started_at,
            finished_at=outcome.finished_at,
            source_run_id=outcome.source_run_id,
            evaluation_id=outcome.evaluation_id,
            scores=outcome.scores,
        )


COLUMNS: Mapping[str, Kind] = {
    "place": "integer", "suite": "text", "case": "text", "model": "text", "repetition": "integer",
    "status": "text", "passed": "boolean", "accuracy": "number", "classification": "text",
    "reason": "text", "awaiting_review": "boolean", "by_people": "text", "category": "text",
    "severity": "text", "tags": "texts", "questions": "texts", "answer": "text",
    "finish_reason": "text", "error_kind": "text", "error_message": "text",
    "requests": "integer", "latency_ms": "number",
    "first_token_ms": "number", "tokens_per_second": "number", "input_tokens": "integer",
    "output_tokens": "integer", "cost_usd": "number", "started_at": "moment",
    "finished_at": "moment", "source_run_id": "text", "evaluation_id": "text",
}  # fmt: skip
"""The columns of a data frame, in order. Each score follows as `score:NAME`, a number."""
