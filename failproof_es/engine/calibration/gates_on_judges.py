"""Judges the gates on the judges of a run, by a calibration that holds for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.configuration.gates_section import Gates, GateSubject
from failproof_es.core.run import Run
from failproof_es.engine.calibration.calibrations import how_to_calibrate
from failproof_es.engine.calibration.judge_quality import JudgeQuality, read_judge_quality
from failproof_es.engine.calibration.measuring import CorrectedRate
from failproof_es.engine.history import Connection
from failproof_es.events import JudgeErrors, Measured
from failproof_es.gates import Gate, NamedGates, RetryBias, not_judged
from failproof_es.support.statistics import EstimatedFigure


def read_gates_on_judges(
    connection: Connection, limits: Gates, run: Run, again: RetryBias
) -> dict[str, Gate]:
    """The gates of `limits` on the judges of the run, by name, as of now.

    Empty without such a gate. Raises as `read_judge_quality` does.
    """
    if not limits.on_judges:
        return {}
    quality = read_judge_quality(connection, run)
    models = [model.key for model in run.started.models]
    return judge_gates_on_judges(limits, models, quality, run.started.run_number, again)


def judge_gates_on_judges(
    limits: Gates,
    models: Sequence[str],
    quality: JudgeQuality | None,
    run_number: int,
    again: RetryBias,
) -> dict[str, Gate]:
    """The gates of `limits` on judges, by name. `quality` is `None` if no judge scored anything.

    `models` are those of the run. Without a calibration that holds for it, none is met. Pure.
    """
    why = _why_refused(quality, run_number)
    if quality is None or quality.calibration is None or why is not None:
        return {
            full: {"limit": limit, "measured": None, "of": None, "met": False, "why": why} | model
            for name in Gates.on(GateSubject.JUDGES)
            if (limit := getattr(limits, name)) is not None
            for full, model in _names(name, models)
        }
    errors, age_days = quality.calibration.event.errors, quality.calibration.age_days
    judged = dict(judge_calibrated(limits, models, errors, quality.rates, age_days, again))
    if quality.lacks_labels and again.by_result is None:
        number = quality.calibration.run_number
        instead = how_to_calibrate(run_number)
        why = f"run {number}, which was labelled, is archived: attach it, or {instead}"
        judged |= {
            name: gate | {"why": why}
            for name, gate in judged.items()
            if name.startswith("min_corrected_accuracy")
        }
    return judged


def _names(gate: str, models: Sequence[str]) -> Iterator[tuple[str, Gate]]:
    """The names under which a gate is judged, each with its field `model` if it judges one."""
    if gate != "min_corrected_accuracy":
        yield gate, {}
        return
    for model in models:
        yield (f"{gate}.{model}" if len(models) > 1 else gate), {"model": model}


def _why_refused(quality: JudgeQuality | None, run_number: int) -> str | None:
    """Why nothing is known of the judges; `None` if a calibration holds."""
    if quality is None:
        return "no judge scored an evaluation"
    advice = how_to_calibrate(run_number)
    if quality.calibration is None:
        return f"these judges were never calibrated: {advice}"
    if quality.calibration.stale:
        reasons = "; ".join(quality.calibration.stale)
        number = quality.calibration.run_number
        return f"the calibration of run {number} is stale: {reasons}: {advice}"
    return None


def judge_calibrated(
    limits: Gates,
    models: Sequence[str],
    errors: Sequence[JudgeErrors],
    rates: Sequence[CorrectedRate],
    age_days: float,
    again: RetryBias,
) -> NamedGates:
    """The gates of `limits` on judges, each with its name, by a calibration that holds. Pure.

    `models` are those of the run. `errors` are those of the calibration, that of whole evaluations
    first; `rates` the run's. Rates are not judged if `again` says that evaluations were chosen by
    their results.
    """
    is_lower = limits.judge == "lower"
    if (least := limits.min_judge_agreement) is not None:
        whole = errors[0]
        yield "min_judge_agreement", _least(least, _kappa(whole), whole.labels, is_lower=is_lower)
    if (least := limits.min_corrected_accuracy) is not None:
        rates_of_models = {rate.model: rate for rate in rates}
        for name, model in _names("min_corrected_accuracy", models):
            rate = rates_of_models.get(model["model"])
            figure = None if rate is None else _of(rate.corrected)
            of = 0 if rate is None else rate.judged.total
            gate = not_judged(_least(least, figure, of, is_lower=is_lower), again)
            yield name, gate | model
    if (most := limits.max_judge_age) is not None:
        age = round(age_days, 2)
        yield "max_judge_age", {"limit": most, "measured": age, "of": None, "met": age <= most}


_Figure = tuple[float, float, float]
"""A figure and the ends of its interval."""


def _kappa(errors: JudgeErrors) -> _Figure | None:
    kappa: Measured | None = errors.kappa
    return None if kappa is None else (kappa.value, kappa.low, kappa.high)


def _of(estimate: EstimatedFigure) -> _Figure | None:
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
