"""How good the judges of a run are, on whose labels, and what that does to its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from failproof_es.core.run import Run
from failproof_es.engine.calibration.calibrations import (
    Calibration,
    LabelledRun,
    calibration_for,
    read_labelled_run,
)
from failproof_es.engine.calibration.judged_run import JudgedRun, read_judged_run
from failproof_es.engine.calibration.label_sample import samples_of
from failproof_es.engine.calibration.measuring import (
    ERROR_RATES,
    CorrectedDifference,
    CorrectedRate,
    corrected_differences,
    corrected_rates,
    verdict_sample,
)
from failproof_es.engine.history import Connection
from failproof_es.events import JudgeCalibrated


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """The judged rates of a run beside the corrected ones, and the calibration they rest on."""

    calibration: Calibration | None
    """`None` if no judge of the run was calibrated."""
    rates: tuple[CorrectedRate, ...]
    differences: tuple[CorrectedDifference, ...]
    remarks: tuple[str, ...]
    """Limits of the corrected numbers, one sentence each."""
    lacks_labels: bool
    """Whether the labelled run is archived, so that its labels cannot be read."""


def read_judge_quality(
    connection: Connection,
    run: Run,
    *,
    now: datetime | None = None,
    up_to: int | None = None,
) -> JudgeQuality | None:
    """The quality of the run's judges; `None` if its judges scored nothing.

    `now` is by default the present (UTC). Reads every event of the run, and of the labelled run.
    Raises as `read_judged_run` does.
    """
    if not run.started.judges:
        return None
    judged = read_judged_run(connection, run, up_to)
    if not judged.evaluations:
        return None
    calibration = calibration_for(connection, judged, now=now, up_to=up_to)
    labelled = None
    if calibration is not None and (calibration.is_own or not calibration.stale):
        labelled = read_labelled_run(connection, calibration.event)
    drawn = 0 if calibration is None else _count_samples(connection, calibration.event)
    return judge_quality(judged, calibration, labelled, drawn)


def _count_samples(connection: Connection, event: JudgeCalibrated) -> int:
    """The number of samples that were drawn from the labelled run up to the calibration."""
    return sum(1 for _ in samples_of(connection, event.about, event.position))


def judge_quality(
    judged: JudgedRun,
    calibration: Calibration | None,
    labelled: LabelledRun | None,
    drawn: int = 1,
) -> JudgeQuality:
    """The quality of the judges of a run. `labelled` has the labels of a calibration that holds;
    `None` without one, or if its run is archived. `drawn` is the number of samples that were drawn
    from that run. Reads nothing."""
    differences: tuple[CorrectedDifference, ...] = ()
    if labelled is None or calibration is None:
        rates = corrected_rates(judged, {})
    elif calibration.is_own:
        rates = corrected_rates(judged, labelled.labels.passed)
        differences = corrected_differences(judged, labelled.labels.passed)
    else:
        elsewhere = verdict_sample(labelled.run.evaluations, labelled.labels.passed)
        rates = corrected_rates(judged, {}, elsewhere)
    remarks = tuple(_remarks(calibration, labelled, rates, differences))
    if calibration is not None and drawn > 1:
        number = calibration.run_number
        remarks += (f"{drawn} samples were drawn from run {number}: the last one counts.",)
    lacks_labels = calibration is not None and not calibration.stale and labelled is None
    return JudgeQuality(calibration, rates, differences, remarks, lacks_labels)


def _remarks(
    calibration: Calibration | None,
    labelled: LabelledRun | None,
    rates: tuple[CorrectedRate, ...],
    differences: tuple[CorrectedDifference, ...],
) -> Iterator[str]:
    if calibration is None:
        yield "Nobody has measured how often these judges err."
        return
    of_run = f"the calibration of run {calibration.run_number}"
    for reason in calibration.stale:
        yield f"{of_run[0].upper()}{of_run[1:]} is stale: {reason}."
    if labelled is None and not calibration.stale:
        yield f"Run {calibration.run_number}, which was labelled, is archived."
    event = calibration.event
    if missing := event.undecided + event.unlabelled:
        drawn = event.labels + missing
        yield f"{missing:,} of {drawn:,} drawn evaluations have no clear label."
    transferred = [rate.model for rate in rates if rate.by == ERROR_RATES]
    if transferred:
        yield (
            f"Corrected by error rates on other answers ({', '.join(transferred)}): this assumes "
            "that the judges err on these answers as often."
        )
    uncorrected = [rate.model for rate in rates if rate.by is None]
    if labelled is not None and uncorrected:
        yield (
            f"Not corrected ({', '.join(uncorrected)}): the labels do not show that these judges "
            "pass good answers more often than bad ones."
        )
    for difference in differences:
        if difference.errs_differently:
            yield (
                f"The judges treat {difference.one} and {difference.other} differently: compare "
                "the corrected rates only."
            )
