"""`csv`: the relation of results as a table for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from io import StringIO
from pathlib import PurePosixPath
from typing import Self
from uuid import UUID

import orjson

from failproof_es.catalogue.result import RecordedResult
from failproof_es.exports.exporter import (
    Export,
    ExportedFile,
    LeftOut,
    Pieces,
    outcomes,
    refuse_settings,
)
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.support.columns import RelationColumn, columns_of
from failproof_es.support.spreadsheet import escaped
from failproof_es.support.timestamps import utc_text
from failproof_es.support.untrusted_text import lines

COLUMNS = columns_of(RecordedResult)
_UNSAFE = "unsafe characters"
_WHY = "a spreadsheet hides or obeys them: written as escapes"


class ResultTable:
    """The exporter `csv`: results as a table for spreadsheets."""

    name = "csv"
    says = "results, one row for each evaluation"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter itself. Raises `InvalidInput` for any setting: it has none."""
        refuse_settings(self.name, settings)
        return self

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """One file of all runs, with one row for each planned evaluation."""
        pieces = Pieces(lambda own: _lines(_rows(runs, export.left_out), own, export.left_out))
        yield ExportedFile(PurePosixPath(f"{export.prefix}_results.csv"), "results", pieces)


def _rows(runs: Sequence[RecordedRun], left_out: LeftOut) -> Iterator[RecordedResult]:
    for run in runs:
        for planned in outcomes(run):
            turns = len(planned.case.questions)
            left_out.add("conversations", "a row has the last answer alone", turns > 1)
            yield RecordedResult.of(planned, run)


def _lines(rows: Iterable[RecordedResult], pieces: Pieces, left_out: LeftOut) -> Iterator[bytes]:
    lines_of_table = csv_lines(rows, [(column.name, column) for column in COLUMNS], left_out)
    yield next(lines_of_table)
    for line in lines_of_table:
        pieces.rows += 1
        yield line


def csv_lines(
    rows: Iterable[RecordedResult],
    columns: Sequence[tuple[str, RelationColumn]],
    left_out: LeftOut | None = None,
) -> Iterator[bytes]:
    """A heading and a line for each row, with these (heading, column)."""
    yield _line([heading for heading, _ in columns])
    for row in rows:
        yield _line([_cell(getattr(row, column.attribute), left_out) for _, column in columns])


def _cell(value: object, left_out: LeftOut | None) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return utc_text(value)
        case str() | UUID():
            text = str(value)
        case Mapping():
            text = orjson.dumps(dict(value)).decode() if value else ""
        case _:
            text = orjson.dumps(value).decode() if value else ""
    safe = lines(text)
    if left_out is not None:
        left_out.add(_UNSAFE, _WHY, safe != text)
    return escaped(safe)


def _line(cells: Sequence[str]) -> bytes:
    line = StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue().encode()
