"""Adds the projections' rows of counters to the counts of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from failproof_es.core.costs import Spent, TokenCount
from failproof_es.core.summary import ErrorKey, GroupKey, RequestStats, RunCounts
from failproof_es.core.tally import Group
from failproof_es.core.unscored import UnscoredKey
from projections.protocol import exact_text
from projections.results.counters import ASKING, GROUPS
from projections.results.outcome_rows import TOKENS

CounterRow = dict[str, Any]


def _exact(text: str | None) -> str | None:
    return None if text is None else exact_text(text)


def _add_run_row(counts: RunCounts, row: CounterRow) -> None:
    counts.impossible = row["impossible"]


def _add_group(counts: RunCounts, row: CounterRow) -> None:
    group = counts.groups.setdefault(_group_key(row), Group())
    for name in GROUPS.sums[:-1]:
        setattr(group, name, row[name])
    group.accuracy_sum = Fraction(row["accuracy_sum"])
    for name, count in row["classes"] or ():
        group.classes[exact_text(name)] += count


def _group_key(row: CounterRow) -> GroupKey:
    model, suite = exact_text(row["model_key"]), exact_text(row["suite_id"])
    return GroupKey(model, suite, _exact(row["category"]), _exact(row["severity"]))


def _add_requests(counts: RunCounts, row: CounterRow) -> None:
    asking = RequestStats(**{name: row[name] for name in ASKING.sums[1:]})
    if asking != RequestStats():
        counts.asking[exact_text(row["model_key"])] = asking


def _add_usage(counts: RunCounts, row: CounterRow) -> None:
    answers = int(row["requests"])
    tokens = {}
    for name in TOKENS:
        column = f"{name}_tokens"
        reported = int(row[f"{name}_told"])
        tokens[name] = TokenCount(int(row[column]), reported, answers - reported)
    key = exact_text(row["judge"]) or exact_text(row["model_key"])
    spent = Spent(
        answers=answers,
        known_usd=Decimal(row["priced_usd"]),
        unpriced=int(row["answers_unpriced"]),
        possibly_charged=int(row["possibly_charged"]),
        possible_usd=Decimal(row["possible_usd"]),
        unbounded=int(row["unbounded"]),
        **tokens,
    )
    counts.spending.setdefault(key, Spent()).include(spent)


def _add_error(counts: RunCounts, row: CounterRow) -> None:
    key = ErrorKey(exact_text(row["asked"]), exact_text(row["kind"]), row["message"])
    counts.errors[key] = row["requests"]


def _add_unscored(counts: RunCounts, row: CounterRow) -> None:
    model, kind = exact_text(row["model_key"]), exact_text(row["kind"])
    counts.unscored[UnscoredKey(model, row["unscored_as"], kind, row["reason"])] = row[
        "evaluations"
    ]


def _add_latency(counts: RunCounts, row: CounterRow) -> None:
    counts.latencies[int(row["microseconds"])] = row["answers"]


def _add_clusters(counts: RunCounts, row: CounterRow) -> None:
    assert counts.clusters is not None
    group = exact_text(row["model_key"]), exact_text(row["suite_id"])
    shapes = counts.clusters.shapes.setdefault(group, Counter())
    shapes[row["passed"], row["judged"]] += row["clusters"]


READ: dict[str, Callable[[RunCounts, CounterRow], None]] = {
    "run": _add_run_row,
    "group": _add_group,
    "asking": _add_requests,
    "usage": _add_usage,
    "error": _add_error,
    "unscored": _add_unscored,
    "latency": _add_latency,
    "clusters": _add_clusters,
}
"""By kind of row, the function that adds a row to the counts."""
