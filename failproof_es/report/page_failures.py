"""Every failure with its transcript, behind a fold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from failproof_es.report.content import Report
from failproof_es.report.page_blocks import Block, Facts, Fold, Mark, Paragraph, Quotation
from failproof_es.report.transcripts import ToldFailure

_SEVERE = ("S0", "S1")


def failures_told(report: Report, failures: Iterable[ToldFailure]) -> Iterator[Block]:
    """A fold for each failure; each is asked for as it is written."""
    if not report.failures:
        yield Paragraph("Nothing that was scored failed.")
        return
    yield Paragraph(
        f"{len(report.failures):,} evaluations failed, the most severe first. On paper a "
        "transcript stands where its fold was open.",
        note=True,
    )
    for told in failures:
        yield _fold(told)


def _fold(told: ToldFailure) -> Fold:
    failed = told.failed
    return Fold(
        _named(told),
        (*_severity(failed.severity), Mark(failed.primary or "not classified")),
        (
            Facts(
                (
                    ("suite", failed.suite),
                    ("category", failed.category),
                    ("why it failed", failed.reason or "the check says no more"),
                    ("evaluation", str(failed.evaluation_id)),
                )
            ),
            *(
                Quotation(
                    spoken.role if spoken.reply is None else failed.series,
                    spoken.text,
                    reply=spoken.reply is not None,
                )
                for spoken in told.spoken
            ),
            *(
                Quotation(f"Judge {verdict.judge}", verdict.problem or _json(verdict.verdict))
                for verdict in told.verdicts
            ),
            Fold(
                "The case as it stood in its file", (), (Quotation("JSON", _json(told.document)),)
            ),
        ),
    )


def _named(told: ToldFailure) -> str:
    failed, title = told.failed, told.document.get("title")
    name = f"{failed.case}: {title}" if isinstance(title, str) else failed.case
    repetition = f", repetition {failed.repetition}" if failed.repetition > 1 else ""
    return f"{name} · {failed.series}{repetition}"


def _severity(severity: str | None) -> tuple[Mark, ...]:
    if severity is None:
        return ()
    return (Mark(severity, "bad" if severity in _SEVERE else "doubt"),)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
