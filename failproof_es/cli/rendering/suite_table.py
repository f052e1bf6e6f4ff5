"""Renders the table of suites, with both totals: by case, and by suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from failproof_es.catalogue import wording
from failproof_es.cli.rendering.output import Column, print_line, print_table
from failproof_es.core.summary import RunSummary
from failproof_es.reading.summary_rows import model_rows, suite_rows, total_row
from failproof_es.support.class_words import class_word

BOUNDS = "if unscored failed or passed"
"""The heading of a rate's bounds."""
PARTS = {
    "passed": "passed", "failed": "failed", "undecided": "no pass mark", "lost": "errors",
    "ungraded": "unscored", "awaiting_review": "left to people",
}  # fmt: skip
"""The parts that evaluations fall into, with their headings: each is in exactly one."""
_ALWAYS = ("passed", "failed", "lost")


def print_suites(summary: RunSummary, *, title: str | None = None) -> None:
    """Print the table of suites, with the totals by case and by suite, and a line of classes.

    The counts of a row add up to its evaluations. With several models each has its own totals, so
    that a good model cannot hide a bad one. `title` stands above the table.
    """
    rows = suite_rows(summary)
    total = total_row(summary)
    several = len(summary.models) > 1
    repeated = any(row["evaluations"] != row["cases"] for row in rows)
    columns = [
        *([Column("model", "model")] if several else []),
        Column("suite", "suite"),
        Column("cases", "cases", right=True),
        *([Column("evaluations", "evaluations", right=True)] if repeated else []),
        *(
            Column(heading, part, right=True)
            for part, heading in PARTS.items()
            if total[part] or part in _ALWAYS
        ),
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
    print_table([row | _accuracy(row) for row in [*rows, *totals]] + means, columns, title=title)
    for row in totals:
        if row["classes"]:
            model = f" of {row['model']}" if several else ""
            print_line(f"classes{model}: {_describe_classes(row['classes'])}")


def _describe_classes(counts: dict[str, int]) -> str:
    """Evaluations by class, the most frequent first: `match 4, refusal 1`."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{class_word(name)} {count:,}" for name, count in ordered)


def _mean(row: dict[str, Any]) -> dict[str, str]:
    return {
        "percent": percent(row["mean_of_suites"]),
        "bounds": bounds_text(row["mean_of_suites_bounds"]),
    }


def _accuracy(row: dict[str, Any]) -> dict[str, str]:
    return {"percent": percent(row["accuracy"]), "bounds": bounds_text(row["accuracy_bounds"])}


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
