"""The state of a run's calibration as a document, and as tables."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from failproof_es.catalogue.wording import signed_points
from failproof_es.cli.rendering.output import Column, columns_of_keys, print_table, say
from failproof_es.engine.calibration.judge_quality import JudgeQuality
from failproof_es.engine.calibration.label_sample import Labels
from failproof_es.events import JudgeErrors, Measured, QueueCreated
from failproof_es.support.percentages import percent, percent_within
from failproof_es.support.plurals import plural
from failproof_es.support.statistics import EstimatedFigure, Interval

_ERRORS = (
    *columns_of_keys("by", "what"),
    Column("verdicts", "verdicts", right=True),
    Column("labels", "labels", right=True),
    Column("true positive rate", "true_positive_rate"),
    Column("false positive rate", "false_positive_rate"),
    Column("kappa", "kappa"),
)
_RATES = (
    *columns_of_keys("model"),
    Column("evaluations", "evaluations", right=True),
    Column("judged", "judged"),
    Column("labels", "labels", right=True),
    Column("corrected", "corrected"),
    Column("by", "by"),
)
_DIFFERENCES = (
    Column("model", "one"),
    Column("less", "other"),
    Column("judged", "judged"),
    Column("corrected", "corrected"),
)


def calibration_document(
    run_number: int,
    sample: QueueCreated | None,
    labels: Labels | None,
    quality: JudgeQuality,
) -> dict[str, Any]:
    """The state of a run's calibration as an object for JSON; uncomputable figures are null.

    `sample` is the run's last sample and `labels` its labels so far; `None` without a sample.
    """
    calibration = quality.calibration
    return {
        "run_number": run_number,
        "sample": None if sample is None or labels is None else _progress(sample, labels),
        "calibration": None
        if calibration is None
        else {
            "run_number": calibration.run_number,
            "at": calibration.event.timestamp,
            "age_days": round(calibration.age_days, 2),
            "stale": list(calibration.stale),
            **calibration.event.model_dump(
                mode="json",
                include={"position", "judges", "labels", "undecided", "unlabelled", "labelled_by",
                         "reliability", "errors", "policy", "gates"},
            ),
        },
        "rates": [
            {
                "model": rate.model,
                "evaluations": rate.judged.total,
                "judged": rate.judged.value,
                "judged_interval": _ends(rate.judged.interval),
                "labels": rate.labels,
                "corrected": rate.corrected.value,
                "corrected_interval": _ends(rate.corrected.interval),
                "by": rate.by,
            }
            for rate in quality.rates
        ],
        "differences": [
            {
                "one": difference.one,
                "other": difference.other,
                "judged": difference.judged,
                **_named("corrected", difference.corrected),
                **_named("true_positive_rates", difference.errors),
                **_named("false_positive_rates", difference.false_errors),
            }
            for difference in quality.differences
        ],
        "remarks": list(quality.remarks),
    }  # fmt: skip


def _progress(sample: QueueCreated, labels: Labels) -> dict[str, Any]:
    drawn = len(sample.evaluations)
    decided, undecided = len(labels.passed), len(labels.undecided)
    return {
        "sample": sample.queue,
        "seed": sample.seed,
        "drawn": drawn,
        "labelled": decided,
        "undecided": undecided,
        "open": drawn - decided - undecided,
        "labelled_by": dict(labels.by_reviewer),
    }


def _named(name: str, estimate: EstimatedFigure) -> dict[str, Any]:
    return {name: estimate.value, f"{name}_interval": _ends(estimate.interval)}


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def print_calibration(document: dict[str, Any], errors: tuple[JudgeErrors, ...]) -> None:
    """Print an object of `calibration_document` for people; `errors` are of its calibration."""
    if (sample := document["sample"]) is not None:
        by = ", ".join(f"{name} {count:,}" for name, count in sample["labelled_by"].items())
        say(
            f"{sample['sample']}: {sample['labelled']:,} of {sample['drawn']:,} labelled"
            f"{f' ({by})' if by else ''}, {sample['undecided']:,} undecided, "
            f"{sample['open']:,} open"
        )
    if (calibration := document["calibration"]) is not None:
        moment = calibration["at"].astimezone(UTC)
        people = ", ".join(calibration["labelled_by"])
        say(
            f"judges of run {calibration['run_number']} calibrated {moment:%Y-%m-%d %H:%MZ} on "
            f"{plural(calibration['labels'], 'label')} by {people}"
        )
        print_table(map(_error_row, errors), _ERRORS)
    print_table(map(_rate_row, document["rates"]), _RATES)
    if document["differences"]:
        print_table(map(_difference_row, document["differences"]), _DIFFERENCES)
    for remark in document["remarks"]:
        say(remark)


def _error_row(errors: JudgeErrors) -> dict[str, Any]:
    return {
        "by": errors.by,
        "what": errors.what,
        "verdicts": errors.verdicts,
        "labels": errors.labels,
        "true_positive_rate": _measured(errors.true_positive_rate),
        "false_positive_rate": _measured(errors.false_positive_rate),
        "kappa": None
        if errors.kappa is None
        else f"{errors.kappa.value:.2f} ({errors.kappa.low:.2f} to {errors.kappa.high:.2f})",
    }


def _measured(measured: Measured | None) -> str | None:
    return None if measured is None else _rate(measured.value, (measured.low, measured.high))


def _rate_row(row: dict[str, Any]) -> dict[str, Any]:
    return row | {
        "judged": _rate(row["judged"], row["judged_interval"]),
        "corrected": _rate(row["corrected"], row["corrected_interval"]),
    }


def _difference_row(row: dict[str, Any]) -> dict[str, Any]:
    ends = " to ".join(map(signed_points, row["corrected_interval"]))
    return row | {
        "judged": f"{signed_points(row['judged'])} points",
        "corrected": f"{signed_points(row['corrected'])} points ({ends})",
    }


def _rate(value: float | None, interval: Any) -> str | None:
    if value is None:
        return None
    return percent_within(value, interval) if interval else percent(value)
