"""The report's counts: unscored evaluations, refusals, errors, repetitions, judges."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.catalogue.wording import judge_named, percent
from failproof_es.report.data.content import JudgeAgreement, JudgeCoverage, Report
from failproof_es.report.page.blocks import Block, Paragraph, Table, TableColumn
from failproof_es.report.page.tables import INTERVAL, RATE_COLUMNS, rate_cells
from failproof_es.support.plurals import plural

_MODEL = TableColumn("model", "name")


def denominators(report: Report) -> Iterator[Block]:
    """Blocks of the section: how many evaluations reached each stage, and why others have no score.

    Cases that a defect kept out of the plan are listed, too.
    """
    yield Paragraph(
        "How far the evaluations got. The rates of this report are over those scored. "
        "Answered: at least one turn got a reply. Judged: at least one judge came to a verdict; "
        "where checks alone decide, an answer is scored without one.",
        note=True,
    )
    stages = ("planned", "sent", "answered", "classified", "judged", "scored")
    yield Table(
        "From planned to scored",
        (_MODEL, *(TableColumn(stage) for stage in stages)),
        tuple(
            (
                funnel.series,
                f"{funnel.planned:,}",
                f"{funnel.sent:,}",
                f"{funnel.answered:,}",
                f"{funnel.classified:,}",
                "no judge" if funnel.judged is None else f"{funnel.judged:,}",
                f"{funnel.scored:,}",
            )
            for funnel in report.funnels
        ),
    )
    for provenance in report.asked:
        if (branch := provenance.run.branched_from) is not None:
            yield Paragraph(
                f"Of run {provenance.run.run_number}, "
                f"{plural(provenance.run.counts.carried_over, 'evaluation')} "
                f"happened in run {branch.run_number} or before it, and were carried over."
            )
    losses = tuple(
        (funnel.series, kind, f"{count:,} of {funnel.planned:,}", percent(count / funnel.planned))
        for funnel in report.funnels
        for kind, count in funnel.losses
    )
    if losses:
        columns = (
            _MODEL,
            TableColumn("why", "text"),
            TableColumn("not scored"),
            TableColumn("share"),
        )
        yield Table("Not scored, and why", columns, losses)
    else:
        yield Paragraph("Nothing that was planned was lost on the way.")
    skipped = tuple(_skipped(report))
    if skipped:
        places = (
            TableColumn("run", "name"),
            TableColumn("where", "text"),
            TableColumn("what is wrong", "text"),
        )
        yield Table("Never planned: defective cases that were left out", places, skipped)


def _skipped(report: Report) -> Iterator[tuple[str, str, str]]:
    for provenance in report.asked:
        for defect in provenance.skipped:
            place = ":".join(str(part) for part in (defect.path, defect.line) if part is not None)
            what = ": ".join(filter(None, (defect.field, defect.why)))
            yield f"run {provenance.run.run_number}", place, what


def refusals(report: Report) -> Iterator[Block]:
    """Blocks of the section: over-refusals and under-refusals of each series, with their rates."""
    yield Paragraph(
        "Over-refusal: refused and failed for it, of the cases that want an answer. Under-refusal: "
        "answered and failed for it, of the cases that want a refusal (tag: refusal).",
        note=True,
    )
    yield Table(
        "Refused, rightly or wrongly",
        (_MODEL, TableColumn("refused, of scored")),
        tuple(
            (refusal.series, f"{refusal.refused:,} of {refusal.scored:,}")
            for refusal in report.refusals
        ),
    )
    for title, counted, rates in (
        (
            "Over-refusal",
            "refused",
            [(refusal.series, refusal.over) for refusal in report.refusals],
        ),
        (
            "Under-refusal",
            "answered",
            [(refusal.series, refusal.under) for refusal in report.refusals],
        ),
    ):
        if any(rate.total for _, rate in rates):
            columns = (_MODEL, TableColumn(counted), *RATE_COLUMNS[1:])
            yield Table(title, columns, tuple((name, *rate_cells(rate)) for name, rate in rates))
        else:
            yield Paragraph(f"{title}: no case that was scored could show it.")


def errors(report: Report) -> Iterator[Block]:
    """Blocks of the section: errors by kind, which are not failures, and retried requests."""
    yield Paragraph(
        "Errors happened on the way, not in the models' answers. They are not failures and count "
        "in no rate. Evaluations that ended unscored because of them are listed under "
        "denominators.",
        note=True,
    )
    failed = tuple(
        (series_errors.series, kind, f"{count:,}")
        for series_errors in report.errors
        for kind, count in series_errors.requests
    )
    if failed:
        columns = (_MODEL, TableColumn("kind", "text"), TableColumn("requests"))
        yield Table("Requests that failed", columns, failed)
    else:
        yield Paragraph("No request failed.")
    if any(series_errors.retries for series_errors in report.errors):
        yield Table(
            "Sent again, after an attempt that failed or a judge's reply that could not be read",
            (_MODEL, TableColumn("requests")),
            tuple(
                (series_errors.series, f"{series_errors.retries:,}")
                for series_errors in report.errors
            ),
        )


def stability(report: Report) -> Iterator[Block]:
    """Blocks of the section: cases that passed every time, at least once, and only sometimes."""
    if not report.stability:
        yield Paragraph("No case was scored twice, so the stability of the answers is unknown.")
        return
    yield Paragraph("Of the cases of which every repetition was scored.", note=True)
    tries = TableColumn("repetitions")
    for title, counted, rates in (
        ("Passed every time", "cases", [(stable, stable.all_of_k) for stable in report.stability]),
        (
            "Passed at least once",
            "cases",
            [(stable, stable.any_of_k) for stable in report.stability],
        ),
    ):
        yield Table(
            title,
            (_MODEL, tries, TableColumn(counted), *RATE_COLUMNS[1:]),
            tuple((stable.series, str(stable.k), *rate_cells(rate)) for stable, rate in rates),
        )
    yield Table(
        "Passed sometimes",
        (_MODEL, TableColumn("cases")),
        tuple(
            (stable.series, f"{stable.changing:,} of {stable.any_of_k.total:,}")
            for stable in report.stability
        ),
    )


def judges(report: Report) -> Iterator[Block]:
    """Blocks of the section: verdicts by judge, agreement between judges and with people."""
    if not any(provenance.run.judges for provenance in report.asked):
        yield Paragraph("No judge model was used: checks decided.")
    if report.judged:
        yield _verdicts(report.judged)
    if report.agreement:
        yield _agreement(report.agreement)
    elif report.judged:
        yield Paragraph("Agreement of judges with each other or with people is unknown.")


def _verdicts(judged: tuple[JudgeCoverage, ...]) -> Table:
    several = len({judge.run_number for judge in judged}) > 1
    return Table(
        "Came to a verdict",
        (TableColumn("judge", "name"), TableColumn("evaluations")),
        tuple(
            (
                judge_named(judge.key) + (f", run {judge.run_number}" if several else ""),
                f"{judge.verdicts:,} of {judge.asked:,}",
            )
            for judge in judged
        ),
    )


def _agreement(agreement: tuple[JudgeAgreement, ...]) -> Table:
    return Table(
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
                f"{judge_agreement.left_out:,}",
                "not defined" if judge_agreement.kappa is None else f"{judge_agreement.kappa:.2f}",
                _ends(judge_agreement.interval),
            )
            for judge_agreement in agreement
        ),
    )


def _ends(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"
