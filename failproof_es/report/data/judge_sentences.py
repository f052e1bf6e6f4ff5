"""Sentences on how far the judges of a run can be trusted. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.catalogue.wording import signed_points
from failproof_es.engine.calibration.calibrations import how_to_calibrate
from failproof_es.engine.calibration.measuring import CorrectedDifference, excludes_zero
from failproof_es.events import Measured
from failproof_es.report.data.content import JudgeCalibration, Tone
from failproof_es.support.percentages import percent, percent_within
from failproof_es.support.plurals import plural

_MOST_DIFFERENCES = 3
"""Differences of models that a verdict names at most; the table has all."""


def sentences_on_judges(calibration: JudgeCalibration, of_run: str) -> Iterator[tuple[Tone, str]]:
    """How often the judges err, then the corrected rates and the differences of the models.

    Nothing of a run without a corrected rate. `of_run` is as in `corrected_rates`.
    """
    rates = list(corrected_rates(calibration, of_run))
    if rates:
        yield from _errors(calibration, of_run)
    yield from rates
    for difference in calibration.differences[:_MOST_DIFFERENCES]:
        yield from _corrected_difference(difference)


def _errors(calibration: JudgeCalibration, of_run: str) -> Iterator[tuple[Tone, str]]:
    for whole in calibration.errors[:1]:
        good, bad = whole.true_positive_rate, whole.false_positive_rate
        if good is not None and bad is not None:
            yield (
                "plain",
                f"The judges{of_run} pass {_measured(good)} of the good answers and "
                f"{_measured(bad)} of the bad ones, by {plural(calibration.labels, 'label')}.",
            )


def _measured(measured: Measured) -> str:
    return percent_within(measured.value, (measured.low, measured.high))


def _corrected_difference(difference: CorrectedDifference) -> Iterator[tuple[Tone, str]]:
    value, interval = difference.corrected.value, difference.corrected.interval
    if value is None or interval is None:
        return
    ends = " to ".join(map(signed_points, (interval.low, interval.high)))
    differ = f"Corrected, {difference.one} and {difference.other} differ by {signed_points(value)}"
    tells = "" if excludes_zero(difference.corrected) else ": the labels do not tell them apart"
    yield "plain", f"{differ} points ({ends}){tells}."


def corrected_rates(calibration: JudgeCalibration, of_run: str) -> Iterator[tuple[Tone, str]]:
    """A sentence for each corrected rate: a doubt if its interval excludes the judged rate.

    `of_run` follows the name of the model, such as ` (run 2)`.
    """
    for rate in calibration.rates:
        value, interval, judged = rate.corrected.value, rate.corrected.interval, rate.judged.value
        if value is None or interval is None or judged is None:
            continue
        share = percent_within(value, (interval.low, interval.high))
        corrected = (
            f"Corrected for these errors, {rate.model}{of_run} passes {share} of "
            f"{rate.judged.total:,} answers"
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
                f"{how_to_calibrate(number)}."
            )
        elif calibration.stale:
            yield (
                f"The calibration of the judges of run {number} is stale: "
                f"{'; '.join(calibration.stale)}."
            )
        elif calibration.errors and (false := calibration.errors[0].false_positive_rate):
            yield (
                f"The failures of run {number} are those that its judges saw: they pass "
                f"{percent(false.value)} of the bad answers."
            )
