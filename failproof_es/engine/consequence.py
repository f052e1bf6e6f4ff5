"""The event that follows from what is on record, without asking anybody."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.case import Case
from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.scorers import Scorer, grade
from failproof_es.engine.attempt_events import Stamp, attempt_lost
from failproof_es.engine.judging import read_judgement
from failproof_es.evaluation import (
    Classify,
    DeclareLost,
    Evaluation,
    Failure,
    GiveUp,
    ReadJudgement,
    ScoreReply,
    Transcript,
)
from failproof_es.events import (
    Classified,
    EvaluationAbandoned,
    EvaluationEvent,
    Judged,
    Scored,
)

Unasked = DeclareLost | Classify | ReadJudgement | ScoreReply | GiveUp


def consequence(
    dialect: Dialect,
    stamp: Stamp,
    state: Evaluation,
    case: Case,
    action: Unasked,
    scorers: Sequence[Scorer] = (),
) -> EvaluationEvent:
    """What the action comes to, as the event that follows `state`."""
    match action:
        case DeclareLost(request):
            reason = "sent by a process that ended before it recorded an outcome"
            return attempt_lost(stamp, state, request, reason)
        case Classify():
            return _classified(dialect, stamp, state, case, action)
        case ReadJudgement():
            return _judged(dialect, stamp, state, case, action)
        case ScoreReply():
            return _scored(dialect, scorers, stamp, state, case, action)
        case GiveUp(failure):
            return _abandoned(stamp, state, failure)


def _classified(
    dialect: Dialect, stamp: Stamp, state: Evaluation, case: Case, action: Classify
) -> Classified:
    classification = dialect.classify(case, action.transcript)
    return Classified(
        **stamp(state),
        primary=classification.primary,
        details=classification.details,
        classifier=classification.classifier,
        classifier_version=classification.version,
    )


def _judged(
    dialect: Dialect, stamp: Stamp, state: Evaluation, case: Case, action: ReadJudgement
) -> Judged:
    reading = read_judgement(dialect, case, action)
    return Judged(
        **stamp(state),
        judge=action.judge,
        verdict=reading.verdict,
        problem=reading.problem,
        final=action.last or reading.verdict is not None,
        grader=reading.grader,
        grader_version=reading.version,
    )


def _scored(
    dialect: Dialect,
    scorers: Sequence[Scorer],
    stamp: Stamp,
    state: Evaluation,
    case: Case,
    action: ScoreReply,
) -> Scored | EvaluationAbandoned:
    transcript = Transcript(state.replies)
    score = grade(dialect, scorers, case, transcript, action.classification, action.judgement)
    if isinstance(score, Failure):
        return _abandoned(stamp, state, score)
    return Scored(
        **stamp(state),
        scores=score.scores,
        passed=score.passed,
        graders=score.graders,
        reason=score.reason,
        scorer=score.scorer,
        scorer_version=score.version,
    )


def _abandoned(stamp: Stamp, state: Evaluation, failure: Failure) -> EvaluationAbandoned:
    return EvaluationAbandoned(**stamp(state), kind=failure.kind, reason=failure.message)
