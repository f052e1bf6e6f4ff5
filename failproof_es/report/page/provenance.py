"""The report's sections on provenance: the cases, the models, and the run's record."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.engine.related_runs.attempts import Attempts, RelatedRun
from failproof_es.events.base import ENDED
from failproof_es.reading.workers import describe_workers
from failproof_es.report.data.content import BranchedFrom, Provenance, Report
from failproof_es.report.data.wording import moment
from failproof_es.report.page.blocks import Block, Column, Facts, Heading, Items, Paragraph, Table
from failproof_es.report.page.tables import without_empty_columns

_CHECKED = {
    True: "complete: everything planned is recorded",
    False: "NOT COMPLETE: the record has integrity findings",
    None: "not yet: the run has not ended",
}

_OTHERS = (
    Column("run"),
    Column("attempt"),
    Column("name", "name"),
    Column("started", "text"),
    Column("status", "text"),
    Column("finished"),
    Column("scored"),
    Column("gates", "text"),
    Column("same cases"),
)


def what_was_asked(report: Report) -> Iterator[Block]:
    """Each run's provenance: its models, cases, settings and dates, and which models answered."""
    for asked in report.asked:
        yield from _which(report, asked)
        yield Facts(_facts(asked))
        if asked.branched_from is not None and asked.branched_from.again:
            yield Table(
                "Retried: failed in the run this one was branched from"
                if asked.branched_from.asked_again == "failed"
                else "Retried: ended without a score in the run this one was branched from",
                (Column("suite", "name"), Column("case", "name"), Column("model", "name"),
                 Column("repetition"), Column("it had ended with", "name")),
                tuple(
                    (each.suite, each.case, each.model, str(each.repetition), each.kind)
                    for each in asked.branched_from.again
                ),
            )  # fmt: skip
        yield Table(
            "Case files",
            (Column("file", "name"), Column("cases"), Column("SHA-256", "text")),
            tuple((path, f"{cases:,}", sha256) for path, sha256, cases in asked.suites),
        )
        if asked.models_answered:
            yield Table(
                "Models that answered, as they named themselves",
                (Column("model", "name"), Column("evaluations")),
                tuple((name, f"{count:,}") for name, count in asked.models_answered),
            )
        yield from _others(asked.attempts)


def _which(report: Report, asked: Provenance) -> Iterator[Block]:
    if len(report.asked) > 1:
        yield Heading(f"Run {asked.run_number}: {asked.name}")


def _others(attempts: Attempts) -> Iterator[Block]:
    """The other attempts and the overlapping runs, with their results."""
    for title, others in (
        ("Other attempts: runs of the same experiment", attempts.others),
        ("Overlapping: runs that share many cases", attempts.overlapping),
    ):
        if others:
            rows = tuple(tuple(_other(each)) for each in others)
            yield without_empty_columns(Table(title, _OTHERS, rows))


def _other(other: RelatedRun) -> Iterator[str]:
    yield str(other.run_number)
    yield "" if other.attempt is None else str(other.attempt)
    yield other.name
    yield "?" if other.started_at is None else moment(other.started_at)
    yield other.status
    finished, planned = (
        "?" if each is None else f"{each:,}" for each in (other.finished, other.planned)
    )
    yield f"{finished} of {planned}"
    yield "?" if other.scored is None else f"{other.scored:,}"
    yield {True: "met", False: "not met", None: "none judged"}[other.gates_met]
    yield f"{other.shared_cases:,}"


def _facts(asked: Provenance) -> tuple[tuple[str, str], ...]:
    status = asked.status if asked.reason is None else f"{asked.status}: {asked.reason}"
    return (
        ("run", f"{asked.run_number}, {asked.run_id}"),
        ("status", status),
        ("started", f"{moment(asked.started_at)} by {asked.who} on {asked.where}"),
        *_workers(asked),
        ("ended", "not yet" if asked.ended_at is None else moment(asked.ended_at)),
        ("dialect", asked.dialect),
        ("version", asked.code_version),
        ("configuration", asked.configuration_digest),
        ("experiment", asked.attempts.experiment),
        ("attempt", asked.attempts.describe()),
        *(() if asked.imported is None else (("origin", asked.imported),)),
        *_branched(asked.branched_from),
        *((("asked", asked.selection),) if asked.selection is not None else ()),
        *((f"model {key}", told) for key, told in asked.models_asked),
        *((f"judge {number}", told) for number, told in enumerate(asked.judges, 1)),
        ("repetitions", str(asked.repetitions)),
        ("seeds", ", ".join(f"{name} {seed}" for name, seed in asked.seeds) or "none"),
    )


def _workers(asked: Provenance) -> tuple[tuple[str, str], ...]:
    if not asked.workers:
        return ()
    over = asked.status in ENDED
    return (("driven by", describe_workers(asked.workers, over=over)),)


def _branched(branch: BranchedFrom | None) -> tuple[tuple[str, str], ...]:
    if branch is None:
        return ()
    again = f", {branch.carried_over:,} carried over"
    if not branch.reuse:
        again += f", {len(branch.again):,} asked again"
    how = "answers reused from" if branch.reuse else "branched from"
    return (
        (how, f"run {branch.run_number} at position {branch.position:,}{again}"),
        *((f"{path}, changed", value) for path, value in branch.settings),
    )


def integrity(report: Report) -> Iterator[Block]:
    """The integrity of each run's record: position, findings, and how to verify it again."""
    for asked in report.asked:
        yield from _which(report, asked)
        yield Facts(
            (
                ("checked", _CHECKED[asked.integrity]),
                ("positions", f"{asked.positions[0]:,} to {asked.positions[1]:,} of the log"),
                ("events", f"{asked.events:,}"),
                ("seal", asked.seal or "none: the run has not ended"),
            )
        )
    findings = tuple(
        f"run {asked.run_number}, {finding.kind}: {finding.message}"
        for asked in report.asked
        for finding in asked.findings
    )
    if findings:
        yield Heading("What checking the runs found")
        yield Items(findings)
    yield Paragraph("To check all of this against the log, and without the database:")
    numbers = [asked.run_number for asked in report.asked]
    replays = (f"failproof-es replay {number}" for number in numbers)
    exports = (f"failproof-es evidence export {n} -o run{n}.evidence" for n in numbers)
    yield Items(("failproof-es verify", *replays, *exports))
