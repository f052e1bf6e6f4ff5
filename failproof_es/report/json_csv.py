"""The report for machines: all of it as JSON, its rates as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

import orjson

from failproof_es.events import Record
from failproof_es.report.content import Group, Report
from failproof_es.spreadsheet import escaped

_HEADINGS = (
    *("dimension", "name", "model", "passed", "total", "clusters", "rate"),
    *("low", "high", "confidence", "method"),
)


def json_pieces(report: Report) -> Iterator[bytes]:
    """The whole report as one JSON object: numbers as they are, times in UTC."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE
    yield orjson.dumps(report, _of_an_event, options)


def _of_an_event(value: object) -> dict[str, Any]:
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    raise TypeError(f"a report has no way to write {type(value).__name__}")


def csv_pieces(report: Report) -> Iterator[bytes]:
    """A row for each rate. No cell is a formula to a spreadsheet."""
    yield _line(_HEADINGS)
    for group in report.groups:
        yield _line(tuple(map(_cell, _values(group))))


def _values(group: Group) -> tuple[object, ...]:
    rate, interval = group.rate, group.rate.interval
    known: tuple[object, ...] = (None,) * 4
    if interval is not None:
        known = (interval.low, interval.high, interval.confidence, interval.method)
    counts = (rate.passed, rate.total, rate.clusters, rate.value)
    return (group.dimension, group.name, group.series, *counts, *known)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return escaped(value) if isinstance(value, str) else str(value)


def _line(cells: tuple[str, ...]) -> bytes:
    line = StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue().encode("utf-8", "backslashreplace")
