"""Renders the table of suites, with both totals: by case, and by suite."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.cli.rendering.output import Column, print_line, print_table
from failproof_es.core.summary import RunSummary
from failproof_es.reading.summary_rows import model_rows, suite_rows, total_row
from failproof_es.support.class_words import class_word
from failproof_es.support.percentages import percent, percent_range

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
    totals = model_rows(summary)
    means = [
        empty
        | {"model": row["model"], "suite": "mean of suites"}
        | _rate_cells(row["mean_of_suites"], row["mean_of_suites_bounds"])
        for row in totals
    ]
    accuracies = [
        row | _rate_cells(row["accuracy"], row["accuracy_bounds"]) for row in [*rows, *totals]
    ]
    print_table(accuracies + means, columns, title=title)
    for row in totals:
        if row["classes"]:
            model = f" of {row['model']}" if several else ""
            print_line(f"classes{model}: {_describe_classes(row['classes'])}")


def _describe_classes(counts: dict[str, int]) -> str:
    """Evaluations by class, the most frequent first: `match 4, refusal 1`."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{class_word(name)} {count:,}" for name, count in ordered)


def _rate_cells(rate: float | None, bounds: Sequence[float] | None) -> dict[str, str | None]:
    return {
        "percent": None if rate is None else percent(rate),
        "bounds": "" if bounds is None else percent_range(bounds),
    }
