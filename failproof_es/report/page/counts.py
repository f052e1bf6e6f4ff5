"""The report's counts: missing scores and failed requests."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.report.data.content import Report
from failproof_es.report.page.blocks import Block, Method, Paragraph, Table, TableColumn
from failproof_es.report.page.tables import MODEL, counted, table_of
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
    yield table_of(
        "From planned to scored",
        report.funnels,
        (MODEL, lambda funnel: funnel.series),
        (TableColumn("planned"), lambda funnel: counted(funnel.planned)),
        (TableColumn("sent"), lambda funnel: counted(funnel.sent)),
        (TableColumn("answered"), lambda funnel: counted(funnel.answered)),
        (TableColumn("classified"), lambda funnel: counted(funnel.classified)),
        (TableColumn("judged"), lambda funnel: counted(funnel.judged)),
        (TableColumn("scored"), lambda funnel: counted(funnel.scored)),
    )
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
