"""The report as a page: its sections, in the order in which a reviewer reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from failproof_es.catalogue.wording import moment
from failproof_es.report.data.conclusions import describe_limit, describe_measured
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
from failproof_es.report.page.calibration import calibrated_judges, where_corrected
from failproof_es.report.page.comparison import comparison
from failproof_es.report.page.cost import cost_and_latency, summarize_cost
from failproof_es.report.page.counts import missing_scores
from failproof_es.report.page.failures import failure_sections
from failproof_es.report.page.judges import judges
from failproof_es.report.page.people import people
from failproof_es.report.page.probes import probed_judges
from failproof_es.report.page.provenance import (
    integrity,
    summarize_asked,
    summarize_integrity,
    what_was_asked,
)
from failproof_es.report.page.rates import rates
from failproof_es.report.page.tables import counted, table_of

_MET = {True: Mark("met", "good"), False: Mark("not met", "bad")}


def build_page(report: Report, failures: Iterable[FailureWithTranscript]) -> ReportPage:
    """The report as a page, ready to be rendered as HTML or Markdown. Empty sections are left out.

    `failures` are the report's failures with their transcripts, iterated once, while the page is
    written.
    """
    runs = ", ".join(_describe_run(provenance) for provenance in report.asked)
    sections = (
        ReportSection("gates", "Gates", _gates(report)),
        ReportSection("comparison", "Comparison", _with_note(report, comparison(report))),
        ReportSection("failures", "Failures", failure_sections(report, failures)),
        ReportSection("rates", "Rates", _with_note(report, rates(report))),
        ReportSection("missing", "Missing scores and errors", missing_scores(report)),
        ReportSection(
            "judges",
            "Judges and people",
            _judges_and_people(report),
        ),
        ReportSection("cost", "Cost and latency", cost_and_latency(report), summarize_cost(report)),
        ReportSection("limitations", "Limitations", _limitations(report)),
        ReportSection("asked", "What was asked", what_was_asked(report), summarize_asked(report)),
        ReportSection("integrity", "Integrity", integrity(report), summarize_integrity(report)),
    )
    return ReportPage(
        title=", ".join(dict.fromkeys(provenance.run.name for provenance in report.asked)),
        kicker=f"failproof-es · report of {runs} · as the log stood on {moment(report.made_at)}",
        tone=report.verdict.tone,
        verdict=report.verdict.sentence,
        remarks=report.verdict.remarks,
        sections=tuple(_without_empty(sections)),
        footer="One file that loads nothing and runs nothing. Text of cases and models is shown "
        "as it was written; characters that hide, reorder or command are shown as escapes.",
    )


def _without_empty(sections: Iterable[ReportSection]) -> Iterator[ReportSection]:
    """The sections that have a block. Only the first block of each is made for that."""
    for section in sections:
        blocks = iter(section.blocks)
        for first in blocks:
            yield replace(section, blocks=chain((first,), blocks))
            break


def _limitations(report: Report) -> Iterator[Block]:
    if report.limitations:
        yield Items(report.limitations)


def _describe_run(provenance: Provenance) -> str:
    """A run's number and its remarks."""
    remarks = "; ".join(provenance.run.remarks)
    return f"run {provenance.run.run_number}" + (f" ({remarks})" if remarks else "")


def _with_note(report: Report, blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks, if there are any, after a note that they are by the judges' verdicts."""
    for first in islice(blocks, 1):
        yield from where_corrected(report)
        yield first
    yield from blocks


def _judges_and_people(report: Report) -> Iterator[Block]:
    return chain(calibrated_judges(report), judges(report), probed_judges(report), people(report))


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
    if report.gates:
        yield _judged_gates(report)


def _judged_gates(report: Report) -> Table:
    several = len(report.asked) > 1
    return table_of(
        "Limits and what was measured",
        report.gates,
        (TableColumn("gate", "name"), lambda gate: gate.name),
        (TableColumn("verdict", "name"), lambda gate: _MET[gate.met]),
        (TableColumn("run"), lambda gate: str(gate.run_number) if several else ""),
        (TableColumn("limit"), describe_limit),
        (TableColumn("measured"), describe_measured),
        (TableColumn("of"), lambda gate: counted(gate.of)),
        (TableColumn("interval"), _interval),
        (TableColumn("remark", "text"), lambda gate: gate.why or ""),
    )


def _interval(gate: GateRow) -> str:
    if gate.interval is None:
        return ""
    return f"{gate.interval[0]:+.4g} to {gate.interval[1]:+.4g}".replace("-", "−")
