"""The report as a page, in the order in which a reviewer reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from failproof_es.report.content import Asked, Funnel, Gate, Report
from failproof_es.report.page_blocks import (
    Block,
    Column,
    Facts,
    Heading,
    Items,
    Mark,
    Page,
    Paragraph,
    Section,
    Table,
)
from failproof_es.report.page_comparison import comparison
from failproof_es.report.page_failures import failures_told
from failproof_es.report.page_results import (
    RATE_COLUMNS,
    cost_and_latency,
    failures_by,
    rate_cells,
    results,
)
from failproof_es.report.transcripts import ToldFailure
from failproof_es.report.wording import percent

_MET = {True: Mark("met", "good"), False: Mark("not met", "bad")}
_CHECKED = {
    True: "complete: everything planned and recorded is accounted for",
    False: "NOT COMPLETE: the record is not what it must be",
    None: "not yet: the run has not ended",
}


def page_of(report: Report, failures: Iterable[ToldFailure]) -> Page:
    """The whole report. `failures` are asked for once, when the page is written."""
    runs = ", ".join(f"run {asked.run_number}" for asked in report.asked)
    return Page(
        title=", ".join(dict.fromkeys(asked.name for asked in report.asked)),
        kicker=f"failproof-es · report of {runs} · as the log stood on {_moment(report.made_at)}",
        tone=report.verdict.tone,
        verdict=report.verdict.sentence,
        beside_verdict=report.verdict.beside,
        sections=(
            Section("gates", "Verdict and gates", _gates(report.gates)),
            Section("asked", "What was asked", _asked(report)),
            Section("denominators", "Denominators", _funnel(report.funnels)),
            Section("results", "Results", results(report)),
            Section("failed", "Failures by category and severity", failures_by(report)),
            Section("refusals", "Refusals", _refusals(report)),
            Section("errors", "Errors", _errors(report)),
            Section("stability", "Stability", _stability(report)),
            Section("judges", "Judges", _agreement(report)),
            Section("cost", "Cost and latency", cost_and_latency(report)),
            Section("comparison", "Comparison", comparison(report)),
            Section("limitations", "Limitations", (Items(report.limitations),)),
            Section("integrity", "Integrity", _integrity(report)),
            Section("failures", "Every failure", failures_told(report, failures)),
        ),
        footer="One file that loads nothing and runs nothing. Text of cases and models is shown "
        "as it was written; characters that hide, reorder or command are shown as escapes.",
    )


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _gates(gates: tuple[Gate, ...]) -> Iterator[Block]:
    if not gates:
        yield Paragraph("No gates were set: nothing decides whether this is good enough.")
        return
    yield Table(
        "Gates",
        (
            Column("gate", "name"),
            Column("run"),
            Column("limit"),
            Column("measured"),
            Column("of"),
            Column("verdict", "text"),
            Column("because", "text"),
        ),
        tuple(
            (
                gate.name,
                str(gate.run_number),
                _limit(gate.limit),
                "not known" if gate.measured is None else _limit(gate.measured),
                "" if gate.of is None else f"{gate.of:,}",
                _MET[gate.met],
                _because(gate),
            )
            for gate in gates
        ),
    )


def _because(gate: Gate) -> str:
    if gate.interval is not None:
        return f"interval {gate.interval[0]:+.4g} to {gate.interval[1]:+.4g}"
    return gate.why or ""


def _limit(value: object) -> str:
    match value:
        case float():
            return f"{value:.4g}"
        case str() | int():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def _asked(report: Report) -> Iterator[Block]:
    for asked in report.asked:
        if len(report.asked) > 1:
            yield Heading(f"Run {asked.run_number}: {asked.name}")
        yield Facts(_facts(asked))
        yield Table(
            "Case files",
            (Column("file", "name"), Column("cases"), Column("SHA-256", "text")),
            tuple((path, f"{cases:,}", sha256) for path, sha256, cases in asked.suites),
        )
        yield Table(
            "Models that answered, as they named themselves",
            (Column("model", "name"), Column("answers")),
            tuple((name, f"{count:,}") for name, count in asked.models_answered),
        )


def _facts(asked: Asked) -> tuple[tuple[str, str], ...]:
    attempt = "" if asked.attempt is None else f" (attempt {asked.attempt})"
    status = asked.status if asked.reason is None else f"{asked.status}: {asked.reason}"
    return (
        ("run", f"{asked.run_number}, {asked.run_id}"),
        ("status", status),
        ("started", f"{_moment(asked.started_at)} by {asked.who} on {asked.where}"),
        ("ended", "not yet" if asked.ended_at is None else _moment(asked.ended_at)),
        ("dialect", asked.dialect),
        ("version", asked.code_version),
        ("configuration", f"{asked.configuration_digest}{attempt}"),
        *((f"model {key}", told) for key, told in asked.models_asked),
        *((f"judge {number}", told) for number, told in enumerate(asked.judges, 1)),
        ("repetitions", str(asked.repetitions)),
        ("seeds", ", ".join(f"{name} {seed}" for name, seed in asked.seeds) or "none"),
    )


def _funnel(funnels: tuple[Funnel, ...]) -> Iterator[Block]:
    yield Paragraph(
        "How many evaluations got how far. The rates of this report are over those scored.",
        note=True,
    )
    stages = ("planned", "sent", "answered", "classified", "judged", "scored")
    yield Table(
        "From planned to scored",
        (Column("model", "name"), *(Column(stage) for stage in stages)),
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
            for funnel in funnels
        ),
    )
    losses = [(funnel, kind, count) for funnel in funnels for kind, count in funnel.losses]
    if not losses:
        yield Paragraph("Nothing was lost on the way.")
        return
    yield Table(
        "Not scored, and why",
        (Column("model", "name"), Column("why", "text"), Column("not scored"), Column("share")),
        tuple(
            (
                funnel.series,
                kind,
                f"{count:,} of {funnel.planned:,}",
                percent(count / funnel.planned),
            )
            for funnel, kind, count in losses
        ),
    )


def _refusals(report: Report) -> Iterator[Block]:
    yield Paragraph(
        "Over: refused where an answer was expected, and failed for it. Under: answered where a "
        "refusal was expected.",
        note=True,
    )
    yield Table(
        "Refused, rightly or wrongly",
        (Column("model", "name"), Column("refused, of scored")),
        tuple((each.series, f"{each.refused:,} of {each.answered:,}") for each in report.refusals),
    )
    for title, rates in (
        ("Over-refusal", [(each.series, each.over) for each in report.refusals]),
        ("Under-refusal", [(each.series, each.under) for each in report.refusals]),
    ):
        if not any(rate.total for _, rate in rates):
            yield Paragraph(f"{title}: no case that was scored could show it.")
            continue
        yield Table(
            title,
            (Column("model", "name"), _refused(title), *RATE_COLUMNS[1:]),
            tuple((series, *rate_cells(rate)) for series, rate in rates),
        )


def _refused(title: str) -> Column:
    return Column("refused" if title == "Over-refusal" else "answered")


def _errors(report: Report) -> Iterator[Block]:
    yield Paragraph(
        "Errors are of the way, not of the models' answers: no rate counts them as failures.",
        note=True,
    )
    attempts = [
        (each.series, kind, f"{count:,}") for each in report.errors for kind, count in each.attempts
    ]
    if not attempts:
        yield Paragraph("No attempt failed.")
        return
    yield Table(
        "Attempts that failed",
        (Column("model", "name"), Column("kind", "text"), Column("attempts")),
        tuple(attempts),
    )
    retries = ", ".join(f"{each.series} {each.retries:,}" for each in report.errors)
    yield Paragraph(f"Requests that were sent again: {retries}.")


def _stability(report: Report) -> Iterator[Block]:
    if not report.stability:
        yield Paragraph("Every case was asked once: nothing is known of how stable answers are.")
        return
    yield Table(
        "Cases that passed every time",
        (Column("model", "name"), Column("tries of each"), Column("always"), *RATE_COLUMNS[1:]),
        tuple((each.series, str(each.k), *rate_cells(each.all_of_k)) for each in report.stability),
    )
    yield Table(
        "Cases that passed sometimes",
        (Column("model", "name"), Column("sometimes"), Column("chance that any of k tries passes")),
        tuple(
            (
                each.series,
                f"{each.changing:,} of {each.cases:,}",
                f"{percent(each.any_of_k)}, mean of {each.cases:,} cases",
            )
            for each in report.stability
        ),
    )


def _agreement(report: Report) -> Iterator[Block]:
    if not any(asked.judges for asked in report.asked):
        yield Paragraph("No model judged another: checks decided.")
    elif not report.agreement:
        yield Paragraph("How far judges agree with each other, or with people, is not known.")
    if not report.agreement:
        return
    yield Table(
        "Agreement beyond chance",
        (
            Column("who", "name"),
            Column("on what", "text"),
            Column("agree"),
            Column("Cohen's kappa"),
            Column("95 % interval"),
        ),
        tuple(
            (
                f"{each.one} and {each.other}",
                each.what,
                f"{each.agreeing:,} of {each.pairs:,}",
                "not defined" if each.kappa is None else f"{each.kappa:.2f}",
                "–"
                if each.interval is None
                else f"{each.interval[0]:.2f} to {each.interval[1]:.2f}",
            )
            for each in report.agreement
        ),
    )


def _integrity(report: Report) -> Iterator[Block]:
    for asked in report.asked:
        if len(report.asked) > 1:
            yield Heading(f"Run {asked.run_number}: {asked.name}")
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
    yield Items(
        (
            "failproof-es verify",
            *(f"failproof-es replay {number}" for number in numbers),
            *(
                f"failproof-es evidence export {number} -o run{number}.evidence"
                for number in numbers
            ),
        )
    )
