"""Sentences on the judges of a run."""

from __future__ import annotations

from typing import Any

from failproof_es.engine.calibration.measuring import LABELS, CorrectedRate
from failproof_es.report.data.conclusions import verdict
from failproof_es.report.data.content import JudgeCalibration
from failproof_es.support.statistics import EstimatedFigure, Interval, rate


def test_of_several_runs_a_corrected_rate_names_its_run() -> None:
    def sentences(*runs: int) -> list[str]:
        said: list[Any] = list(
            verdict([], [], {}, calibrated=[calibrated(run) for run in runs]).remarks
        )
        return [str(sentence) for sentence in said if "Corrected for" in str(sentence)]

    assert "talker passes" in sentences(2)[0]
    assert ["(run 2)" in sentence for sentence in sentences(2, 7)] == [True, False]
    assert "talker (run 7) passes" in sentences(2, 7)[1]


def calibrated(run_number: int) -> JudgeCalibration:
    judged, interval = rate([True] * 8 + [False] * 2), Interval(0.4, 0.9, "Jeffreys' draws", 0.95)
    corrected = CorrectedRate("talker", judged, 10, EstimatedFigure(0.7, interval), LABELS)
    return JudgeCalibration(
        run_number=run_number, labelled_run=1, made_at=None, age_days=0.0, labels=10,
        labelled_by=("jane",), reliability=None, stale=(), errors=(), rates=(corrected,),
        differences=(), remarks=(),
    )  # fmt: skip
