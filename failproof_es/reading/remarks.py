"""Remarks about a run that its counts do not show."""

from __future__ import annotations

from datetime import UTC, datetime

from failproof_es.core.registration import describe as describe_registration
from failproof_es.core.run import describe_branch, describe_selection
from failproof_es.core.selection import chosen_by_score
from failproof_es.engine.calibration.calibrations import fresh_days
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.experiments import run_numbers
from failproof_es.support.plurals import plural


def remarks_on(run: RecordedRun) -> tuple[str, ...]:
    """The remarks that apply to the run, each a sentence or phrase; empty if none does.

    It was imported from another tool; only a part was asked; it was branched from another run; its
    rates are of questions that were asked again because of their results; it follows a registered
    plan; its judges were measured.
    """
    remarks = [run.run.imported_from, describe_selection(run.started)]
    branch = run.started.branched_from
    if branch is not None:
        remarks.append(branch_of(run))
        if branch.again != "failed" and chosen_by_score(run.started.selection) is None:
            # else `describe_branch` or `describe_selection` says so already
            by_result = run.chosen_by_result
            remarks.append(None if by_result is None else by_result.reason)
    if (registration := run.started.registration) is not None:
        remarks.append(describe_registration(**registration.model_dump(mode="json")))
    remarks.append(measured_judges(run))
    return tuple(remark for remark in remarks if remark is not None)


def measured_judges(run: RecordedRun) -> str | None:
    """When and how well the run's judges were measured; `None` if no calibration is on record."""
    if not run.started.judges or (event := run.calibrated) is None:
        return None
    kappa = event.errors[0].kappa
    agreement = "" if kappa is None else f", kappa {kappa.value:.2f}"
    days = (datetime.now(UTC) - event.timestamp).days
    stale = f", stale ({days} days old)" if days > fresh_days(run.started) else ""
    return (
        f"judges measured on {plural(event.labels, 'label')}{agreement}, "
        f"{event.timestamp:%Y-%m-%d}{stale}: `failproof-es calibrate show "
        f"{run.started.run_number}` has the corrected rates"
    )


def branch_of(run: RecordedRun) -> str | None:
    """Results that the run may carry over and their run, in words; `None` if it is not branched."""
    branch = run.started.branched_from
    if branch is None:
        return None
    return describe_branch(branch, run_numbers(run.connection, [branch.run_id]).get(branch.run_id))
