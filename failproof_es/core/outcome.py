"""The outcome of one evaluation: every figure and word about it that is shown anywhere. Pure.

`EvaluationOutcome` is the one definition: `outcome_of` folds the log into it, the projections store
it, and all code that prints, compares or judges an evaluation reads it. A field is a column of the
tables, its docstring the column's comment (`projections.results.outcome_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

from failproof_es.core.costs import Prices, Spent, total
from failproof_es.core.evaluation import (
    Evaluation,
    EvaluationKey,
    ImpossibleHistory,
)
from failproof_es.core.evolution import fold_valid_prefix
from failproof_es.core.spend import RequestSpending, spending_of
from failproof_es.core.transcript import JudgeVerdict
from failproof_es.core.unscored import LOST, UnscoredGroup, unscored_group
from failproof_es.events import (
    AttemptOrphaned,
    CarriedOver,
    Classified,
    ErrorRecorded,
    Event,
    Judged,
    RequestSent,
    ResponseReceived,
    Scored,
)

Status = Literal["planned", "unfinished", "scored", "abandoned"]
"""`planned`: nothing was recorded yet. `unfinished`: begun, whether its run goes on or is paused.
`scored` and `abandoned` are final."""

FreeText = Annotated[str, "what somebody wrote"]
"""Any characters, and many of them; a plain `str` is a name."""

_NOTHING: Mapping[str, Any] = {}


class RequestError(NamedTuple):
    """One request that failed."""

    kind: str
    judge: str | None
    """The judge that was asked; `None` for the model under test."""
    message: str
    """The server's words in one line: its HTTP status and the message."""


class EvaluationOutcome(NamedTuple):
    """The recorded result of one planned evaluation, complete or not. To be made by keywords.

    An evaluation that was carried over from another run is told as it happened there; only
    `spending` leaves it out, because the other run paid for it.
    """

    evaluation_id: UUID
    """The stream of its events."""
    run_id: UUID
    """The run."""
    prompt_id: UUID
    """The stream of its case."""
    model_key: str
    """The configured model that was asked."""
    repetition: int
    """Number of the repetition, from 1."""
    status: Status = "planned"
    """Progress of the evaluation. `abandoned`: it ended without a score."""
    unscored_as: UnscoredGroup | None = None
    """Why it ended without a score; `None` where it did not."""
    source_run_id: UUID | None = None
    """The run that it was carried over from."""
    source_evaluation_id: UUID | None = None
    """The evaluation there."""
    started_at: datetime | None = None
    """Time of its first event in the run where it was asked. UTC."""
    finished_at: datetime | None = None
    """Time at which it was scored or abandoned. UTC."""

    # -- asking --
    requests: int = 0
    """Requests sent, to the model and to judges."""
    retries: int = 0
    """Requests that repeated a failed or orphaned one."""
    orphaned_requests: int = 0
    """Requests whose outcome nobody recorded, because the process died."""
    in_flight: bool = False
    """Whether a request waits for its outcome."""
    errors: tuple[RequestError, ...] = ()
    """Every request that failed, in order."""
    error_kind: str | None = None
    """Kind of the last error without a later good answer, or of the reason why it was abandoned."""
    error_message: FreeText | None = None
    """Message of that error or reason."""

    # -- the answer of the model under test --
    answer: FreeText | None = None
    """The text of its last reply, whole."""
    finish_reason: str | None = None
    """Why the last reply ended, as its server said."""
    model_answered: str | None = None
    """The model as the last reply named itself."""
    latency_ms: float | None = None
    """Milliseconds from request to answer, summed over all turns. `None` without an answer, and
    where the source of an imported one does not say."""
    first_token_ms: float | None = None
    """Milliseconds to the first token: the mean of the turns that were streamed."""
    tokens_per_second: float | None = None
    """Tokens after the first, divided by the time after the first token, over the streamed turns.
    """
    input_tokens: int | None = None
    """Tokens that were read, of the turns that reported them; `None` where none did."""
    output_tokens: int | None = None
    """Tokens that were written, of the turns that reported them; `None` where none did."""
    turns_without_usage: int = 0
    """Turns that did not report both: their tokens are missing above."""
    cost_usd: Decimal | None = None
    """US dollars of all turns, at the prices of this run, without judges: their cost is part of the
    run's alone. `None` where the cost of one turn is not known."""

    # -- the verdict --
    class_: str | None = None
    """The class of the reply, as its dialect names it."""
    details: Mapping[str, Any] = _NOTHING
    """The rule that decided the class."""
    judges: tuple[JudgeVerdict, ...] = ()
    """Each judge that is done, in the order in which they were asked."""
    scores: Mapping[str, float] = _NOTHING
    """Every score by its name."""
    passed: bool | None = None
    """The dialect's result for the score. `None` without a score or a pass mark."""
    reason: FreeText = ""
    """Why the score is what it is, or why there is none."""
    ended_kind: str | None = None
    """Why it was abandoned, in one word."""
    graded_by: Mapping[str, str] = _NOTHING
    """The version of each classifier, reader of judges and scorer that had a say, by its name."""

    # -- what it took --
    response_ms: tuple[float, ...] = ()
    """The milliseconds of each answer that the model under test gave in this run, in order."""
    spending: Mapping[str, Spent] = _NOTHING
    """Tokens and cost of this run's answers, and of requests that may have been charged, by the key
    of the model or judge."""
    impossible: FreeText | None = None
    """Why its record cannot be true or be read; the other fields describe the record before that.
    """

    @property
    def key(self) -> EvaluationKey:
        """The key of the evaluation."""
        return EvaluationKey(self.run_id, self.prompt_id, self.model_key, self.repetition)

    @property
    def finished(self) -> bool:
        """Whether it has its one final result."""
        return self.status in ("scored", "abandoned")

    @property
    def scored(self) -> bool:
        """Whether it has a score."""
        return self.status == "scored"

    @property
    def unscored(self) -> bool:
        """Whether it ended without a score."""
        return self.status == "abandoned"

    @property
    def awaiting_review(self) -> bool:
        """Whether only people can judge the answer: no error, and not lost."""
        return self.unscored_as == "awaiting_people"

    @property
    def lost(self) -> bool:
        """Whether the model gave no usable answer. A judge that failed loses no evaluation."""
        return self.unscored_as == LOST

    @property
    def failed(self) -> bool:
        """Whether its dialect says that it did not pass. Without a pass mark nothing fails."""
        return self.passed is False

    @property
    def carried_over(self) -> bool:
        """Whether it happened in another run."""
        return self.source_run_id is not None

    @property
    def answers(self) -> int:
        """The number of answers in this run, judges' included."""
        return sum(spent.answers for spent in self.spending.values())

    @property
    def accuracy(self) -> float | None:
        """The score named accuracy."""
        return self.scores.get("accuracy")


