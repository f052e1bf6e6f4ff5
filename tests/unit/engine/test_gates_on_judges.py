"""The gates on judges, by a calibration that holds for the run."""

from __future__ import annotations

from failproof_es.configuration.gates_section import Gates
from failproof_es.engine.calibration.calibrations import Calibration
from failproof_es.engine.calibration.gates_on_judges import judge_gates_on_judges
from failproof_es.engine.calibration.judge_quality import JudgeQuality
from failproof_es.events import JudgeCalibrated
from failproof_es.gates import ASKED_ONCE
from tests.unit.event_samples import SAMPLES


def test_labels_in_an_archive_are_the_reason_why_no_rate_was_corrected() -> None:
    (event,) = (event for event in SAMPLES if isinstance(event, JudgeCalibrated))
    calibration = Calibration(event, 3, is_own=False, age_days=1.0, stale=())
    limits = Gates(min_corrected_accuracy=0.5, max_judge_age=30)
    for lacks_labels in (True, False):
        quality = JudgeQuality(calibration, (), (), (), lacks_labels)
        gates = judge_gates_on_judges(limits, ["one", "two"], quality, 7, ASKED_ONCE)
        assert gates["max_judge_age"]["met"] and "why" not in gates["max_judge_age"]
        for model in ("one", "two"):
            gate = gates[f"min_corrected_accuracy.{model}"]
            assert not gate["met"] and ("run 3, which was labelled" in gate["why"]) is lacks_labels
