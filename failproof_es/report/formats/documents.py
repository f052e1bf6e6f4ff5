"""Renders a report in one of the available formats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from uuid import UUID

from failproof_es.engine.history import Connection
from failproof_es.report.data.builder import Progress, build_report, no_progress
from failproof_es.report.data.content import Failed
from failproof_es.report.data.transcripts import FailureWithTranscript, failures_with_transcripts
from failproof_es.report.formats import html as page_html
from failproof_es.report.formats import json_csv
from failproof_es.report.formats import markdown as page_markdown
from failproof_es.report.formats.slide import slide_piece
from failproof_es.report.page.sections import build_page
from failproof_es.report.page.slide import build_slide

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def document_of(
    connection: Connection,
    run_ids: Sequence[UUID],
    document: str,
    progress: Progress = no_progress,
    *,
    pooled: bool = False,
) -> tuple[str, Iterator[bytes]]:
    """The name of the first run, and the report in pieces: as `html`, `md`, `json` or `csv`.

    Transcripts are read from the connection while the pieces are iterated. Raises as `build_report`
    does.
    """
    report = build_report(connection, run_ids, progress, pooled=pooled)
    name = report.asked[0].run.name
    if document == "json":
        return name, json_csv.json_pieces(report)
    if document == "csv":
        return name, json_csv.csv_pieces(report)
    page = build_page(report, _failures(connection, report.failures, progress))
    return name, page_html.pieces(page) if document == "html" else page_markdown.pieces(page)


def slide_of(
    connection: Connection,
    run_ids: Sequence[UUID],
    forms: Sequence[str],
    progress: Progress = no_progress,
    *,
    without: Sequence[str] = (),
    pooled: bool = False,
) -> tuple[str, list[bytes]]:
    """The name of the first run, and its slide as `md`, `svg` or `png`: one file for each form.

    Raises as `document_of` and `build_slide` do.
    """
    report = build_report(connection, run_ids, progress, pooled=pooled)
    progress("drawing", 0, 0)
    slide = build_slide(report, without)
    return f"{report.asked[0].run.name}-slide", [slide_piece(slide, form) for form in forms]


def _failures(
    connection: Connection, failures: Sequence[Failed], progress: Progress
) -> Iterator[FailureWithTranscript]:
    for done, failure in enumerate(failures_with_transcripts(connection, failures)):
        progress("writing the failures", done, len(failures))
        yield failure
    progress("writing the page", 0, 0)


def file_name(name: str, document: str) -> str:
    """File name `YYYY-MM-DD_HH-MM-SS_{name}.{document}` with the time now in UTC.

    `document` is the extension; other characters in `name` than letters, digits and `._-` become
    `-`. The form is that of specification 001 § 5.3.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%d_%H-%M-%S")
    return f"{now}_{_NOT_IN_A_NAME.sub('-', name)}.{document}"
