"""The pure core: what has happened to one evaluation, and what is to be done next.

    state  = fold(evolve, events of this evaluation)
    action = next_action(state, ...)

Starting, resuming after a crash and replaying are the same loop entered with a different
prefix of events. Nothing here does I/O, reads a clock or draws a random number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, reduce
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from failproof_es.case import Case, Turn, digest_uuid
from failproof_es.events import (
    AttemptLost,
    CarriedOver,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    Judged,
    Purpose,
    RequestSent,
    ResponseReceived,
    Scored,
    Usage,
)
from failproof_es.transcript import AWAITING_REVIEW as AWAITING_REVIEW
from failproof_es.transcript import NO_JUDGES as NO_JUDGES
from failproof_es.transcript import Classification as Classification
from failproof_es.transcript import Failure as Failure
from failproof_es.transcript import Judgement as Judgement
from failproof_es.transcript import JudgeVerdict as JudgeVerdict
from failproof_es.transcript import Judging as Judging
from failproof_es.transcript import Reply as Reply
from failproof_es.transcript import Rule as Rule
from failproof_es.transcript import Score as Score
from failproof_es.transcript import Transcript as Transcript

# -- what an evaluation is -------------------------------------------------------------------


@dataclass(frozen=True)
class EvaluationKey:
    """Which evaluation: one case, asked of one model, for the n-th time, in one run."""

    run_id: UUID
    prompt_id: UUID
    model_key: str
    repetition: int = 1

    @cached_property
    def evaluation_id(self) -> UUID:
        """The evaluation's stream: the same for the same key, on every machine."""
        text = f"{self.run_id}\n{self.prompt_id}\n{self.model_key}\n{self.repetition}"
        return digest_uuid(hashlib.sha256(text.encode()).digest())


class Evaluation(NamedTuple):
    """Everything that an evaluation's events say, folded. A tuple, because it is copied often."""

    version: int = 0
    run_id: UUID | None = None
    prompt_id: UUID | None = None
    model_key: str | None = None
    repetition: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    in_flight: RequestSent | None = None
    attempts: int = 0
    """Requests sent for the current turn, or to the current judge, lost ones included."""
    failures: int = 0
    """Transient errors of the current question: these use up the retry bound."""
    deferrals: int = 0
    """How often the server turned the current question away for now."""
    deferred_since: datetime | None = None
    """When it did so first."""
    last_error: ErrorRecorded | None = None
    request: RequestSent | None = None
    """The last one that was sent to the target."""
    response: ResponseReceived | None = None
    """The last one that the target gave."""
    replies: tuple[Reply, ...] = ()
    judge_reply: Reply | None = None
    """The last reply of a judge, until it is read."""
    verdicts: tuple[JudgeVerdict, ...] = ()
    """Of every judge that is done, in the order in which they were asked."""
    unread: int = 0
    """Replies of the judge asked now that held no verdict."""
    latency_ms: float = 0.0
    usage: Usage = Usage()
    classification: Classification | None = None
    score: Score | None = None
    abandoned: EvaluationAbandoned | None = None
    carried_over: CarriedOver | None = None
    """Where its events are, when they are those of another run's evaluation."""

    @property
    def finished(self) -> bool:
        """Whether the evaluation has its one final result, its own or one carried over."""
        return any(end is not None for end in (self.score, self.abandoned, self.carried_over))


def awaits_review(evaluation: Evaluation) -> bool:
    """Whether it was answered, and nothing but people can judge it."""
    return evaluation.abandoned is not None and left_to_people(evaluation.abandoned)


def left_to_people(ended: EvaluationAbandoned) -> bool:
    """Whether that is how it ended: no error, and no judge model to decide it."""
    return ended.kind == AWAITING_REVIEW


# -- evolve ----------------------------------------------------------------------------------


class ImpossibleHistory(Exception):
    """The log holds an event that cannot follow the ones before it."""


def fold(events: Iterable[Event], start: Evaluation | None = None) -> Evaluation:
    """The state after `events`. Raises `ImpossibleHistory` where they cannot be true."""
    return reduce(evolve, events, start or Evaluation())


def evolve(state: Evaluation, event: Event) -> Evaluation:
    """The state after one more event. Raises `ImpossibleHistory` where it cannot follow."""
    if not isinstance(event, EvaluationEvent):
        raise ImpossibleHistory(f"{type(event).__name__} does not belong to an evaluation")
    if event.originator_version != state.version + 1:
        raise ImpossibleHistory(
            f"stream {event.originator_id}: expected version {state.version + 1}, "
            f"found {event.originator_version}"
        )
    if state.finished:
        raise ImpossibleHistory(f"stream {event.originator_id}: an event follows the final one")
    if state.version == 0:
        state = Evaluation(
            run_id=event.run_id,
            prompt_id=event.prompt_id,
            model_key=event.model_key,
            repetition=event.repetition,
            started_at=event.timestamp,
        )
    return state._replace(version=event.originator_version, **_changes(state, event))


