"""Every failure with its transcript, behind a fold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from failproof_es.catalogue.wording import judge_named
from failproof_es.core.evaluation import JudgeVerdict
from failproof_es.dialects.kit.judging import describe_verdict
from failproof_es.report.data.content import Report
from failproof_es.report.data.transcripts import FailureWithTranscript
from failproof_es.report.page.blocks import (
    Block,
    Collapsible,
    Facts,
    Mark,
    Paragraph,
    QuotedText,
    Table,
    TableColumn,
)
from failproof_es.report.page.tables import without_empty_columns
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import shortened

_SEVERE = ("S0", "S1")
_LONGEST_CELL = 1_000
_LONGEST_WHY = 240
"""Characters of the reason in a closed fold at most; the open one shows all."""


def failure_sections(report: Report, failures: Iterable[FailureWithTranscript]) -> Iterator[Block]:
    """Blocks of the section: the details of each failure, closed at first.

    `failures` are the report's failures with their transcripts; they are read while the page is
    written.
    """
    if not report.failures:
        yield Paragraph("Nothing that was scored failed.")
        return
    yield Paragraph(
        f"{plural(len(report.failures), 'evaluation')} failed, the most severe first. Expand a "
        "transcript to have it printed.",
        note=True,
    )
    for failure in failures:
        yield _fold(failure)


def _fold(failure: FailureWithTranscript) -> Collapsible:
    failed = failure.failed
    return Collapsible(
        _summarize_failure(failure),
        (*_severity(failed.severity), Mark(failed.class_ or "not classified")),
        (
            Facts(
                (
                    ("suite", failed.suite),
                    ("category", failed.category),
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
            ),
        ),
    )


def _summarize_failure(failure: FailureWithTranscript) -> str:
    failed, title = failure.failed, failure.document.get("title")
    name = f"{failed.case}: {title}" if isinstance(title, str) else failed.case
    repetition = f", repetition {failed.repetition}" if failed.repetition > 1 else ""
    why = f": {shortened(' '.join(failed.reason.split()), _LONGEST_WHY)}" if failed.reason else ""
    return f"{name} · {failed.series}{repetition}{why}"


def _severity(severity: str | None) -> tuple[Mark, ...]:
    if severity is None:
        return ()
    return (Mark(severity, "bad" if severity in _SEVERE else "doubt"),)


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
    items = [_with_described_verdict(item) for item in items]
    names = list(dict.fromkeys(name for item in items for name in item))
    rows = tuple(tuple(_cell(item.get(name)) for name in names) for item in items)
    columns = tuple(TableColumn(name, "text") for name in names)
    return without_empty_columns(Table(who, columns, rows))


def _with_described_verdict(item: dict[str, Any]) -> dict[str, Any]:
    verdict = item.get("verdict")
    if not isinstance(verdict, str):
        return item
    return item | {"verdict": describe_verdict(str(item.get("item")), verdict)}


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shortened(text, _LONGEST_CELL)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
