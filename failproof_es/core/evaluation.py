"""The state machine of one evaluation: what has happened, and the next action. Pure.

    state  = fold(evolve, events of this evaluation)
    action = next_action(state, ...)

Starting, resuming after a crash and replaying are the same loop entered with a different
prefix of events. Nothing here does I/O, reads a clock or draws a random number.
`failproof_es.core.evolution` defines `fold` and `evolve`, `failproof_es.core.evaluation_state` the
state; import their names from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation_state import Evaluation as Evaluation
from failproof_es.core.evaluation_state import EvaluationKey as EvaluationKey
from failproof_es.core.evolution import evolve as evolve
from failproof_es.core.evolution import fold as fold
from failproof_es.core.history_errors import ImpossibleHistory as ImpossibleHistory
from failproof_es.core.transcript import AWAITING_REVIEW as AWAITING_REVIEW
from failproof_es.core.transcript import CUT_OFF as CUT_OFF
from failproof_es.core.transcript import GRADING_STOPPED as GRADING_STOPPED
from failproof_es.core.transcript import JUDGE_FAILED as JUDGE_FAILED
from failproof_es.core.transcript import JUDGES_DISAGREE as JUDGES_DISAGREE
from failproof_es.core.transcript import NO_JUDGES as NO_JUDGES
from failproof_es.core.transcript import Classification as Classification
from failproof_es.core.transcript import Failure as Failure
from failproof_es.core.transcript import Judgement as Judgement
from failproof_es.core.transcript import JudgeVerdict as JudgeVerdict
from failproof_es.core.transcript import Judging as Judging
from failproof_es.core.transcript import ModelReply as ModelReply
from failproof_es.core.transcript import Rule as Rule
from failproof_es.core.transcript import Score as Score
from failproof_es.core.transcript import Transcript as Transcript
from failproof_es.core.transcript import UnusableReply as UnusableReply
from failproof_es.core.transcript import unusable_reply as unusable_reply
from failproof_es.events import ErrorRecorded, EvaluationAbandoned, Purpose, RequestSent


def awaits_review(evaluation: Evaluation) -> bool:
    """Whether the evaluation has an answer that only people can judge."""
    return evaluation.abandoned is not None and left_to_people(evaluation.abandoned)


def left_to_people(ended: EvaluationAbandoned) -> bool:
    """Whether the evaluation ended with an answer that only people can judge.

    It had no error, and no judge model to decide it.
    """
    return ended.kind == AWAITING_REVIEW


# -- decide ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Ask a model these messages; after errors of the same question, wait first.

    `turn` counts the conversation's turns from 0, `attempt` the requests of this question from 1.
    `failures` is the number of its errors, `last_error` the last one.
    """

    purpose: Purpose
    turn: int
    attempt: int
    messages: tuple[Turn, ...]
    failures: int = 0
    last_error: ErrorRecorded | None = None
    judge: str | None = None
    """The key of the judge to ask; `None` for the model under test."""


@dataclass(frozen=True, slots=True)
class Defer:
    """Leave the evaluation pending: its server refused this question for too long."""

    error: ErrorRecorded


@dataclass(frozen=True, slots=True)
class DeclareOrphaned:
    """Record that a recorded request has no outcome and will not get one."""

    request: RequestSent


@dataclass(frozen=True, slots=True)
class Classify:
    """Let the dialect classify this transcript."""

    transcript: Transcript


@dataclass(frozen=True, slots=True)
class ReadJudgement:
    """Parse the reply of this judge, or the error that ended its question.

    With `last` the judge is not asked again, whatever the answer.
    """

    judge: str
    transcript: Transcript
    answer: ModelReply | Failure
    last: bool


@dataclass(frozen=True, slots=True)
class ScoreReply:
    """Score the classified reply, with the judges' verdicts; `None` if no judge was asked."""

    classification: Classification
    judgement: Judgement | None


@dataclass(frozen=True, slots=True)
class Abandon:
    """End the evaluation without a score, because of this failure."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do: the evaluation has its final result."""


Action = Send | Defer | DeclareOrphaned | Classify | ReadJudgement | ScoreReply | Abandon | Done


@dataclass(frozen=True, slots=True)
class WaitBudget:
    """The longest time for which a server may defer one question.

    Deferrals before `since` do not count.
    """

    seconds: float
    since: datetime


