"""The part of the report that says how good the judges are, and what that does to the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

from failproof_es.catalogue.wording import judge_named, signed_points
from failproof_es.events import JudgeErrors, Measured
from failproof_es.report.charts import plots as charts
from failproof_es.report.data.content import JudgeCalibration, Report
from failproof_es.report.page.blocks import Block, Figure, Method, Paragraph, Table, TableColumn
from failproof_es.report.page.tables import MOST_ROWS_DRAWN, table_of
from failproof_es.support.percentages import percent, percent_within
from failproof_es.support.plurals import plural
from failproof_es.support.statistics import EstimatedFigure, Interval

_METHOD = (
    "People labelled a sample of the judged evaluations, drawn at random for each verdict, "
    "without seeing the verdicts. A rate corrected by labels is the labelled share of each "
    "verdict, weighted by how often the judges gave it: it holds whatever the errors of the "
    "judges. One corrected by error rates (Rogan and Gladen) assumes that the judges err on these "
    "answers as on the labelled ones. A true positive is good and was passed, a false positive is "
    "bad and was passed. The 95 % intervals come from draws of Jeffreys' posteriors, with the "
    "design effect of the clusters."
)


def where_corrected(report: Report) -> Iterator[Paragraph]:
    """A note that the section's numbers are the judges', if the report has corrected ones."""
    rates = [rate for calibration in report.calibrations for rate in calibration.rates]
    if any(rate.corrected.value is not None for rate in rates):
        yield Paragraph(
            'By the verdicts of the judges; under "Judges and people" corrected for their errors.',
            note=True,
        )


def calibrated_judges(report: Report) -> Iterator[Block]:
    """How often the judges of each run err, on whose labels, and the rates corrected for that."""
    several = len(report.calibrations) > 1
    for calibration in report.calibrations:
        yield from _of_run(calibration, f", run {calibration.run_number}" if several else "")
    if any(calibration.labelled_run is not None for calibration in report.calibrations):
        yield Method(_METHOD)


def _of_run(calibration: JudgeCalibration, of_run: str) -> Iterator[Block]:
    if calibration.labelled_run is not None and calibration.made_at is not None:
        made = calibration.made_at.astimezone(UTC)
        alpha = calibration.reliability
        agreed = "" if alpha is None else f", Krippendorff's alpha {alpha:.2f}"
        yield Paragraph(
            f"Judges measured on {plural(calibration.labels, 'label')} by "
            f"{', '.join(calibration.labelled_by)} of run {calibration.labelled_run}, "
            f"{made:%Y-%m-%d %H:%MZ} ({plural(int(calibration.age_days or 0), 'day')} old)"
            f"{agreed}. The labellers did not see the verdicts."
        )
    title = f"Passed by the judges, and corrected{of_run}"
    yield from _picture(title, calibration)
    if any(rate.corrected.value is not None for rate in calibration.rates):
        yield _rates(title, calibration)
    if calibration.differences:
        yield _differences(calibration, of_run)
    if calibration.errors:
        yield _errors(calibration.errors, of_run)
    for remark in calibration.remarks:
        yield Paragraph(remark, note=True)


def _picture(title: str, calibration: JudgeCalibration) -> Iterator[Figure]:
    """The judged and the corrected rate of each model, with their intervals."""
    rows = [
        charts.PlottedRate(
            rate.model, series, value, interval.low, interval.high,
            passed, rate.judged.total,
        )
        for rate in calibration.rates
        for series, value, interval, passed in (
            ("judged", rate.judged.value, rate.judged.interval, rate.judged.passed),
            ("corrected", rate.corrected.value, rate.corrected.interval, None),
        )
        if value is not None and interval is not None and rate.corrected.value is not None
    ]  # fmt: skip
    if rows and len(rows) <= MOST_ROWS_DRAWN:
        yield Figure(title, charts.interval_dots(rows, label=title, axis="passed"))


def _rates(title: str, calibration: JudgeCalibration) -> Table:
    return table_of(
        title,
        calibration.rates,
        (TableColumn("model", "name"), lambda rate: rate.model),
        (TableColumn("evaluations"), lambda rate: f"{rate.judged.total:,}"),
        (TableColumn("judged"), lambda rate: _share(rate.judged.value, rate.judged.interval)),
        (
            TableColumn("corrected"),
            lambda rate: _share(rate.corrected.value, rate.corrected.interval),
        ),
        (TableColumn("own labels"), lambda rate: f"{rate.labels:,}"),
        (TableColumn("by", "text"), lambda rate: rate.by or "not corrected"),
    )


def _differences(calibration: JudgeCalibration, of_run: str) -> Table:
    return table_of(
        f"Differences, judged and corrected{of_run}",
        calibration.differences,
        (TableColumn("models", "name"), lambda pair: f"{pair.one} less {pair.other}"),
        (TableColumn("judged"), lambda pair: signed_points(pair.judged)),
        (TableColumn("corrected"), lambda pair: _points_of(pair.corrected)),
        (TableColumn("of true positive rates"), lambda pair: _points_of(pair.errors)),
        (TableColumn("of false positive rates"), lambda pair: _points_of(pair.false_errors)),
    )


def _errors(errors: tuple[JudgeErrors, ...], of_run: str) -> Table:
    return table_of(
        f"Errors of the judges, over all evaluations{of_run}",
        errors,
        (TableColumn("judge", "name"), lambda row: judge_named(row.by)),
        (TableColumn("on what", "text"), lambda row: row.what),
        (TableColumn("labels"), lambda row: f"{row.labels:,} of {row.verdicts:,}"),
        (TableColumn("true positive rate"), lambda row: _measured(row.true_positive_rate)),
        (TableColumn("false positive rate"), lambda row: _measured(row.false_positive_rate)),
        (TableColumn("Cohen's kappa"), lambda row: _kappa(row.kappa)),
    )


def _share(value: float | None, interval: Interval | None) -> str:
    if value is None:
        return ""
    return (
        percent(value) if interval is None else percent_within(value, (interval.low, interval.high))
    )


def _measured(measured: Measured | None) -> str:
    if measured is None:
        return "not known"
    return percent_within(measured.value, (measured.low, measured.high))


def _kappa(measured: Measured | None) -> str:
    if measured is None:
        return "not defined"
    return f"{measured.value:.2f} ({measured.low:.2f} to {measured.high:.2f})"


def _points_of(estimate: EstimatedFigure) -> str:
    if estimate.value is None or estimate.interval is None:
        return "not known"
    ends = map(signed_points, (estimate.interval.low, estimate.interval.high))
    return f"{signed_points(estimate.value)} ({' to '.join(ends)}) points"
