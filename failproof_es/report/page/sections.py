"""The report as a page: its sections, in the order in which a reviewer reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from failproof_es.catalogue.wording import moment
from failproof_es.gates import format_amount
from failproof_es.report.data.content import GateRow, Provenance, Report
from failproof_es.report.data.transcripts import FailureWithTranscript
from failproof_es.report.page.blocks import (
    Block,
    Items,
    Mark,
    Paragraph,
    ReportPage,
    ReportSection,
    Table,
    TableColumn,
)
from failproof_es.report.page.comparison import comparison
from failproof_es.report.page.cost import cost_and_latency
from failproof_es.report.page.counts import denominators, errors, judges, refusals, stability
from failproof_es.report.page.failures import failure_sections
from failproof_es.report.page.people import people
from failproof_es.report.page.provenance import integrity, what_was_asked
from failproof_es.report.page.results import failures_by, results
from failproof_es.report.page.tables import without_empty_columns

_MET = {True: Mark("met", "good"), False: Mark("not met", "bad")}


def build_page(report: Report, failures: Iterable[FailureWithTranscript]) -> ReportPage:
    """The report as a page, ready to be rendered as HTML or Markdown.

    `failures` are the report's failures with their transcripts, iterated once, while the page is
    written.
    """
    runs = ", ".join(_describe_run(provenance) for provenance in report.asked)
    return ReportPage(
        title=", ".join(dict.fromkeys(provenance.run.name for provenance in report.asked)),
        kicker=f"failproof-es · report of {runs} · as the log stood on {moment(report.made_at)}",
        tone=report.verdict.tone,
        verdict=report.verdict.sentence,
        rate_lines=report.verdict.beside,
        sections=(
            ReportSection("gates", "Verdict and gates", _gates(report)),
            ReportSection("asked", "What was asked", what_was_asked(report)),
            ReportSection("denominators", "Denominators", denominators(report)),
            ReportSection("results", "Results", results(report)),
            ReportSection("failed", "Failures by category and severity", failures_by(report)),
            ReportSection("refusals", "Refusals", refusals(report)),
            ReportSection("errors", "Errors", errors(report)),
            ReportSection("stability", "Stability", stability(report)),
            ReportSection("judges", "Judges", judges(report)),
            ReportSection("people", "Reviews by people", people(report)),
            ReportSection("cost", "Cost and latency", cost_and_latency(report)),
            ReportSection("comparison", "Comparison", comparison(report)),
            ReportSection("limitations", "Limitations", (Items(report.limitations),)),
            ReportSection("integrity", "Integrity", integrity(report)),
            ReportSection("failures", "Every failure", failure_sections(report, failures)),
        ),
        footer="One file that loads nothing and runs nothing. Text of cases and models is shown "
        "as it was written; characters that hide, reorder or command are shown as escapes.",
    )


def _describe_run(provenance: Provenance) -> str:
    """A run's number and its remarks."""
    remarks = "; ".join(provenance.run.remarks)
    return f"run {provenance.run.run_number}" + (f" ({remarks})" if remarks else "")


def _gates(report: Report) -> Iterator[Block]:
    judged = {gate.run_number for gate in report.gates}
    for provenance in report.asked:
        number = provenance.run.run_number
        if provenance.gates_set and number not in judged:
            when = (
                f"people decide them: `failproof-es review close {number}` judges them"
                if provenance.run.status == "completed"
                else "judged when it has completed"
            )
            yield Paragraph(f"Gates of run {number}: {when}.")
    if not any(provenance.gates_set for provenance in report.asked):
        yield Paragraph("No gates were set, so no pass or fail was decided.")
    if report.gates:
        yield _judged_gates(report)


def _judged_gates(report: Report) -> Table:
    several = len(report.asked) > 1
    columns = (
        TableColumn("gate", "name"),
        TableColumn("run"),
        TableColumn("limit"),
        TableColumn("measured"),
        TableColumn("of"),
        TableColumn("interval"),
        TableColumn("verdict"),
        TableColumn("remark", "text"),
    )
    rows = tuple(
        (
            gate.name,
            str(gate.run_number) if several else "",
            _limit(gate),
            "nothing" if gate.measured is None else format_amount(gate.measured).replace("-", "−"),
            "" if gate.of is None else f"{gate.of:,}",
            _interval(gate),
            _MET[gate.met],
            gate.why or "",
        )
        for gate in report.gates
    )
    return without_empty_columns(Table("Gates", columns, rows))


def _limit(gate: GateRow) -> str:
    """The gate's limit as text; for `no_regression_against` the run compared with: `run 5`."""
    if gate.name.startswith("no_regression_against."):
        return f"run {gate.limit}"
    return format_amount(gate.limit)


def _interval(gate: GateRow) -> str:
    if gate.interval is None:
        return ""
    return f"{gate.interval[0]:+.4g} to {gate.interval[1]:+.4g}".replace("-", "−")
