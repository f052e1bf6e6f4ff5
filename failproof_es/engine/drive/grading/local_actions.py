"""Local actions: the event that follows from the record, without a request."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Abandon,
    Classification,
    Classify,
    DeclareOrphaned,
    Evaluation,
    Failure,
    ReadJudgement,
    Score,
    ScoreReply,
    Transcript,
)
from failproof_es.dialects.protocol import Dialect, JudgeReading
from failproof_es.dialects.scorers import Scorer
from failproof_es.engine.drive.grading.derive import derive
from failproof_es.engine.drive.orphaned_event import attempt_orphaned
from failproof_es.events import (
    Classified,
    EvaluationAbandoned,
    EvaluationEvent,
    Judged,
    Scored,
)
from failproof_es.store.writing.event_header import EventHeader

LocalAction = DeclareOrphaned | Classify | ReadJudgement | ScoreReply | Abandon

_ORPHANED = "sent by a process that ended before it recorded an outcome"


def derive_event(
    dialect: Dialect,
    header: EventHeader,
    state: Evaluation,
    case: Case,
    action: LocalAction,
    scorers: Sequence[Scorer] = (),
    *,
    cut_off_fails: bool = False,
) -> EvaluationEvent:
    """The result of a local action, as the event that follows `state`.

    Nothing is recorded. `scorers` take part in a score; with `cut_off_fails` a reply that was cut
    off gets a failing score.
    """
    match action:
        case DeclareOrphaned(request):
            return attempt_orphaned(header, state, request, _ORPHANED)
        case Classify():
            return classified(header, state, derive(dialect, case, action))
        case ReadJudgement():
            return _judged_event(header, state, action, derive(dialect, case, action))
        case ScoreReply() | Abandon():
            end = derive(
                dialect,
                case,
                action,
                scorers=scorers,
                scorer_input=Transcript(state.replies),
                cut_off_fails=cut_off_fails,
            )
            return ended(header, state, end)


def classified(
    header: EventHeader, state: Evaluation, classification: Classification
) -> Classified:
    """The event that records `classification`, following `state`."""
    return Classified(
        **header(state),
        primary=classification.primary,
        details=classification.details,
        classifier=classification.classifier,
        classifier_version=classification.version,
    )


def _judged_event(
    header: EventHeader, state: Evaluation, action: ReadJudgement, reading: JudgeReading
) -> Judged:
    return Judged(
        **header(state),
        judge=action.judge,
        verdict=reading.verdict,
        problem=reading.problem,
        final=action.last or reading.verdict is not None,
        grader=reading.grader,
        grader_version=reading.version,
    )


def ended(
    header: EventHeader, state: Evaluation, end: Score | Failure
) -> Scored | EvaluationAbandoned:
    """The event that ends an evaluation, following `state`: with a score, or with the reason why
    there is none."""
    if isinstance(end, Failure):
        return EvaluationAbandoned(**header(state), kind=end.kind, reason=end.message)
    return Scored(
        **header(state),
        scores=end.scores,
        passed=end.passed,
        graders=end.graders,
        reason=end.reason,
        scorer=end.scorer,
        scorer_version=end.version,
    )