class FoldedHistory(NamedTuple):
    """The longest prefix of a history without a contradiction."""

    state: Evaluation
    possible: Sequence[Event]
    """The events up to there."""
    impossible: ImpossibleHistory | None
    """Why not further."""

    @classmethod
    def of(cls, history: Sequence[Event]) -> FoldedHistory:
        """Fold it, event by event."""
        state, count, impossible = fold_valid_prefix(history)
        return cls(state, history if impossible is None else history[:count], impossible)


def outcome_of(
    key: EvaluationKey,
    history: Sequence[Event],
    prices: Prices,
    *,
    carried_over: CarriedOver | None = None,
    broken: Exception | None = None,
    folded: FoldedHistory | None = None,
) -> EvaluationOutcome:
    """The outcome of an evaluation from its recorded events, the first one included.

    For a carried-over evaluation, `history` holds the source's events as events of this run.
    `broken` is the error at which reading stopped after `history`; `folded` is `history` already
    folded, if it is. Never raises: `impossible` of the outcome describes a contradiction.
    """
    state, possible, contradiction = folded or FoldedHistory.of(history)
    why = contradiction or broken
    classification, score, ended = state.classification, state.score, state.abandoned
    requests = retries = orphaned_requests = untold = 0
    answers: list[ResponseReceived] = []
    charged = spending_of(possible, prices)
    streamed: list[ResponseReceived] = []
    errors: list[RequestError] = []
    graded_by: dict[str, str] = {}
    error: ErrorRecorded | None = None
    for event in possible:
        if type(event) is RequestSent:
            requests += 1
            retries += event.attempt > 1
        elif type(event) is ResponseReceived:
            error = None
            answers.append(event)
            if event.purpose == "target":
                usage = event.usage
                untold += usage.input_tokens is None or usage.output_tokens is None
                if event.first_token_ms is not None:
                    streamed.append(event)
        elif type(event) is ErrorRecorded:
            errors.append(_request_error(event))
            error = event
        elif type(event) is AttemptOrphaned:
            orphaned_requests += 1
        elif type(event) is Classified:
            graded_by[event.classifier] = event.classifier_version
        elif type(event) is Judged:
            graded_by[event.grader] = event.grader_version
        elif type(event) is Scored:
            graded_by |= {event.scorer: event.scorer_version, **event.graders}
    error_kind, error_message = (None, None) if error is None else (error.kind, error.message)
    if ended is not None:
        error_kind, error_message = ended.kind, ended.reason
    imported = state.imported
    if imported is not None:
        usage = imported.usage
        untold += usage.input_tokens is None or usage.output_tokens is None
    of_replies = [
        spent.cost_usd
        for event, spent in charged
        if type(event) is ResponseReceived and event.purpose == "target"
    ]
    if carried_over is not None:
        answers, charged = [], []
    return EvaluationOutcome(
        evaluation_id=key.evaluation_id,
        run_id=key.run_id,
        prompt_id=key.prompt_id,
        model_key=key.model_key,
        repetition=key.repetition,
        status=_status(state),
        unscored_as=unscored_group(state),
        source_run_id=None if carried_over is None else carried_over.source_run_id,
        source_evaluation_id=None if carried_over is None else carried_over.source_evaluation_id,
        started_at=state.started_at,
        finished_at=state.finished_at,
        requests=requests,
        retries=retries,
        orphaned_requests=orphaned_requests,
        in_flight=state.in_flight is not None,
        errors=tuple(errors),
        error_kind=error_kind,
        error_message=error_message,
        answer=state.replies[-1].text_or_refusal if state.replies else None,
        finish_reason=state.replies[-1].finish_reason if state.replies else None,
        model_answered=state.replies[-1].model if state.replies else None,
        latency_ms=_latency_ms(state),
        first_token_ms=fmean(answer.first_token_ms or 0.0 for answer in streamed)
        if streamed
        else None,
        tokens_per_second=speed_of(streamed) if streamed else None,
        input_tokens=state.usage.input_tokens,
        output_tokens=state.usage.output_tokens,
        turns_without_usage=untold,
        cost_usd=total(of_replies) if of_replies else None,
        class_=None if classification is None else classification.primary,
        details={} if classification is None else classification.details,
        judges=state.verdicts,
        scores={} if score is None else score.scores,
        passed=None if score is None else score.passed,
        reason=score.reason if score else ended.reason if ended else "",
        ended_kind=None if ended is None else ended.kind,
        graded_by=graded_by,
        response_ms=tuple([one.latency_ms for one in answers if one.purpose == "target"]),
        spending=_sum_by_key(charged),
        impossible=None if why is None else str(why),
    )


