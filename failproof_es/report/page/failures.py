"""Every failure: grouped by fault, expectation beside answer, its transcript behind a fold."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any
from uuid import UUID

from failproof_es.catalogue.wording import judge_named
from failproof_es.core.evaluation import JudgeVerdict
from failproof_es.core.severity import severity_rank
from failproof_es.events.line import describe_verdict
from failproof_es.report.data.content import Failed, Report
from failproof_es.report.data.transcripts import FailureWithTranscript
from failproof_es.report.page.blocks import (
    Block,
    Collapsible,
    Facts,
    Heading,
    Mark,
    Paragraph,
    QuotedText,
    Rest,
    Table,
    TableColumn,
)
from failproof_es.report.page.heat_maps import heat_maps
from failproof_es.report.page.tables import collapsed_if_long, table_of, without_empty_columns
from failproof_es.support.class_words import class_word
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import shortened

_BAD_RANKS = 2
"""Severities of the first ranks, S0 and S1 and their other words, are marked as bad."""
_BLANKS = re.compile(r"[ \t]+")
_LONGEST_CELL = 1_000
MOST_OF_A_FAULT = 20
"""Failures of one severity and fault that stand open; the others are closed behind their number."""


def failure_sections(
    report: Report, failures: Iterable[FailureWithTranscript]
) -> Iterator[Block | Rest]:
    """Blocks of the section: how often each fault is, then the failures, the most severe first.

    Nothing if nothing failed. `failures` are the report's failures with their transcripts, in its
    order; they are read while the page is written.
    """
    if not report.failures:
        return
    scored = sum(funnel.scored for funnel in report.funnels)
    yield Paragraph(f"{len(report.failures):,} of {plural(scored, 'scored evaluation')} failed.")
    counts = Counter(map(_severity_and_fault, report.failures))
    by_fault: defaultdict[str, list[Failed]] = defaultdict(list)
    for failed in report.failures:
        by_fault[failed.fault].append(failed)
    if len(by_fault) > 1:
        yield _faults(by_fault)
    yield from heat_maps(report)
    for key, group in groupby(failures, lambda failure: _severity_and_fault(failure.failed)):
        name = ", ".join(filter(None, key))
        yield Heading(f"{name}: {counts[key]:,}")
        folds = (_fold(failure, several=len(report.series) > 1) for failure in group)
        yield from islice(folds, MOST_OF_A_FAULT)
        if (more := counts[key] - MOST_OF_A_FAULT) > 0:
            yield Rest(f"{more:,} more: {name}", folds)


def _severity_and_fault(failed: Failed) -> tuple[str | None, str]:
    return failed.severity, failed.fault


def _faults(by_fault: Mapping[str, Sequence[Failed]]) -> Block:
    """Numbers of failures by fault; `by_fault` has the failures of each, the most severe first.

    Cases and models are counted only where a fault has several evaluations of a case.
    """
    repeated = any(len(_cases(group)) < len(group) for group in by_fault.values())
    table = table_of(
        "Why they failed",
        by_fault.values(),
        (TableColumn("why", "name"), lambda group: group[0].fault),
        (TableColumn("most severe", "text"), lambda group: group[0].severity or ""),
        (TableColumn("evaluations"), lambda group: f"{len(group):,}"),
        (TableColumn("cases"), lambda group: f"{len(_cases(group)):,}" if repeated else ""),
        (
            TableColumn("models"),
            lambda group: f"{len({failed.series for failed in group}):,}" if repeated else "",
        ),
    )
    return collapsed_if_long(table)


def _cases(failures: Sequence[Failed]) -> set[UUID]:
    return {failed.prompt_id for failed in failures}


def _fold(failure: FailureWithTranscript, *, several: bool) -> Collapsible:
    failed = failure.failed
    return Collapsible(
        _summarize_failure(failure, several=several),
        _severity(failed.severity),
        (
            Facts(
                (
                    ("suite", failed.suite),
                    *([("category", failed.category)] if failed.category != failed.suite else []),
                    ("class", class_word(failed.class_ or "not classified", passed=False)),
                    ("why it failed", failed.reason or "the check gives no reason"),
                    ("evaluation", str(failed.evaluation_id)),
                )
            ),
            *(
                QuotedText(
                    part.speaker,
                    part.text,
                    reply=not part.scripted,
                )
                for spoken in failure.spoken
                for part in spoken.parts
            ),
            *(_verdict(verdict) for verdict in failure.verdicts),
            Collapsible(
                "The case as it stood in its file",
                (),
                (QuotedText("JSON", _json(failure.document)),),
                on_paper=False,
            ),
        ),
        tuple(_expected_and_reviewed(failed)),
        on_paper=False,
    )


def _expected_and_reviewed(failed: Failed) -> Iterator[tuple[str, str]]:
    for got, group in groupby(failed.unmet, lambda unmet: unmet.got):
        yield from (("expected", _on_one_line(unmet.expected)) for unmet in group)
        yield "got", _on_one_line(got)
    for review in failed.reviews:
        yield "review", _on_one_line(review.describe())


def _on_one_line(text: str) -> str:
    """The text with a sign for each line break: a format may fail for one alone."""
    return " ↵ ".join(_BLANKS.sub(" ", line.strip(" \t")) for line in text.strip().split("\n"))


def _summarize_failure(failure: FailureWithTranscript, *, several: bool) -> str:
    failed, title = failure.failed, failure.document.get("title")
    name = f"{failed.case}: {title}" if isinstance(title, str) else failed.case
    series = f" · {failed.series}" if several else ""
    repetition = f" · repetition {failed.repetition}" if failed.repetition > 1 else ""
    return f"{name}{series}{repetition}"


def _severity(severity: str | None) -> tuple[Mark, ...]:
    if severity is None:
        return ()
    return (Mark(severity, "bad" if severity_rank(severity) < _BAD_RANKS else "doubt"),)


def _verdict(verdict: JudgeVerdict) -> Block:
    """A judge's verdict: a table for a checklist, else its JSON, or the reason for having none."""
    who = judge_named(verdict.judge)
    if verdict.verdict is None:
        return QuotedText(f"{who}: no verdict", verdict.problem or "")
    items = verdict.verdict.get("items")
    if isinstance(items, list) and items and all(isinstance(item, dict) for item in items):
        return _checklist(who, items)
    return QuotedText(who, _json(verdict.verdict))


def _checklist(who: str, items: list[dict[str, Any]]) -> Table:
    items = [
        item | {"verdict": describe_verdict(verdict)} if isinstance(verdict, str) else item
        for item in items
        for verdict in (item.get("verdict"),)
    ]
    names = list(dict.fromkeys(name for item in items for name in item))
    rows = tuple(tuple(_cell(item.get(name)) for name in names) for item in items)
    columns = tuple(TableColumn(name, "text") for name in names)
    return without_empty_columns(Table(who, columns, rows))


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(text, _LONGEST_CELL)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
