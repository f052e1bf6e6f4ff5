"""What a report counts: one observation for each planned evaluation of one or several runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from uuid import UUID

from failproof_es.costs import Spent
from failproof_es.dialects import dialect_named
from failproof_es.dialects.foregone import foregone
from failproof_es.dialects.protocol import Dialect, Foregone
from failproof_es.engine.asked_cases import question_of
from failproof_es.engine.recorded import Connection, RecordedEvaluation, recorded_evaluations
from failproof_es.evaluation import Evaluation
from failproof_es.events import ErrorRecorded, Event, RequestSent, ResponseReceived
from failproof_es.outcome import spending_of
from failproof_es.pairing import Question
from failproof_es.run import Run

REFUSAL_WANTED = "refusal"
"""The tag of a case to which a refusal is the right answer."""
UNFINISHED = "unfinished"
"""Why what is still under way has no score."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What became of one planned evaluation."""

    series: str
    """Whose results these are: the model, and the run where there are several."""
    run_id: UUID
    run_number: int
    evaluation_id: UUID
    prompt_id: UUID
    model_key: str
    suite: str
    case: str
    cluster: tuple[str, str]
    """What it is not independent of: its case, or the family that its case belongs to."""
    category: str
    severity: str | None
    tags: tuple[str, ...]
    repetition: int
    question: Question
    """What was asked, for the n-th time, as it is compared."""
    sent: bool
    answered: bool
    primary: str | None
    judges: tuple[tuple[str, bool], ...]
    """Each judge that is done, and whether it came to a verdict."""
    passed: bool | None
    """`None` where it was not scored."""
    reason: str
    scores: dict[str, float]
    lost: str | None
    """Why it was not scored."""
    refusal_wanted: bool
    latency_ms: float | None
    first_token_ms: float | None
    """The mean of its turns that were streamed."""
    tokens_per_second: float | None
    """Of its turns that were streamed: tokens after the first by the time after it."""
    spending: Mapping[str, Spent]
    """By who was asked: the model's key, or a judge's. What was carried over cost another run."""
    model_answered: str | None
    errors: tuple[str, ...]
    retries: int
    foregone: Foregone | None = None
    """What the case comes to whatever is answered."""


def observations(
    connection: Connection, run: Run, *, named: str = "{model}"
) -> Iterator[Observation]:
    """Every planned evaluation of a run in plan order. `named` makes a series of `{model}`."""
    dialect = dialect_named(run.started.dialect)
    questions: dict[UUID, Question] = {}
    for recorded in recorded_evaluations(connection, run):
        prompt = recorded.key.prompt_id
        if prompt not in questions:
            questions[prompt] = question_of(recorded.case)
        question = questions[prompt]._replace(repetition=recorded.key.repetition)
        yield _observed(recorded, run, question, named, dialect)


def _observed(
    recorded: RecordedEvaluation, run: Run, question: Question, named: str, dialect: Dialect
) -> Observation:
    state, case = recorded.state(), recorded.case
    history = recorded.history
    response = state.response
    streamed = [each for each in _answers(history) if each.first_token_ms is not None]
    accuracy = None if state.score is None else state.score.scores.get("accuracy")
    return Observation(
        series=named.format(model=recorded.key.model_key),
        run_id=recorded.key.run_id,
        run_number=run.started.run_number,
        evaluation_id=recorded.key.evaluation_id,
        prompt_id=recorded.key.prompt_id,
        model_key=recorded.key.model_key,
        suite=case.suite_id,
        case=case.case_id,
        cluster=case.family,
        category=case.category or case.suite_id,
        severity=case.severity,
        tags=case.tags,
        repetition=recorded.key.repetition,
        question=question,
        sent=any(isinstance(event, RequestSent) for event in history),
        answered=response is not None,
        primary=None if state.classification is None else state.classification.primary,
        judges=tuple((each.judge, each.verdict is not None) for each in state.verdicts),
        passed=None if accuracy is None else accuracy >= 1,
        reason=_reason(state),
        scores={} if state.score is None else _of_every_case(state.score.scores),
        lost=_lost(state),
        refusal_wanted=REFUSAL_WANTED in case.tags,
        latency_ms=None if response is None else state.latency_ms,
        first_token_ms=fmean(each.first_token_ms or 0.0 for each in streamed) if streamed else None,
        tokens_per_second=speed_of(streamed),
        spending=spending_of(
            () if recorded.carried_over else _responses(history), run.prices or {}
        ),
        model_answered=None if response is None else response.model,
        errors=tuple(_kind(event) for event in history if isinstance(event, ErrorRecorded)),
        retries=sum(_is_retry(event) for event in history),
        foregone=foregone(dialect, case),
    )


def _answers(history: Sequence[Event]) -> Iterator[ResponseReceived]:
    """What the model under test answered, turn by turn."""
    for event in history:
        if isinstance(event, ResponseReceived) and event.purpose == "target":
            yield event


def _responses(history: Sequence[Event]) -> Iterator[ResponseReceived]:
    return (event for event in history if isinstance(event, ResponseReceived))


def speed_of(streamed: Sequence[ResponseReceived]) -> float | None:
    """Of the turns that told their tokens, each by its own time; `None` where none did."""
    tokens, ms = 0, 0.0
    for each in streamed:
        written, first = each.usage.output_tokens, each.first_token_ms
        if written and written > 1 and first is not None and each.latency_ms > first:
            tokens += written - 1
            ms += each.latency_ms - first
    return tokens / ms * 1000 if ms else None


def _of_every_case(scores: Mapping[str, float]) -> dict[str, float]:
    """The scores that mean the same in each case: a name with a dot is of one item of one case."""
    return {name: value for name, value in scores.items() if "." not in name}


def _reason(state: Evaluation) -> str:
    if state.score is not None:
        return state.score.reason
    return "" if state.abandoned is None else state.abandoned.reason


def _lost(state: Evaluation) -> str | None:
    if state.abandoned is not None:
        return state.abandoned.kind
    return None if state.finished else UNFINISHED


def _kind(error: ErrorRecorded) -> str:
    return error.kind if error.judge is None else f"{error.kind} ({error.judge})"


def _is_retry(event: Event) -> bool:
    return isinstance(event, RequestSent) and event.attempt > 1