def _sum_by_key(charged: Iterable[RequestSpending]) -> dict[str, Spent]:
    """The usage and cost of these requests, by the key of the model or judge that was asked.

    Changes the spending of requests.
    """
    spending: dict[str, Spent] = {}
    for request in charged:
        if request.key in spending:
            spending[request.key].include(request.spent)
        else:
            spending[request.key] = request.spent
    return spending


def speed_of(streamed: Iterable[ResponseReceived]) -> float | None:
    """Tokens per second after the first token, over the turns that reported their tokens."""
    tokens, ms = 0, 0.0
    for answer in streamed:
        output_tokens, first = answer.usage.output_tokens, answer.first_token_ms
        if output_tokens and output_tokens > 1 and first is not None and answer.latency_ms > first:
            tokens += output_tokens - 1
            ms += answer.latency_ms - first
    return tokens / ms * 1000 if ms else None


def server_message(error: ErrorRecorded) -> str:
    """The server's error in one line: its HTTP status and the message."""
    message = " ".join(error.message.split()) or error.kind
    return (
        message
        if error.status is None or str(error.status) in message
        else f"{error.status}: {message}"
    )


def _latency_ms(state: Evaluation) -> float | None:
    """Milliseconds from request to answer, to the microsecond; for an imported answer, the latency
    that its source recorded."""
    if state.imported is not None:
        return state.imported.latency_ms
    return None if state.response is None else round(state.latency_ms, 3)


def _status(state: Evaluation) -> Status:
    if state.score is not None:
        return "scored"
    if state.abandoned is not None:
        return "abandoned"
    return "unfinished" if state.version else "planned"


def _request_error(error: ErrorRecorded) -> RequestError:
    return RequestError(error.kind, error.judge, server_message(error))
