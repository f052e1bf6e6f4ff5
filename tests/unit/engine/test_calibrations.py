"""Which calibration holds for a run."""

from __future__ import annotations

from failproof_es.engine.calibration.calibrations import FRESH_DAYS, fresh_days
from failproof_es.events import RunStarted
from tests.unit.event_samples import SAMPLES


def test_the_gate_on_age_says_when_a_calibration_is_stale_wherever_it_is_shown() -> None:
    (started,) = (event for event in SAMPLES if isinstance(event, RunStarted))
    gated = started.model_copy(update={"configuration": {"gates": {"max_judge_age": 365.0}}})
    assert (fresh_days(started), fresh_days(gated)) == (FRESH_DAYS, 365.0)
