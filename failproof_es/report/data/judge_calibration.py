"""How good the judges of each run are, by the calibrations on record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.core.run import Run
from failproof_es.engine.calibration.judge_quality import JudgeQuality, read_judge_quality
from failproof_es.engine.history import Connection
from failproof_es.report.data.content import JudgeCalibration


def judge_calibrations(connection: Connection, runs: Sequence[Run]) -> Iterator[JudgeCalibration]:
    """For each run whose judges scored something: their errors, and the rates corrected for them.

    Raises `RunIsArchived` if a run is archived.
    """
    for run in runs:
        if (quality := read_judge_quality(connection, run)) is not None:
            yield _calibration(run.started.run_number, quality)


def _calibration(run_number: int, quality: JudgeQuality) -> JudgeCalibration:
    calibration = quality.calibration
    event = None if calibration is None else calibration.event
    return JudgeCalibration(
        run_number=run_number,
        labelled_run=None if calibration is None else calibration.run_number,
        made_at=None if event is None else event.timestamp,
        age_days=None if calibration is None else round(calibration.age_days, 2),
        labels=0 if event is None else event.labels,
        labelled_by=() if event is None else tuple(event.labelled_by),
        reliability=None if event is None else event.reliability,
        stale=() if calibration is None else calibration.stale,
        errors=() if event is None else event.errors,
        rates=quality.rates,
        differences=quality.differences,
        remarks=quality.remarks,
    )
