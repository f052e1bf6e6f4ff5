"""The report's sections on provenance: the cases, the models, and the run's record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.catalogue.run import BranchedFrom, RunDocument
from failproof_es.catalogue.wording import describe_model, moment
from failproof_es.core.run import how_branched
from failproof_es.core.selection import describe_cases
from failproof_es.engine.related_runs.attempts import Attempts, RelatedRun
from failproof_es.events.base import ENDED
from failproof_es.reading.workers import describe_workers
from failproof_es.report.data.content import Report
from failproof_es.report.page.blocks import (
    Block,
    Facts,
    Heading,
    Items,
    Paragraph,
    Table,
    TableColumn,
)
from failproof_es.report.page.tables import MODEL, counted, table_of
from failproof_es.support.plurals import plural

_GATES = {True: "met", False: "not met", None: "none judged"}
_CHECKED = {
    True: "complete: everything planned is recorded",
    False: "NOT COMPLETE: the record has integrity findings",
    None: "not yet: the run has not ended",
}


def what_was_asked(report: Report) -> Iterator[Block]:
    """Blocks of the section: each run's settings, dates and cases, and the models that answered."""
    for provenance in report.asked:
        run = provenance.run
        yield from _run_heading(report, run)
        yield Facts(tuple(_facts(run)))
        branch = run.branched_from
        if branch is not None and branch.asked_again:
            ended = "failed" if branch.again == "failed" else "ended without a score"
            yield table_of(
                f"Retried: {ended} in the run this one was branched from",
                branch.asked_again,
                (TableColumn("suite", "name"), lambda evaluation: evaluation.suite),
                (TableColumn("case", "name"), lambda evaluation: evaluation.case),
                (TableColumn("model", "name"), lambda evaluation: evaluation.model),
                (TableColumn("repetition"), lambda evaluation: str(evaluation.repetition)),
                (TableColumn("it had ended with", "name"), lambda evaluation: evaluation.ended_as),
            )
        yield table_of(
            "Case files",
            run.suites,
            (TableColumn("file", "name"), lambda suite: suite.path),
            (TableColumn("cases"), describe_cases),
            (TableColumn("SHA-256", "text"), lambda suite: suite.sha256),
        )
        if provenance.models_answered:
            yield table_of(
                "Models that answered, as they named themselves",
                provenance.models_answered,
                (MODEL, lambda answered: answered[0]),
                (TableColumn("evaluations"), lambda answered: f"{answered[1]:,}"),
            )
        yield from _list_related_runs(run.attempts)


def summarize_asked(report: Report) -> str:
    """The section in a line: how many cases were asked of which models, and when."""
    runs = [provenance.run for provenance in report.asked]
    models = dict.fromkeys(model.key for run in runs for model in run.models)
    repetitions = max(run.repetitions for run in runs)
    return ", ".join(
        (
            plural(max(run.planned_cases for run in runs), "case"),
            *([plural(repetitions, "repetition")] if repetitions > 1 else []),
            plural(len(models), "model"),
            f"started {moment(min(run.started_at for run in runs))}",
        )
    )


def summarize_integrity(report: Report) -> str:
    """The section in a line: the worst state of the runs' records."""
    states = {provenance.integrity for provenance in report.asked}
    worst = False if False in states else None if None in states else True
    return _CHECKED[worst]


def _run_heading(report: Report, run: RunDocument) -> Iterator[Block]:
    if len(report.asked) > 1:
        yield Heading(f"Run {run.run_number}: {run.name}")


def _list_related_runs(attempts: Attempts) -> Iterator[Block]:
    """Tables of the experiment's other attempts and of the runs that share many cases, if any."""
    for title, related_runs in (
        ("Other attempts: runs of the same experiment", attempts.others),
        ("Overlapping: runs that share many cases", attempts.overlapping),
    ):
        if related_runs:
            yield _related_runs(title, related_runs)


