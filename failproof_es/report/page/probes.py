"""The part of the report that says how far the judges of a run of probes can be swayed."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.reading.judge_flips import ProbeFlips
from failproof_es.report.data.content import Report
from failproof_es.report.page.blocks import Block, Method, TableColumn
from failproof_es.report.page.tables import table_of
from failproof_es.support.percentages import percent, percent_range

_METHOD = (
    "Each judge was asked the same question with and without a change that must not change its "
    "verdict. `repeat` changes nothing: its rate is the judge's own noise. Pairs without two "
    "verdicts that count are undecided. The 95 % intervals are Wilson's over cases."
)


def probed_judges(report: Report) -> Iterator[Block]:
    """How often each probe changed a verdict of each judge; nothing without probes."""
    if not report.probed:
        return
    several = len({flips.run_number for flips in report.probed}) > 1
    yield table_of(
        "Verdicts that flipped under a probe",
        report.probed,
        (TableColumn("judge", "name"), lambda row: row.judge),
        (TableColumn("run"), lambda row: str(row.run_number) if several else ""),
        (TableColumn("probe", "name"), lambda row: row.probe),
        (TableColumn("flips"), lambda row: f"{row.flips:,} of {row.pairs:,}"),
        (TableColumn("rate"), _describe_rate),
        (TableColumn("to pass"), lambda row: f"{row.to_pass:,} of {row.failing:,}"),
        (TableColumn("to fail"), lambda row: f"{row.to_fail:,} of {row.passing:,}"),
        (TableColumn("undecided"), lambda row: f"{row.undecided:,}"),
    )
    yield Method(_METHOD)


def _describe_rate(row: ProbeFlips) -> str:
    if row.rate is None or row.interval is None:
        return ""
    return f"{percent(row.rate)} ({percent_range(row.interval)})"
