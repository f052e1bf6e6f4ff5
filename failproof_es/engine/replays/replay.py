"""Replays a run: derives every recorded decision again. No model is asked, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import orjson

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    NO_JUDGES,
    Abandon,
    Classification,
    Classify,
    Done,
    Evaluation,
    Failure,
    ImpossibleHistory,
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
from failproof_es.dialects.protocol import Dialect, JudgeReading
from failproof_es.dialects.scorers import Scorer, scorers_of
from failproof_es.engine.drive.derive import derive
from failproof_es.engine.drive.judging import judging_of
from failproof_es.engine.history import (
    UNREADABLE,
    RecordedEvaluation,
    read_run,
    recorded_evaluations,
)
from failproof_es.engine.required_plugins import require_grading
from failproof_es.events import (
    AnswerImported,
    AttemptLost,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    Event,
    Judged,
    RequestSent,
    ResponseReceived,
    Scored,
)
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.store import Store


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One decision whose derived result differs from the recorded one."""

    what: str
    recorded: dict[str, Any]
    derived: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """An evaluation with decisions that disagree with the record."""

    evaluation_id: UUID
    suite_id: str
    case_id: str
    model_key: str
    repetition: int
    disagreements: tuple[Disagreement, ...]


@dataclass(slots=True)
class ReplayReport:
    """The result of a replay. `agree` + differing + `not_finished` = `evaluations`."""

    run_id: UUID
    run_number: int
    evaluations: int
    as_of: int | None = None
    agree: int = 0
    not_finished: int = 0
    classes: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)


def replay(store: Store, run_id: UUID, *, as_of: int | None = None) -> ReplayReport:
    """Derive every classification and score of the run again and compare.

    With `as_of`, only events up to that position count.
    """
    with store.connect() as connection:
        require_attached(connection, run_id)
        run = read_run(connection, run_id)
        manifest = run.started
        retry_attempts = recorded_configuration(manifest).execution.retry_attempts
        judging = judging_of(manifest)
        dialect = require_grading(manifest)
        scorers = scorers_of(manifest.configuration)
        report = ReplayReport(run_id, manifest.run_number, manifest.planned_evaluations, as_of)
        for recorded in recorded_evaluations(connection, run, up_to=as_of):
            _add(report, recorded, dialect, retry_attempts, judging, scorers)
    return report


def _add(
    report: ReplayReport,
    recorded: RecordedEvaluation,
    dialect: Dialect,
    retry_attempts: int,
    judging: Judging,
    scorers: Sequence[Scorer],
) -> None:
    try:
        if recorded.broken is not None:
            raise recorded.broken
        if recorded.carried_over is not None:
            retry_attempts = retries_made(recorded.history)
        state, disagreements = rederive(
            recorded.case,
            recorded.history,
            dialect,
            retry_attempts=retry_attempts,
            judging=judging,
            scorers=scorers,
        )
    except UNREADABLE as error:
        state, disagreements = Evaluation(), [_impossible(error)]
    if disagreements:
        report.differences.append(
            Difference(
                recorded.key.evaluation_id,
                recorded.case.suite_id,
                recorded.case.case_id,
                recorded.key.model_key,
                recorded.key.repetition,
                tuple(disagreements),
            )
        )
    elif state.finished:
        report.agree += 1
    else:
        report.not_finished += 1
    if state.classification is not None:
        primary = state.classification.primary
        report.classes[primary] = report.classes.get(primary, 0) + 1


def rederive(
    case: Case,
    history: Sequence[Event],
    dialect: Dialect,
    *,
    retry_attempts: int,
    judging: Judging = NO_JUDGES,
    scorers: Sequence[Scorer] = (),
) -> tuple[Evaluation, list[Disagreement]]:
    """Walk the history; at each recorded decision, decide again and compare.

    Results are compared, not the versions of classifier, grader and scorer. The derived score
    follows from the judges' replies as they are parsed today.
    """
    state = Evaluation()
    derived: Classification | None = None
    readings: list[JudgeVerdict] = []
    found: list[Disagreement] = []
    for event in history:
        action = next_action(state, case, dialect, retry_attempts=retry_attempts, judging=judging)
        match event, action:
            case Classified(), Classify():
                derived = derive(dialect, case, action)
                then = {"primary": event.primary, "details": event.details}
                now = {"primary": derived.primary, "details": derived.details}
                _compare(found, "classification", then, now)
            case Judged(), _ if event.judge not in judging.judges:  # given by somebody outside
                readings.append(JudgeVerdict(event.judge, event.verdict, event.problem))
            case Judged(), ReadJudgement():
                reading = derive(dialect, case, action)
                readings.append(JudgeVerdict(event.judge, reading.verdict, reading.problem))
                what = f"judgement of {event.judge}"
                _compare(found, what, _said(event), _said(reading))
            case ((Scored() | EvaluationAbandoned()), ScoreReply(classification, judgement)):
                if judgement is not None:
                    judgement = replace(judgement, verdicts=_latest(readings))
                again = ScoreReply(derived or classification, judgement)
                said = Transcript(state.replies)
                ending = derive(dialect, case, again, scorers=scorers, said=said)
                _compare(found, "scores", _ending(event), _ending(ending))
            case EvaluationAbandoned(), Abandon(failure):
                _compare(found, "abandoned", {"kind": event.kind}, {"kind": failure.kind})
            case RequestSent(), Send():
                then = {n: getattr(event, n) for n in ("purpose", "judge", "turn", "attempt")}
                _compare(found, "request", then, {n: getattr(action, n) for n in then})
            case ((ResponseReceived() | ErrorRecorded() | AttemptLost() | AnswerImported()), _):
                pass  # what the world answered: given, not decided
            case _, Done():
                pass  # `evolve` says what is wrong with an event after the end
            case _:
                then = {"event": type(event).__name__}
                _compare(found, "decision", then, {"action": type(action).__name__})
        state = evolve(state, event)
    return state, found


def _impossible(error: Exception) -> Disagreement:
    """The defect of a record from which nothing can be derived."""
    event = {}
    if isinstance(error, ImpossibleHistory) and error.topic is not None:
        event = {"event": error.topic, "version": error.version}
    return Disagreement("history", event, {"impossible": str(error)})


def retries_made(history: Sequence[Event]) -> int:
    """The highest number of errors of one question that were followed by another attempt.

    It is the bound for a carried-over evaluation: the original run's own bound is not known here
    and may differ. Replaying the original run checks it.
    """
    state, most = Evaluation(), 0
    for event in history:
        if isinstance(event, RequestSent):
            most = max(most, state.failures)
        state = evolve(state, event)
    return most


def _said(judged: Judged | JudgeReading) -> dict[str, Any]:
    return {"verdict": judged.verdict, "problem": judged.problem}


def _latest(readings: Sequence[JudgeVerdict]) -> tuple[JudgeVerdict, ...]:
    """The last judgement of each judge, in the order in which they were asked."""
    return tuple({reading.judge: reading for reading in readings}.values())


def _ending(end: Scored | EvaluationAbandoned | Score | Failure) -> dict[str, Any]:
    """The result of an evaluation: its scores, or its kind of failure."""
    if isinstance(end, Scored | Score):
        return {**end.scores, "passed": end.passed}
    return {"not scored": end.kind}


def _compare(
    found: list[Disagreement], what: str, recorded: dict[str, Any], derived: dict[str, Any]
) -> None:
    """Compare as JSON, because recorded values were converted to JSON."""
    derived = orjson.loads(orjson.dumps(derived))
    recorded = orjson.loads(orjson.dumps(recorded))
    if recorded != derived:
        found.append(Disagreement(what, recorded, derived))
