"""Replays a run: derives every recorded decision again. No model is asked, nothing is written."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.evaluation import Evaluation, ImpossibleHistory
from failproof_es.core.pairing import OtherVersion
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.judging import judging_of
from failproof_es.engine.history import (
    UNREADABLE,
    RecordedEvaluation,
    read_run,
    recorded_evaluations,
)
from failproof_es.engine.replays.rederiving import (
    Disagreement,
    RederivedEvaluation,
    retries_made,
)
from failproof_es.engine.replays.regrading import rederive_within_limits
from failproof_es.engine.required_plugins import require_grading
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.store import Store


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """An evaluation for which the replay disagrees with the record, and its disagreements."""

    evaluation_id: UUID
    suite_id: str
    case_id: str
    model_key: str
    repetition: int
    disagreements: tuple[Disagreement, ...]


@dataclass(slots=True)
class ReplayReport:
    """The result of a replay.

    `agree`, the length of `differences` and `not_finished` add up to `evaluations`. `classes`
    counts the evaluations by recorded class.
    """

    run_id: UUID
    run_number: int
    evaluations: int
    as_of: int | None = None
    agree: int = 0
    not_finished: int = 0
    classes: dict[str, int] = field(default_factory=dict)
    differences: list[ReplayDifference] = field(default_factory=list)
    other_versions: Counter[OtherVersion] = field(default_factory=Counter)
    """The number of evaluations by grader whose recorded version is not the present one."""


def replay(store: Store, run_id: UUID, *, as_of: int | None = None) -> ReplayReport:
    """Derive every classification and score of the run again and compare.

    Nothing is sent or written. With `as_of`, only events up to that position count. Raises
    `InvalidInput` if there is no such run, its plugins are missing, or it is archived.
    """
    with store.lend() as connection:
        require_attached(connection, run_id)
        run = read_run(connection, run_id)
        manifest = run.started
        retry_attempts = recorded_configuration(manifest).execution.retry_attempts
        dialect = require_grading(manifest)
        grader = Grader(dialect, judging_of(manifest), retry_attempts, manifest.configuration)
        report = ReplayReport(run_id, manifest.run_number, manifest.planned_evaluations, as_of)
        for recorded in recorded_evaluations(connection, run, up_to=as_of):
            _add(report, recorded, grader)
    return report


def _add(
    report: ReplayReport,
    recorded: RecordedEvaluation,
    grader: Grader,
) -> None:
    retry_attempts = grader.retry_attempts
    try:
        if recorded.broken is not None:
            raise recorded.broken
        if recorded.carried_over is not None:
            retry_attempts = retries_made(recorded.history)
        again = rederive_within_limits(
            grader, recorded.case, recorded.history, retry_attempts=retry_attempts
        )
    except UNREADABLE as error:
        again = RederivedEvaluation(Evaluation(), [_history_disagreement(error)])
    state, disagreements = again.state, again.disagreements
    report.other_versions.update(again.other_versions)
    if disagreements:
        report.differences.append(
            ReplayDifference(
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


def _history_disagreement(error: Exception) -> Disagreement:
    """The disagreement for an evaluation whose record cannot be read, so that nothing can be
    derived."""
    event = {}
    if isinstance(error, ImpossibleHistory) and error.topic is not None:
        event = {"event": error.topic, "version": error.version}
    return Disagreement("history", event, {"impossible": str(error)})
