"""`csv`: one row for each planned evaluation. Columns are named as in the console's tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import PurePosixPath
from typing import Any, Self

import orjson

from failproof_es.exports.exporter import (
    Export,
    ExportedFile,
    LeftOut,
    Origin,
    Pieces,
    origin_of,
    outcomes,
    refuse_settings,
)
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.support.spreadsheet import escaped
from failproof_es.support.untrusted_text import lines

COLUMNS = (
    *("run_number", "run_id", "origin", "place", "evaluation_id"),
    *("suite_id", "case_id", "category", "severity", "model_key", "repetition"),
    *(
        "status",
        "awaiting_review",
        "by_people",
        "lost",
        "unscored_as",
        "primary",
        "passed",
        "accuracy",
        "scores",
    ),
    *("answer", "reason", "error_kind", "error_message"),
    *("attempts", "retries", "latency_ms", "input_tokens", "output_tokens", "cost_usd"),
    *("finish_reason", "model_answered", "source_run_id", "started_at", "finished_at"),
)
_UNSAFE = "unsafe characters"
_WHY = "a spreadsheet hides or obeys them: written as escapes"


class ResultTable:
    """Results as a table for spreadsheets."""

    name = "csv"
    says = "results, one row for each evaluation"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """Itself: it has none."""
        refuse_settings(self.name, settings)
        return self

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """One file of all runs."""
        pieces = Pieces(lambda own: _lines(_rows(runs, export.left_out), own, export.left_out))
        yield ExportedFile(PurePosixPath(f"{export.prefix}_results.csv"), "results", pieces)


def _rows(runs: Sequence[RecordedRun], left_out: LeftOut) -> Iterator[dict[str, Any]]:
    for run in runs:
        for planned in outcomes(run):
            turns = sum(turn.role == "user" for turn in planned.case.turns)
            left_out.add("conversations", "a row has the last answer alone", turns > 1)
            yield result_row(planned, run.started.run_number, origin_of(run))


def result_row(planned: PlannedOutcome, run_number: int, origin: Origin) -> dict[str, Any]:
    """One row, by `COLUMNS`. Pure."""
    case, outcome = planned.case, planned.outcome
    return {
        "run_number": run_number,
        "run_id": outcome.run_id,
        "origin": origin,
        "place": planned.place,
        "evaluation_id": outcome.evaluation_id,
        "suite_id": case.suite_id,
        "case_id": case.case_id,
        "category": case.category,
        "severity": case.severity,
        "model_key": outcome.model_key,
        "repetition": outcome.repetition,
        "status": outcome.status,
        "awaiting_review": planned.people == "awaiting",
        "by_people": planned.by_people,
        "lost": outcome.lost,
        "unscored_as": outcome.unscored_as,
        "primary": outcome.primary,
        "passed": outcome.passed,
        "accuracy": outcome.accuracy,
        "scores": dict(outcome.scores) or None,
        "answer": outcome.answer,
        "reason": outcome.reason or None,
        "error_kind": outcome.error_kind,
        "error_message": outcome.error_message,
        "attempts": outcome.requests,
        "retries": outcome.retries,
        "latency_ms": outcome.latency_ms,
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "cost_usd": None if outcome.cost_usd is None else f"{outcome.cost_usd:f}",
        "finish_reason": outcome.finish_reason,
        "model_answered": outcome.model_answered,
        "source_run_id": outcome.source_run_id,
        "started_at": None if outcome.started_at is None else outcome.started_at.isoformat(),
        "finished_at": None if outcome.finished_at is None else outcome.finished_at.isoformat(),
    }


def _lines(rows: Iterable[Mapping[str, Any]], pieces: Pieces, left_out: LeftOut) -> Iterator[bytes]:
    yield _line(COLUMNS)
    for row in rows:
        pieces.rows += 1
        yield _line([_cell(row[column], left_out) for column in COLUMNS])


def _cell(value: object, left_out: LeftOut) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case dict():
            value = orjson.dumps(value).decode()
        case _:
            value = str(value)
    safe = lines(value)
    left_out.add(_UNSAFE, _WHY, safe != value)
    return escaped(safe)


def _line(cells: Sequence[str]) -> bytes:
    line = StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue().encode()
