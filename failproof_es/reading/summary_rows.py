"""A run's summary as rows: by suite, by model, in total. `show` and the final table print it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from failproof_es.core.summary import RunSummary
from failproof_es.core.tally import Group
from failproof_es.core.unscored import GROUPS, UnscoredGroup
from failproof_es.support.plurals import plural

CLASSES = ("pass", "fail", "refusal", "empty", "truncated", "error")
"""The classes of the `failproof` dialect, in the order in which tables show them."""
_MESSAGES = 3
"""Number of messages that are shown to people; `show --json` has all."""


def suite_rows(summary: RunSummary) -> list[dict[str, Any]]:
    """A row per model and suite with finished evaluations: `model`, `suite` and the counts.

    The counts are `cases`, `evaluations`, each of `CLASSES`, `scored`, `passed`, `failed` and so
    on, with `accuracy` and its bounds, as shares.
    """
    return [
        {"model": model, "suite": suite, **_row(group)}
        for (model, suite), group in summary.by_suite().items()
        if group.finished
    ]


def unscored_row(summary: RunSummary, model: str | None = None) -> dict[UnscoredGroup, int]:
    """Number of evaluations without a score by group, in a fixed order, without zeros.

    Those of the model with this key; of all models if `None`.
    """
    counts = summary.unscored(model)
    return {group: counts[group] for group in GROUPS if counts[group]}


def total_row(summary: RunSummary) -> dict[str, Any]:
    """The row of all suites and models together: `suite` is `total`, `model` is empty."""
    return {"model": "", "suite": "total", **_row(summary.total)}


def model_rows(summary: RunSummary) -> list[dict[str, Any]]:
    """A row per model over all suites, by key, with the keys of `suite_rows` and three others.

    These are `unscored` (by group), `mean_of_suites` and `mean_of_suites_bounds`.
    """
    return [
        {
            "model": model,
            "suite": "total",
            **_row(summary.group(model=model)),
            "unscored": unscored_row(summary, model),
            "mean_of_suites": summary.mean_of_suites(model),
            "mean_of_suites_bounds": summary.mean_of_suites_bounds(model),
        }
        for model in sorted(summary.models)
    ]


def _row(group: Group) -> dict[str, Any]:
    classes = {name: count for name, count in group.classes.items() if count}
    return {
        "cases": group.cases,
        "evaluations": group.finished,
        **{name: classes.get(name, 0) for name in CLASSES},
        "classes": classes,
        "scored": group.scored,
        "abandoned": group.missing,
        "awaiting_review": group.awaiting,
        "lost": group.lost,
        "ungraded": group.ungraded,
        "undecided": group.undecided,
        "passed": group.passed,
        "failed": group.failed,
        "correct": float(group.accuracy_sum),
        "measured": group.measured,
        "accuracy": group.accuracy,
        "accuracy_bounds": group.bounded_accuracy.bounds,
        "pass_rate_bounds": group.bounded_pass_rate.bounds,
    }


def errors_by_kind(summary: RunSummary) -> Counter[str]:
    """The number of failed requests, by kind of error."""
    kinds: Counter[str] = Counter()
    for key, count in summary.messages():
        kinds[key.kind] += count
    return kinds


def errors_by_message(summary: RunSummary) -> Counter[str]:
    """The number of failed requests, by message; an HTTP status comes first in a message."""
    messages: Counter[str] = Counter()
    for key, count in summary.messages():
        messages[key.message] += count
    return messages


def describe_messages(summary: RunSummary) -> str:
    """The most frequent messages of servers with their counts, and the number of other messages."""
    messages = errors_by_message(summary).most_common()
    parts = [f"{message} ({count:,})" for message, count in messages[:_MESSAGES]]
    more = len(messages) - _MESSAGES
    return "; ".join(parts) + (f"; and {plural(more, 'other message')}" if more > 0 else "")
