"""Renders the table of suites and classes, with both totals: by case, and by suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from failproof_es.catalogue import wording
from failproof_es.cli.rendering.output import Column, print_table
from failproof_es.core.summary import RunSummary
from failproof_es.reading.summary_rows import CLASSES, model_rows, suite_rows, total_row

_PASS_OR_FAIL = ("pass", "fail")
BOUNDS = "if unscored failed or passed"
"""The heading of a rate's bounds."""


def print_suites(summary: RunSummary, *, title: str | None = None) -> None:
    """Print the table of suites and classes, with the totals by case and by suite.

    With several models each has its own totals, so that a good model cannot hide a bad one. `title`
    stands above the table.
    """
    rows = suite_rows(summary)
    total = total_row(summary)
    several = len(summary.models) > 1
    seen = _classes_to_show(total["classes"])
    awaiting = summary.total.awaiting
    repeated = any(row["evaluations"] != row["cases"] for row in rows)
    columns = [
        *([Column("model", "model")] if several else []),
        Column("suite", "suite"),
        Column("cases", "cases", right=True),
        *([Column("evaluations", "evaluations", right=True)] if repeated else []),
        *(Column(name, name, right=True, folds=name not in _PASS_OR_FAIL) for name in seen),
        Column("abandoned", "abandoned", right=True, folds=True),
        *([Column("awaiting review", "awaiting_review", right=True)] if awaiting else []),
        Column("passed", "passed_of", right=True),
        Column("accuracy", "percent", right=True),
        *([Column(BOUNDS, "bounds", folds=True, right=True)] if summary.total.abandoned else []),
    ]
    empty = {column.key: "" for column in columns}
    whole = [
        total
        | {
            "mean_of_suites": summary.mean_of_suites(),
            "mean_of_suites_bounds": summary.mean_of_suites_bounds(),
        }
    ]
    totals = model_rows(summary) if several else whole
    means = [
        empty | {"model": row["model"], "suite": "mean of suites"} | _mean(row) for row in totals
    ]
    print_table(
        [dict.fromkeys(seen, 0) | row["classes"] | row | _accuracy(row) for row in [*rows, *totals]]
        + means,
        columns,
        title=title,
    )


def _mean(row: dict[str, Any]) -> dict[str, str]:
    return {
        "percent": percent(row["mean_of_suites"]),
        "bounds": bounds_text(row["mean_of_suites_bounds"]),
    }


def _classes_to_show(counts: dict[str, int]) -> list[str]:
    """The classes that get a column, in their order.

    `counts` are evaluations by class. For a dialect with its own classes, only those that occur.
    """
    own = sorted(counts.keys() - set(CLASSES))
    usual = [name for name in CLASSES if not own or counts.get(name) or name == "error"]
    return [*usual, *own]


def _accuracy(row: dict[str, Any]) -> dict[str, str]:
    return {
        "passed_of": passed_of(row["passed"], row["failed"]),
        "percent": percent(row["accuracy"]),
        "bounds": bounds_text(row["accuracy_bounds"]),
    }


def passed_of(passed: int, failed: int) -> str:
    """The number of passed and of decided evaluations as text: `18/20`.

    `-` if nothing passed or failed: nothing is scored, or there is no pass mark.
    """
    return f"{passed:,}/{passed + failed:,}" if passed + failed else "-"


def bounds_text(bounds: Sequence[float] | None) -> str:
    """The bounds of a rate as text: `10.0% to 90.0%`; empty if every evaluation has a score.

    They are the rates if the evaluations without a score had failed or passed.
    """
    return "" if bounds is None else " to ".join(map(percent, bounds))


def percent(share: float | None) -> str:
    """A share from 0 to 1 as a percentage: `90.0%`; `-` for `None`."""
    return "-" if share is None else wording.percent(share).replace(" ", "")
