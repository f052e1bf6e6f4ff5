"""Judges the gates on the judges of a run, by a calibration that holds for it."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.configuration.gates_section import Gates, GateSubject
from failproof_es.core.run import Run
from failproof_es.engine.calibration.calibrations import FRESH_DAYS
from failproof_es.engine.calibration.judge_quality import JudgeQuality, read_judge_quality
from failproof_es.engine.calibration.measuring import CorrectedRate
from failproof_es.engine.history import Connection
from failproof_es.events import JudgeErrors, Measured
from failproof_es.gates import Gate, NamedGates
from failproof_es.support.statistics import Estimate


def read_gates_on_judges(connection: Connection, limits: Gates, run: Run) -> dict[str, Gate]:
    """The gates of `limits` on the judges of the run, by name, as of now.

    Empty without such a gate. Raises as `read_judge_quality` does.
    """
    if not limits.on_judges:
        return {}
    fresh_days = limits.max_judge_age or FRESH_DAYS
    quality = read_judge_quality(connection, run, fresh_days=fresh_days)
    return judge_gates_on_judges(limits, quality, run.started.run_number)


def judge_gates_on_judges(
    limits: Gates, quality: JudgeQuality | None, run_number: int
) -> dict[str, Gate]:
    """The gates of `limits` on judges, by name. `quality` is `None` if no judge scored anything.

    Without a calibration that holds for the run, none is met. Pure.
    """
    why = _why_refused(quality, run_number)
    if quality is None or quality.calibration is None or why is not None:
        return {
            name: {"limit": limit, "measured": None, "of": None, "met": False, "why": why}
            for name in Gates.on(GateSubject.JUDGES)
            if (limit := getattr(limits, name)) is not None
        }
    calibration = quality.calibration
    return dict(
        judge_calibrated(limits, calibration.event.errors, quality.rates, calibration.age_days)
    )


def _why_refused(quality: JudgeQuality | None, run_number: int) -> str | None:
    """Why nothing is known of the judges; `None` if a calibration holds."""
    if quality is None:
        return "no judge scored an evaluation"
    advice = f"`failproof-es calibrate {run_number} --labels 100`"
    if quality.calibration is None:
        return f"these judges were never calibrated: {advice}"
    if quality.calibration.stale:
        reasons = "; ".join(quality.calibration.stale)
        number = quality.calibration.run_number
        return f"the calibration of run {number} is stale: {reasons}: {advice}"
    return None


def judge_calibrated(
    limits: Gates,
    errors: Sequence[JudgeErrors],
    rates: Sequence[CorrectedRate],
    age_days: float,
) -> NamedGates:
    """The gates of `limits` on judges, each with its name, by a calibration that holds. Pure.

    `errors` are those of the calibration, that of whole evaluations first; `rates` the run's.
    """
    is_lower = limits.judge == "lower"
    if (least := limits.min_judge_agreement) is not None:
        whole = errors[0]
        yield "min_judge_agreement", _least(least, _kappa(whole), whole.labels, is_lower=is_lower)
    if (least := limits.min_corrected_accuracy) is not None:
        for rate in rates:
            name = "min_corrected_accuracy"
            gate = _least(least, _of(rate.corrected), rate.judged.total, is_lower=is_lower)
            full = f"{name}.{rate.model}" if len(rates) > 1 else name
            yield full, gate | {"model": rate.model}
    if (most := limits.max_judge_age) is not None:
        age = round(age_days, 2)
        yield "max_judge_age", {"limit": most, "measured": age, "of": None, "met": age <= most}


_Figure = tuple[float, float, float]
"""A figure and the ends of its interval."""


def _kappa(errors: JudgeErrors) -> _Figure | None:
    kappa: Measured | None = errors.kappa
    return None if kappa is None else (kappa.value, kappa.low, kappa.high)


def _of(estimate: Estimate) -> _Figure | None:
    value, interval = estimate.value, estimate.interval
    return None if value is None or interval is None else (value, interval.low, interval.high)


def _least(limit: float, figure: _Figure | None, of: int, *, is_lower: bool) -> Gate:
    """A gate whose figure, or with `is_lower` the lower end of its interval, must reach a limit."""
    gate: Gate = {"limit": limit, "measured": None, "of": of, "met": False}
    if figure is None:
        return gate | {"why": "cannot tell: the labels do not determine it"}
    value, low, high = figure
    gate |= {"measured": value, "interval": [low, high]}
    if value < limit or not is_lower or low >= limit:
        return gate | {"met": value >= limit}
    return gate | {"cannot_tell": True, "why": f"cannot tell: it may be as low as {low:.4g}"}