def _changes(state: Evaluation, event: EvaluationEvent) -> dict[str, Any]:
    """The fields that the event gives another value."""
    match event:
        case RequestSent():
            if state.in_flight is not None:
                raise ImpossibleHistory(f"stream {event.originator_id}: two requests in flight")
            asked = {"request": event} if event.purpose == "target" else {}
            return {"in_flight": event, "attempts": event.attempt, **asked}
        case ResponseReceived():
            _require_in_flight(state, event)
            return _answered(state, event)
        case ErrorRecorded():
            return {"in_flight": None, "last_error": event, **_counted(state, event)}
        case AttemptLost():
            _require_in_flight(state, event)
            return {"in_flight": None}
        case Classified():
            classification = Classification(
                event.primary, event.details, event.classifier, event.classifier_version
            )
            return {**_NO_ERRORS, "attempts": 0, "classification": classification}
        case Judged():
            return _judged(state, event)
        case Scored():
            score = Score(event.scores, event.reason, event.scorer, event.scorer_version)
            return {"score": score, "finished_at": event.timestamp}
        case EvaluationAbandoned():
            return {"abandoned": event, "finished_at": event.timestamp}
        case CarriedOver():
            if event.originator_version != 1:
                raise ImpossibleHistory(
                    f"stream {event.originator_id}: what has begun here cannot be carried over"
                )
            return {"carried_over": event, "finished_at": event.timestamp}
        case _:
            raise ImpossibleHistory(f"{type(event).__name__} does not belong to an evaluation")


_NO_ERRORS: dict[str, Any] = {"failures": 0, "deferrals": 0, "deferred_since": None}
"""Another question begins."""


def _counted(state: Evaluation, error: ErrorRecorded) -> dict[str, Any]:
    """What counts the errors of the current question."""
    if error.disposition == "transient":
        return {"failures": state.failures + 1}
    if error.disposition == "deferred":
        since = state.deferred_since or error.timestamp
        return {"deferrals": state.deferrals + 1, "deferred_since": since}
    return {}


def _require_in_flight(state: Evaluation, event: EvaluationEvent) -> None:
    if state.in_flight is None:
        raise ImpossibleHistory(
            f"stream {event.originator_id}: {type(event).__name__} without a request in flight"
        )


def _answered(state: Evaluation, event: ResponseReceived) -> dict[str, Any]:
    reply = Reply(
        event.turn,
        event.text,
        event.finish_reason,
        event.refusal,
        event.model,
        event.tool_calls,
        state.in_flight.tools if state.in_flight else (),
    )
    cleared = {**_NO_ERRORS, "in_flight": None, "last_error": None}
    if event.purpose == "judge":
        return {**cleared, "judge_reply": reply}
    return {
        **cleared,
        "attempts": 0,
        "response": event,
        "replies": (*state.replies, reply),
        "latency_ms": state.latency_ms + event.latency_ms,
        "usage": _add(state.usage, event.usage),
    }


def _judged(state: Evaluation, event: Judged) -> dict[str, Any]:
    read = {**_NO_ERRORS, "judge_reply": None, "last_error": None}
    if not event.final:
        return {**read, "unread": state.unread + 1}
    verdict = JudgeVerdict(event.judge, event.verdict, event.problem)
    return {**read, "attempts": 0, "unread": 0, "verdicts": (*state.verdicts, verdict)}


def _add(left: Usage, right: Usage) -> Usage:
    def total(a: int | None, b: int | None) -> int | None:
        return None if a is None and b is None else (a or 0) + (b or 0)

    return Usage(
        input_tokens=total(left.input_tokens, right.input_tokens),
        output_tokens=total(left.output_tokens, right.output_tokens),
        cached_input_tokens=total(left.cached_input_tokens, right.cached_input_tokens),
        cache_write_tokens=total(left.cache_write_tokens, right.cache_write_tokens),
        cache_write_1h_tokens=total(left.cache_write_1h_tokens, right.cache_write_1h_tokens),
    )


