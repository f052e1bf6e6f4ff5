"""Sentences on how far the judges of a run can be trusted. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.report.data.content import JudgeCalibration, Tone
from failproof_es.support.percentages import percent, percent_range


def corrected_rates(calibration: JudgeCalibration, of_run: str) -> Iterator[tuple[Tone, str]]:
    """A sentence for each corrected rate: a doubt if its interval excludes the judged rate.

    `of_run` follows the name of the model, such as ` (run 2)`.
    """
    for rate in calibration.rates:
        value, interval, judged = rate.corrected.value, rate.corrected.interval, rate.judged.value
        if value is None or interval is None or judged is None:
            continue
        corrected = (
            f"Corrected for the errors of its judges, {rate.model}{of_run} passes {percent(value)} "
            f"({percent_range((interval.low, interval.high))}) of what they judged"
        )
        if interval.low <= judged <= interval.high:
            yield "plain", f"{corrected}."
        else:
            yield "doubt", f"{corrected}, not {percent(judged)}."


def unmeasured_judges(calibrations: Sequence[JudgeCalibration]) -> Iterator[str]:
    """A sentence for each run whose judges nobody has measured, or whose calibration is stale."""
    for calibration in calibrations:
        number = calibration.run_number
        if calibration.labelled_run is None:
            yield (
                f"Nobody has measured how often the judges of run {number} err: "
                f"`failproof-es calibrate {number} --labels 100`."
            )
        elif calibration.stale:
            yield (
                f"The calibration of the judges of run {number} is stale: "
                f"{'; '.join(calibration.stale)}."
            )
