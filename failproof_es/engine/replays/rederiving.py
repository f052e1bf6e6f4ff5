"""Derives the decisions of one recorded evaluation again, and compares them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    GRADING_STOPPED,
    NO_JUDGES,
    Abandon,
    Classification,
    Classify,
    Done,
    Evaluation,
    Failure,
    JudgeVerdict,
    Judging,
    ReadJudgement,
    Score,
    ScoreReply,
    Send,
    Transcript,
    evolve,
    next_action,
)
from failproof_es.core.pairing import OtherVersion, other_versions
from failproof_es.core.request_body import RequestBodies
from failproof_es.dialects.kit import cut_off
from failproof_es.dialects.protocol import Dialect, JudgeReading
from failproof_es.dialects.scorers import Scorer
from failproof_es.engine.drive.grading.derive import derive
from failproof_es.events import (
    AnswerImported,
    AttemptOrphaned,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    Judged,
    RequestSent,
    ResponseReceived,
    Scored,
)

_EXTERNAL_EVENTS = (ResponseReceived, ErrorRecorded, AttemptOrphaned, AnswerImported)
"""Events from outside, which were not decided here."""


class RederivedEvaluation(NamedTuple):
    """The result of deriving one evaluation again."""

    state: Evaluation
    disagreements: list[Disagreement]
    other_versions: tuple[OtherVersion, ...] = ()
    """Graders whose recorded version is not the present one; results may agree all the same."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One decision whose derived result differs from the recorded one."""

    what: str
    recorded: dict[str, Any]
    derived: dict[str, Any]


def rederive(
    case: Case,
    history: Sequence[Event],
    dialect: Dialect,
    *,
    retry_attempts: int,
    judging: Judging = NO_JUDGES,
    scorers: Sequence[Scorer] = (),
    cut_off_fails: bool = False,
) -> RederivedEvaluation:
    """Walk the history of one evaluation; at each recorded decision, decide again and compare.

    Results are compared; versions of classifier, grader and scorer that differ are listed. The
    derived score follows from the judges' replies as they are parsed today. A recorded stop of a
    grading is taken as given: it depended on time, not on a decision. The body of each request is
    rebuilt and compared with its digest. Raises `ImpossibleHistory` if the history cannot be true.
    """
    state, bodies = Evaluation(), RequestBodies()
    derived: Classification | None = None
    readings: list[JudgeVerdict] = []
    disagreements: list[Disagreement] = []
    versions: dict[OtherVersion, None] = {}
    for event in history:
        if isinstance(event, RequestSent) and (problem := bodies.rebuild(event).problem):
            disagreements.append(
                Disagreement("request", {"event": event.originator_version}, {"altered": problem})
            )
        if isinstance(event, _EXTERNAL_EVENTS) or _was_stopped(event, cut_off_fails):
            state = evolve(state, event)
            continue
        action = next_action(state, case, dialect, retry_attempts=retry_attempts, judging=judging)
        match event, action:
            case Classified(), Classify():
                derived = derive(dialect, case, action)
                graded = {event.classifier: event.classifier_version}
                again = {derived.classifier: derived.version}
                versions |= dict.fromkeys(other_versions(graded, again))
                then = {"primary": event.primary, "details": event.details}
                now = {"primary": derived.primary, "details": derived.details}
                _compare(disagreements, "classification", then, now)
            case Judged(), _ if event.judge not in judging.judges:  # an external verdict
                readings.append(JudgeVerdict(event.judge, event.verdict, event.problem))
            case Judged(), ReadJudgement():
                reading = derive(dialect, case, action)
                graded = {event.grader: event.grader_version}
                again = {reading.grader: reading.version}
                versions |= dict.fromkeys(other_versions(graded, again))
                readings.append(JudgeVerdict(event.judge, reading.verdict, reading.problem))
                what = f"judgement of {event.judge}"
                _compare(
                    disagreements, what, _describe_judgement(event), _describe_judgement(reading)
                )
            case ((Scored() | EvaluationAbandoned()), ScoreReply(classification, judgement)):
                if judgement is not None:
                    judgement = replace(judgement, verdicts=_latest_by_judge(readings))
                scoring = ScoreReply(derived or classification, judgement)
                transcript = Transcript(state.replies)
                ending = derive(
                    dialect,
                    case,
                    scoring,
                    scorers=scorers,
                    scorer_input=transcript,
                    cut_off_fails=cut_off_fails,
                )
                if isinstance(event, Scored) and isinstance(ending, Score):
                    graded = {event.scorer: event.scorer_version, **event.graders}
                    again = {ending.scorer: ending.version, **ending.graders}
                    versions |= dict.fromkeys(other_versions(graded, again))
                _compare(disagreements, "scores", _describe_ending(event), _describe_ending(ending))
            case EvaluationAbandoned(), Abandon(failure):
                _compare(disagreements, "abandoned", {"kind": event.kind}, {"kind": failure.kind})
            case RequestSent(), Send():
                then = {n: getattr(event, n) for n in ("purpose", "judge", "turn", "attempt")}
                _compare(disagreements, "request", then, {n: getattr(action, n) for n in then})
            case _, Done():
                pass  # `evolve` raises for an event after the end
            case _:
                then = {"event": type(event).__name__}
                _compare(disagreements, "decision", then, {"action": type(action).__name__})
        state = evolve(state, event)
    return RederivedEvaluation(state, disagreements, tuple(versions))


def _was_stopped(event: Event, cut_off_fails: bool) -> bool:
    """Whether the event says that the grading was stopped.

    With `cut_off_fails` that may be a failing score.
    """
    if isinstance(event, Classified):
        return event.details.get("rule") == GRADING_STOPPED
    if isinstance(event, Scored):
        return cut_off_fails and event.scorer == cut_off.STOPPED_SCORER
    return isinstance(event, EvaluationAbandoned) and event.kind == GRADING_STOPPED


def retries_made(history: Sequence[Event]) -> int:
    """The highest number of errors of one question that were followed by another attempt.

    It serves as the retry limit for a carried-over evaluation: the original run's limit is not
    known here and may differ. Replaying the original run checks it.
    """
    state, most = Evaluation(), 0
    for event in history:
        if isinstance(event, RequestSent):
            most = max(most, state.failures)
        state = evolve(state, event)
    return most


def _describe_judgement(judged: Judged | JudgeReading) -> dict[str, Any]:
    return {"verdict": judged.verdict, "problem": judged.problem}


def _latest_by_judge(readings: Sequence[JudgeVerdict]) -> tuple[JudgeVerdict, ...]:
    """The last judgement of each judge, in the order in which they were asked."""
    return tuple({reading.judge: reading for reading in readings}.values())


def _describe_ending(end: Scored | EvaluationAbandoned | Score | Failure) -> dict[str, Any]:
    """The result of an evaluation: its scores, or its kind of failure."""
    if isinstance(end, Scored | Score):
        return {**end.scores, "passed": end.passed}
    return {"not scored": end.kind}


def _compare(
    disagreements: list[Disagreement], what: str, recorded: dict[str, Any], derived: dict[str, Any]
) -> None:
    """Add a disagreement about `what` if the recorded and the derived values differ as JSON."""
    derived = orjson.loads(orjson.dumps(derived))
    recorded = orjson.loads(orjson.dumps(recorded))
    if recorded != derived:
        disagreements.append(Disagreement(what, recorded, derived))