def _related_runs(title: str, related_runs: Sequence[RelatedRun]) -> Table:
    return table_of(
        title,
        related_runs,
        (TableColumn("run", "name"), lambda run: str(run.run_number)),
        (TableColumn("attempt"), lambda run: "" if run.attempt is None else str(run.attempt)),
        (TableColumn("name", "name"), lambda run: run.name),
        (
            TableColumn("started", "text"),
            lambda run: "?" if run.started_at is None else moment(run.started_at),
        ),
        (TableColumn("status", "text"), lambda run: run.status),
        (
            TableColumn("finished"),
            lambda run: f"{counted(run.finished) or '?'} of {counted(run.planned) or '?'}",
        ),
        (TableColumn("scored"), lambda run: counted(run.scored) or "?"),
        (TableColumn("gates", "text"), lambda run: _GATES[run.gates_met]),
        (TableColumn("same cases"), lambda run: counted(run.shared_cases)),
    )


def _facts(run: RunDocument) -> Iterator[tuple[str, str]]:
    yield "run", f"{run.run_number}, {run.run_id}"
    yield "status", run.status if run.reason is None else f"{run.status}: {run.reason}"
    yield "started", f"{moment(run.started_at)} by {run.who} on {run.where}"
    if run.workers:
        yield "driven by", describe_workers(run.workers, over=run.status in ENDED)
    yield "ended", "not yet" if run.ended_at is None else moment(run.ended_at)
    yield "dialect", run.dialect
    yield "version", run.code_version
    yield "configuration", run.configuration_digest
    yield "experiment", run.attempts.experiment
    yield "attempt", run.attempts.describe()
    if run.imported is not None:
        yield "origin", run.imported.says
    if run.branched_from is not None:
        yield from _branch_facts(run, run.branched_from)
    if run.part is not None:
        yield "asked", run.part
    yield from ((f"model {model.key}", describe_model(model)) for model in run.models)
    yield from ((f"judge {n}", describe_model(judge)) for n, judge in enumerate(run.judges, 1))
    yield "repetitions", str(run.repetitions)
    yield from ((f"seed of {name}", str(run.seeds[name])) for name in sorted(run.seeds))


def _branch_facts(run: RunDocument, branch: BranchedFrom) -> Iterator[tuple[str, str]]:
    again = "" if branch.reuse else f", {len(branch.asked_again):,} asked again"
    carried_over = f"{run.counts.carried_over:,} carried over{again}"
    place = f"run {branch.run_number} at position {branch.position:,}"
    yield how_branched(branch.reuse), f"{place}, {carried_over}"
    yield from ((f"{path}, changed", str(value)) for path, value in branch.settings.items())


def integrity(report: Report) -> Iterator[Block]:
    """Blocks of the section: positions, findings and seal of each run, and how to verify them
    again.
    """
    for provenance in report.asked:
        yield from _run_heading(report, provenance.run)
        yield Facts(
            (
                ("checked", _CHECKED[provenance.integrity]),
                (
                    "positions",
                    f"{provenance.positions[0]:,} to {provenance.positions[1]:,} of the log",
                ),
                ("events", f"{provenance.events:,}"),
                ("seal", provenance.seal or "none: the run has not ended"),
            )
        )
        yield table_of(
            "What an auditor asks",
            provenance.audit,
            (TableColumn("question", "text"), lambda answer: answer.question),
            (TableColumn("answer", "text"), lambda answer: answer.answer),
            (
                TableColumn("events", "text"),
                lambda answer: ", ".join(map(str, answer.events)),
            ),
            (TableColumn("repeated by", "name"), lambda answer: "; ".join(answer.commands)),
        )
    findings = tuple(
        f"run {provenance.run.run_number}, {finding.kind}: {finding.message}"
        for provenance in report.asked
        if provenance.run.validation is not None
        for finding in provenance.run.validation.findings
    )
    if findings:
        yield Heading("What checking the runs found")
        yield Items(findings)
    yield Paragraph(
        "This report does not verify the log. These commands do, the last without the database:"
    )
    numbers = [provenance.run.run_number for provenance in report.asked]
    verifications = (f"failproof-es verify {number}" for number in numbers)
    replays = (f"failproof-es replay {number}" for number in numbers)
    exports = (f"failproof-es evidence export {n} -o run{n}.evidence" for n in numbers)
    yield Items((*verifications, *replays, *exports))