# -- decide ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Ask a model; where errors of this question came before, after a wait.

    `failures` says how many they were, `last_error` which was the last.
    """

    purpose: Purpose
    turn: int
    attempt: int
    messages: tuple[Turn, ...]
    failures: int = 0
    last_error: ErrorRecorded | None = None
    judge: str | None = None
    """The judge that is asked; `None` where the model under test is, and where there is none."""


@dataclass(frozen=True, slots=True)
class PutOff:
    """Leave the evaluation where it stands: its server turned this question away for too long."""

    error: ErrorRecorded


@dataclass(frozen=True, slots=True)
class DeclareLost:
    """Record that a request on record has no outcome and will not get one."""

    request: RequestSent


@dataclass(frozen=True, slots=True)
class Classify:
    """Classify this transcript."""

    transcript: Transcript


@dataclass(frozen=True, slots=True)
class ReadJudgement:
    """Read what this judge answered. After the `last` one it is asked no more."""

    judge: str
    transcript: Transcript
    answer: Reply | Failure
    last: bool


@dataclass(frozen=True, slots=True)
class ScoreReply:
    """Score the classified reply."""

    classification: Classification
    judgement: Judgement | None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """End without a score."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do."""


Action = Send | PutOff | DeclareLost | Classify | ReadJudgement | ScoreReply | GiveUp | Done


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one question may be turned away, counted from `since` at the earliest."""

    seconds: float
    since: datetime


class Grading(Protocol):
    """The pure part of a dialect: what `next_action` needs to know of it."""

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None: ...

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None: ...


def next_action(
    state: Evaluation,
    case: Case,
    grading: Grading,
    *,
    retry_attempts: int,
    judging: Judging = NO_JUDGES,
    patience: Patience | None = None,
) -> Action:
    """What to do now. `retry_attempts` bounds the attempts after the first (0 means none).

    A question that the server turns away for now uses up none of them. It is put off once
    `patience` ends; without one, as in a replay, it never is.
    """
    if state.finished:
        return Done()
    if state.in_flight is not None:
        return DeclareLost(state.in_flight)
    if patience is not None and (error := _turned_away_too_long(state, patience)) is not None:
        return PutOff(error)
    failure = _failure(state, retry_attempts)
    if state.classification is None:
        transcript = Transcript(state.replies, failure)
        messages = None if failure else grading.messages(case, transcript)
        if messages is None:
            return Classify(transcript)
        return _send(state, "target", len(state.replies), messages)
    error = state.last_error
    if error is not None and error.purpose == "target":
        return GiveUp(Failure(error.kind, error.message))
    if state.verdicts and len(state.verdicts) >= len(judging.judges):
        return _conclude(state.classification, Judgement(judging.rule, state.verdicts))
    transcript = Transcript(state.replies)
    judge = judging.judges[len(state.verdicts)] if judging.judges else None
    answer = failure or state.judge_reply  # another model than was asked may have given the reply
    if judge is not None and answer is not None:
        last = failure is not None or state.unread + 1 >= judging.attempts
        return ReadJudgement(judge, transcript, answer, last)
    messages = grading.judge_messages(case, transcript)
    if messages is None or not judging.judges:
        return ScoreReply(state.classification, None)
    return _send(state, "judge", len(state.replies), messages, judge)


def _conclude(classification: Classification, judgement: Judgement) -> Action:
    """Score by what the judges said, unless not one of them said anything."""
    if all(verdict.verdict is None for verdict in judgement.verdicts):
        problems = "; ".join(f"{each.judge}: {each.problem}" for each in judgement.verdicts)
        return GiveUp(Failure("judge_failed", problems))
    return ScoreReply(classification, judgement)


def _send(
    state: Evaluation,
    purpose: Purpose,
    turn: int,
    messages: tuple[Turn, ...],
    judge: str | None = None,
) -> Send:
    failures = state.failures + state.deferrals
    return Send(purpose, turn, state.attempts + 1, messages, failures, state.last_error, judge)


def _turned_away_too_long(state: Evaluation, patience: Patience) -> ErrorRecorded | None:
    """The last time that the server turned the question away, if it has done so for too long."""
    error = state.last_error
    if error is None or error.disposition != "deferred":
        return None
    since = max(state.deferred_since or error.timestamp, patience.since)
    waited_s = (error.timestamp - since).total_seconds()
    return error if error.timestamp >= patience.since and waited_s >= patience.seconds else None


def _failure(state: Evaluation, retry_attempts: int) -> Failure | None:
    """The error that ends the conversation, if the last one does."""
    error = state.last_error
    if error is None or error.disposition in ("halting", "deferred"):
        return None
    if error.disposition == "transient" and state.failures <= retry_attempts:
        return None
    return Failure(error.kind, error.message)