class Grading(Protocol):
    """The pure part of a dialect: the messages to send to the model, and to a judge.

    Each is `None` if there is nothing more to ask.
    """

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None: ...

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None: ...


def next_action(
    state: Evaluation,
    case: Case,
    grading: Grading,
    *,
    retry_attempts: int,
    judging: Judging = NO_JUDGES,
    wait_budget: WaitBudget | None = None,
) -> Action:
    """The next action of this evaluation. `retry_attempts` is the maximum number of retries.

    `judging` names the judges to ask. A deferral (the server refuses for now) uses up no retry. The
    question is put off (`Defer`) once `wait_budget` is spent; without a budget, as in a replay,
    never.
    """
    if state.finished:
        return Done()
    if (lost := lost_request(state)) is not None:
        return lost
    if wait_budget is not None and (error := _deferred_too_long(state, wait_budget)) is not None:
        return Defer(error)
    failure = _failure_unless_retried(state, retry_attempts)
    unusable = unusable_reply(state.replies)
    if state.classification is None:
        transcript = Transcript(state.replies, failure)
        can_ask = failure is None and state.imported is None and unusable is None
        messages = grading.messages(case, transcript) if can_ask else None
        if messages is None:
            return Classify(transcript)
        return _send(state, "target", len(state.replies), messages)
    if failure is not None and state.import_error is not None:
        return Abandon(failure)
    error = state.last_error
    if error is not None and error.purpose == "target":
        return Abandon(Failure(error.kind, error.message))
    if unusable is not None:
        return Abandon(unusable.failure)
    if state.verdicts and len(state.verdicts) >= len(judging.judges):
        return _conclude(state.classification, Judgement(judging.rule, state.verdicts))
    if state.imported is not None and state.imported.given_by is None:
        # the answer was imported, not asked for by a run: no judge is asked about it
        return ScoreReply(state.classification, None)
    transcript = Transcript(state.replies)
    judge = judging.judges[len(state.verdicts)] if judging.judges else None
    answer = failure or state.judge_reply  # an error voids a reply that another model gave
    if judge is not None and answer is not None:
        last = failure is not None or state.unread + 1 >= judging.attempts
        return ReadJudgement(judge, transcript, answer, last)
    messages = grading.judge_messages(case, transcript)
    if messages is None or not judging.judges:
        return ScoreReply(state.classification, None)
    return _send(state, "judge", len(state.replies), messages, judge)


def lost_request(state: Evaluation) -> DeclareOrphaned | None:
    """The declaration of the request that waits for its outcome; `None` without one.

    Nobody waits for it any more: whoever decides about an evaluation has no request under way.
    """
    return None if state.in_flight is None else DeclareOrphaned(state.in_flight)


def _conclude(classification: Classification, judgement: Judgement) -> Action:
    """Score with the judges' verdicts; abandon if no judge gave one."""
    if all(verdict.verdict is None for verdict in judgement.verdicts):
        problems = "; ".join(
            f"{verdict.judge}: {verdict.problem}" for verdict in judgement.verdicts
        )
        return Abandon(Failure(JUDGE_FAILED, problems))
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


def _deferred_too_long(state: Evaluation, wait_budget: WaitBudget) -> ErrorRecorded | None:
    """The last deferral, if the server has deferred the question for too long; else `None`."""
    error = state.last_error
    if error is None or error.disposition != "deferred":
        return None
    since = max(state.deferred_since or error.timestamp, wait_budget.since)
    waited_s = (error.timestamp - since).total_seconds()
    return (
        error if error.timestamp >= wait_budget.since and waited_s >= wait_budget.seconds else None
    )


def _failure_unless_retried(state: Evaluation, retry_attempts: int) -> Failure | None:
    """The import error, or the last error if no retry is left for it; `None` asks (again).

    The wait before a retry is in `failproof_es.models.backoff`.
    """
    if state.import_error is not None:
        return Failure(state.import_error.kind, state.import_error.message)
    error = state.last_error
    if error is None or error.disposition in ("halting", "deferred"):
        return None
    if error.disposition == "transient" and state.failures <= retry_attempts:
        return None
    return Failure(error.kind, error.message)
