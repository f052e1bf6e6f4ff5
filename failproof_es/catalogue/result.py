"""The relation of results: one row for each planned evaluation of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from failproof_es.core.outcome import EvaluationOutcome, Status
from failproof_es.core.people import PeopleOutcome
from failproof_es.core.severity import severity_of
from failproof_es.core.unscored import UnscoredGroup
from failproof_es.dialects.expectations import expectations_of, unmet
from failproof_es.reading.recorded_run import Origin, PlannedOutcome, RecordedRun


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """The result of one planned evaluation. Texts are whole, as they were recorded."""

    run_number: int
    """Number of the run."""
    run_id: UUID
    """Id of the run."""
    origin: Origin
    """`asked` here, or `imported` from the records of another tool."""
    place: int
    """Place in the plan, from 1."""
    evaluation_id: UUID
    """Stream of its events: `failproof-es log --stream ID` prints them."""
    suite_id: str
    """Suite of the case."""
    case_id: str
    """Name of the case in its suite."""
    category: str | None
    """Category of the case."""
    severity: str | None
    """Severity of the case, in its dialect's words."""
    tags: tuple[str, ...]
    """Tags of the case."""
    model_key: str
    """Name of the model in this run."""
    repetition: int
    """Number of the repetition, from 1."""
    status: Status
    """`planned`, `unfinished`, `scored` or `abandoned`: ended without a score."""
    awaiting_review: bool
    """Whether it was left to people and nobody has reviewed it yet."""
    by_people: PeopleOutcome | None
    """Verdict of people; empty where it was not left to them."""
    lost: bool
    """Whether the model gave no usable answer."""
    unscored_as: UnscoredGroup | None
    """Why it ended without a score; empty where it has one."""
    class_: str | None
    """Class of the answer, in its dialect's words."""
    passed: bool | None
    """Whether it passed; empty without a score, and where a score neither passes nor fails."""
    accuracy: float | None
    """Score from 0 to 1."""
    scores: Mapping[str, float]
    """Every score by its name, those of installed scorers among them."""
    questions: tuple[str, ...]
    """Texts of the user's turns."""
    answer: str | None
    """Text of the last reply."""
    expected: tuple[str, ...]
    """The expectations of the case; for a failed result, those that the answer does not meet."""
    got: tuple[str, ...]
    """For a failed result, the actual counterpart of each item of `expected`; otherwise empty."""
    reason: str
    """Why the score is what it is, or why there is none."""
    error_kind: str | None
    """Kind of the last error without a later good answer, or of the reason why it was abandoned."""
    error_message: str | None
    """Message of that error or reason."""
    requests: int
    """Requests sent, those to judges included."""
    retries: int
    """Requests that repeated a failed or orphaned one."""
    latency_ms: float | None
    """Milliseconds from request to answer, summed over the turns."""
    first_token_ms: float | None
    """Milliseconds to the first token: the mean of the streamed turns."""
    tokens_per_second: float | None
    """Tokens after the first, divided by the time after the first token, over the streamed turns.
    """
    input_tokens: int | None
    """Tokens that were read, of the turns that reported them."""
    output_tokens: int | None
    """Tokens that were written, of the turns that reported them."""
    cost_usd: Decimal | None
    """US dollars of the model's turns, without judges; empty where the cost of a turn is not
    known."""
    finish_reason: str | None
    """Why the last reply ended, in its server's word."""
    model_answered: str | None
    """Name that the model gave itself in the last reply."""
    source_run_id: UUID | None
    """Run that it was carried over from; its requests, times and cost are of that run."""
    started_at: datetime | None
    """Time of its first event, UTC."""
    finished_at: datetime | None
    """Time when it was scored or abandoned, UTC."""

    @classmethod
    def of(cls, planned: PlannedOutcome, run: RecordedRun) -> RecordedResult:
        """The row of a planned evaluation; `run` is the run that `planned` belongs to."""
        case, outcome = planned.case, planned.outcome
        expectations = expectations_of(case, outcome)
        failed = unmet(expectations) if planned.failed else ()
        return cls(
            run_number=run.started.run_number,
            origin=run.origin,
            place=planned.place,
            suite_id=case.suite_id,
            case_id=case.case_id,
            category=case.category,
            severity=severity_of(case),
            tags=case.tags,
            awaiting_review=planned.people == "awaiting",
            by_people=planned.by_people,
            questions=case.questions,
            expected=tuple(one.expected for one in failed or expectations),
            got=tuple(one.got or "" for one in failed),
            **{name: getattr(outcome, name) for name in _OF_THE_OUTCOME},
        )


_OF_THE_OUTCOME = tuple(
    field.name
    for field in fields(RecordedResult)
    if hasattr(EvaluationOutcome, field.name) and field.name != "awaiting_review"
)
"""Fields that repeat the outcome. `awaiting_review` knows more: whether people have seen it."""
