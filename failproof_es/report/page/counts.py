"""The report's counts: missing scores, failed requests, verdicts of judges."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.catalogue.wording import judge_named
from failproof_es.report.data.content import JudgeAgreement, JudgeCoverage, Report
from failproof_es.report.page.blocks import Block, Method, Paragraph, Table, TableColumn
from failproof_es.report.page.tables import INTERVAL, MODEL, without_empty_columns
from failproof_es.support.percentages import percent
from failproof_es.support.plurals import plural


def missing_scores(report: Report) -> Iterator[Block]:
    """Blocks of the section: why evaluations have no score, and which requests failed.

    Cases that a defect kept out of the plan are listed, too. So is what was
    carried over. Nothing if none of these occurred.
    """
    losses = tuple(
        (funnel.series, kind, f"{count:,} of {funnel.planned:,}", percent(count / funnel.planned))
        for funnel in report.funnels
        for kind, count in funnel.losses
    )
    if losses:
        columns = (MODEL, TableColumn("why", "text"), TableColumn("not scored"),
                   TableColumn("share"))  # fmt: skip
        yield Table("Not scored, and why", columns, losses)
        yield from _stages(report)
    yield from _failed_requests(report)
    for provenance in report.asked:
        if (branch := provenance.run.branched_from) is not None:
            yield Paragraph(
                f"Of run {provenance.run.run_number}, "
                f"{plural(provenance.run.counts.carried_over, 'evaluation')} "
                f"happened in run {branch.run_number} or before it, and were carried over."
            )
    skipped = tuple(_skipped(report))
    if skipped:
        places = (
            TableColumn("run", "name"),
            TableColumn("where", "text"),
            TableColumn("what is wrong", "text"),
        )
        yield Table("Never planned: defective cases that were left out", places, skipped)


def _stages(report: Report) -> Iterator[Block]:
    stages = ("planned", "sent", "answered", "classified", "judged", "scored")
    rows = tuple(
        (
            funnel.series,
            f"{funnel.planned:,}",
            f"{funnel.sent:,}",
            f"{funnel.answered:,}",
            f"{funnel.classified:,}",
            "" if funnel.judged is None else f"{funnel.judged:,}",
            f"{funnel.scored:,}",
        )
        for funnel in report.funnels
    )
    columns = (MODEL, *(TableColumn(stage) for stage in stages))
    yield without_empty_columns(Table("From planned to scored", columns, rows))
    yield Method(
        "The rates of this report are over the evaluations that were scored. Answered: at least "
        "one turn got a reply. Judged: at least one judge came to a verdict; where checks alone "
        "decide, an answer is scored without one."
    )


def _skipped(report: Report) -> Iterator[tuple[str, str, str]]:
    for provenance in report.asked:
        for defect in provenance.skipped:
            place = ":".join(str(part) for part in (defect.path, defect.line) if part is not None)
            what = ": ".join(filter(None, (defect.field, defect.why)))
            yield f"run {provenance.run.run_number}", place, what


def _failed_requests(report: Report) -> Iterator[Block]:
    failed = tuple(
        (series_errors.series, kind, f"{count:,}")
        for series_errors in report.errors
        for kind, count in series_errors.requests
    )
    if failed:
        columns = (MODEL, TableColumn("kind", "text"), TableColumn("requests"))
        yield Table("Requests that failed", columns, failed)
    retries = tuple(
        (series_errors.series, f"{series_errors.retries:,}")
        for series_errors in report.errors
        if series_errors.retries
    )
    if retries:
        yield Table(
            "Sent again, after an attempt that failed or a judge's reply that could not be read",
            (MODEL, TableColumn("requests")),
            retries,
        )
    if failed or retries:
        yield Method(
            "Errors happened on the way, not in the models' answers: they are not failures and "
            "count in no rate."
        )


def judges(report: Report) -> Iterator[Block]:
    """Blocks of the section: verdicts by judge, agreement between judges and with people."""
    if report.judged:
        yield _verdicts(report.judged)
    if report.agreement:
        yield _agreement(report.agreement)
        yield Method(
            "Agreement beyond chance is Cohen's kappa: 1 is full agreement, 0 as much as chance "
            "gives. Its interval is over clusters (cases and families of cases)."
        )


def _verdicts(judged: tuple[JudgeCoverage, ...]) -> Table:
    several = len({judge.run_number for judge in judged}) > 1
    return Table(
        "Came to a verdict",
        (TableColumn("judge", "name"), TableColumn("evaluations")),
        tuple(
            (
                judge_named(judge.key) + (f" (run {judge.run_number})" if several else ""),
                f"{judge.verdicts:,} of {judge.asked:,}",
            )
            for judge in judged
        ),
    )


def _agreement(agreement: tuple[JudgeAgreement, ...]) -> Table:
    anything_left_out = any(judge_agreement.left_out for judge_agreement in agreement)
    table = Table(
        "Agreement beyond chance",
        (
            TableColumn("who", "name"),
            TableColumn("on what", "text"),
            TableColumn("agree"),
            TableColumn("left out"),
            TableColumn("Cohen's kappa"),
            INTERVAL,
        ),
        tuple(
            (
                f"{judge_named(judge_agreement.one)} and {judge_named(judge_agreement.other)}",
                judge_agreement.what,
                f"{judge_agreement.agreeing:,} of {judge_agreement.pairs:,}",
                f"{judge_agreement.left_out:,}" if anything_left_out else "",
                "not defined" if judge_agreement.kappa is None else f"{judge_agreement.kappa:.2f}",
                _ends(judge_agreement.interval),
            )
            for judge_agreement in agreement
        ),
    )
    return without_empty_columns(table)


def _ends(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"
