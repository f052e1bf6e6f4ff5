"""The report for machines: all of it as JSON, its rates as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

import orjson

from failproof_es.events import Record
from failproof_es.report.data.content import Report
from failproof_es.support.document import Document
from failproof_es.support.spreadsheet import escaped
from failproof_es.support.statistics import Rate

_HEADINGS = (
    *("dimension", "name", "model", "passed", "total", "clusters", "rate"),
    *("low", "high", "confidence", "method"),
    *("unscored", "rate_if_failed", "rate_if_passed"),
)

NamedRate = tuple[str, str, str, Rate]
"""Dimension, name, series and rate."""


def json_pieces(report: Report) -> Iterator[bytes]:
    """The whole report as one JSON object, UTF-8: numbers unrounded, times in UTC."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE
    yield orjson.dumps(report, _as_json, options)


def _as_json(value: object) -> dict[str, Any]:
    if isinstance(value, Record | Document):
        return value.model_dump(mode="json")
    raise TypeError(f"a report has no way to write {type(value).__name__}")


def csv_pieces(report: Report) -> Iterator[bytes]:
    """CSV with a row for each rate: pass rates by group, rates of refusals and of stability.

    Text cells are escaped, so that a spreadsheet takes none for a formula. An unknown value is
    empty.
    """
    yield _row(*_HEADINGS)
    for group in report.groups:
        labels = (group.dimension, group.name, group.series)
        low, high = group.bounds or (None, None)
        yield _row(*labels, *_values(group.rate), group.unscored, low, high)
    for dimension, name, series, rate in _refusal_and_stability_rates(report):
        yield _row(dimension, name, series, *_values(rate), None, None, None)


def _refusal_and_stability_rates(report: Report) -> Iterator[NamedRate]:
    for refusal in report.refusals:
        yield "refusals", "over-refusal", refusal.series, refusal.over
        yield "refusals", "under-refusal", refusal.series, refusal.under
    for stable in report.stability:
        yield "stability", f"any of {stable.k}", stable.series, stable.any_of_k
        yield "stability", f"all of {stable.k}", stable.series, stable.all_of_k


def _values(rate: Rate) -> tuple[object, ...]:
    interval = rate.interval
    interval_cells: tuple[object, ...] = (None,) * 4
    if interval is not None:
        interval_cells = (interval.low, interval.high, interval.confidence, interval.method)
    return (rate.passed, rate.total, rate.clusters, rate.value, *interval_cells)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return escaped(value) if isinstance(value, str) else str(value)


def _row(*values: object) -> bytes:
    line = StringIO()
    csv.writer(line).writerow(map(_cell, values))
    return line.getvalue().encode("utf-8", "backslashreplace")
