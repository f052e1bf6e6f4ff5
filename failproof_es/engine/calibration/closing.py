"""Records a calibration: the labels of a sample, and what they say of the judges."""

from __future__ import annotations

from typing import Any

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.run import Run
from failproof_es.engine.calibration.calibrations import require_sample
from failproof_es.engine.calibration.gates_on_judges import judge_calibrated
from failproof_es.engine.calibration.judged_run import JudgedRun, read_judged_run
from failproof_es.engine.calibration.label_sample import Labels, read_labels
from failproof_es.engine.calibration.measuring import corrected_rates, measure_errors, reliability
from failproof_es.engine.operations import record_operations
from failproof_es.engine.queues.creating import how_to_label
from failproof_es.events import CalibratedJudge, JudgeCalibrated, QueueCreated
from failproof_es.gates import RetryBias
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection, max_position
from failproof_es.store.store import Store
from failproof_es.support.plurals import plural


def calibrate_run(
    store: Store, connection: Connection, run: Run, again: RetryBias, *, incomplete: bool
) -> dict[str, Any]:
    """Record the calibration of the run's judges by its last sample; return the judged gates.

    Raises `InvalidInput` without a sample, without a label, and unless `incomplete`, while a part
    of the sample has no review.
    """
    run_id, number = run.started.originator_id, run.started.run_number
    sample = require_sample(connection, run_id, number)
    position = max_position(connection)
    labels = read_labels(connection, sample, position)
    _require_labels(number, sample, labels, incomplete=incomplete)
    judged = read_judged_run(connection, run, sample.position)
    fields = calibration_fields(judged, sample, labels, position, again)
    record_operations(store, run_id, [(JudgeCalibrated, fields)])
    gates: dict[str, Any] = fields["gates"]
    return gates


def _require_labels(number: int, sample: QueueCreated, labels: Labels, *, incomplete: bool) -> None:
    review = how_to_label(number, sample.queue)
    waiting = len(sample.evaluations) - len(labels.passed) - len(labels.undecided)
    if not labels.passed:
        message = f"no evaluation of {sample.queue} has a clear label"
        raise InvalidInput.because("labels-missing", message, remedy=review)
    if waiting and not incomplete:
        lack = plural(waiting, "evaluation lacks", "evaluations lack")
        message = f"{lack} a label in {sample.queue}"
        remedy = f"{review}; --incomplete leaves them out"
        raise InvalidInput.because("labels-missing", message, remedy=remedy)


def calibration_fields(
    judged: JudgedRun, sample: QueueCreated, labels: Labels, position: int, again: RetryBias
) -> dict[str, Any]:
    """The fields of a `JudgeCalibrated` event, by these labels as of `position`. Reads nothing."""
    errors = measure_errors(judged, labels)
    return {
        "queue": sample.queue,
        "position": position,
        "judges": tuple(
            CalibratedJudge(
                key=judge.key, provider=judge.provider, model=judge.model, version=judge.version,
                answered=judged.answered.get(judge.key, ()),
            )
            for judge in judged.started.judges
        ),
        "judges_sha256": judged.judges_sha256,
        "prompts_sha256": judged.prompts_sha256,
        "rubric_sha256": judged.rubric_sha256,
        "policy": sample.policy,
        "labels": len(labels.passed),
        "undecided": len(labels.undecided),
        "unlabelled": len(sample.evaluations) - len(labels.passed) - len(labels.undecided),
        "labelled_by": dict(labels.by_reviewer),
        "reliability": reliability(labels),
        "errors": errors,
        "gates": dict(
            judge_calibrated(
                recorded_configuration(judged.started).gates,
                [model.key for model in judged.started.models],
                errors, corrected_rates(judged, labels.passed), age_days=0.0,
                again=again,
            )
        ),
    }  # fmt: skip
