"""Counters over a run's evaluations, updated by difference in small tables.

For an evaluation that changed, `RunCounts` subtracts its earlier state and adds its present one, so
the result does not depend on batches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import orjson

from failproof_es.core.costs import Prices, Spent
from failproof_es.core.exact_numbers import UNROUNDED
from failproof_es.core.outcome import EvaluationOutcome, FoldedHistory
from failproof_es.core.spend import spending_of
from failproof_es.core.summary import RunCounts
from failproof_es.events import Event, ResponseReceived
from projections.protocol import Cursor, visible
from projections.results.outcome_rows import TOKENS


class GroupWords(NamedTuple):
    """The attributes of a case that select its group and cluster."""

    suite_id: str
    category: str | None
    severity: str | None
    """Severity as in `prompts`, including the severity of a tag."""
    case_id: str
    family_tag: str | None
    tags: tuple[str, ...] = ()
    """Empty: `severity` and `family_tag` were read from the tags."""


class UsageKey(NamedTuple):
    """The key columns of `token_usage`, which sums the usage of answers with an equal key."""

    model_key: str
    purpose: str
    judge: str
    model_answered: str


@dataclass(slots=True)
class AnswerUsage:
    """The usage of requests, and the number of answers that lack a token count."""

    spent: Spent = field(default_factory=Spent)
    without_usage: int = 0


@dataclass(slots=True)
class CounterChange:
    """The changes of one run's counters by a batch."""

    counts: RunCounts = field(default_factory=RunCounts)
    usage: dict[UsageKey, AnswerUsage] = field(default_factory=dict)
    planned: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        outcome: EvaluationOutcome,
        history: Sequence[Event],
        case: GroupWords,
        prices: Prices,
        times: int = 1,
    ) -> None:
        """Add an evaluation with this history in the state `outcome`; with `times=-1` subtract it.

        Raises `ValueError` if its accuracy is not a number.
        """
        self.counts.add_without_spending(outcome, case, times)
        if not outcome.spending:
            return
        if outcome.impossible is not None:
            history = FoldedHistory.of(history).possible
        for event, spent in spending_of(history, prices):
            answered = event.model if type(event) is ResponseReceived else None
            key = UsageKey(event.model_key, event.purpose, event.judge or "", answered or "")
            usage = self.usage.get(key)
            if usage is None:
                usage = self.usage[key] = AnswerUsage()
            usage.without_usage += times * bool(spent.input.unknown or spent.output.unknown)
            usage.spent.include(spent, times)


class CounterTable(NamedTuple):
    """A table of counters: key columns, columns that describe the key, and summed columns."""

    name: LiteralString
    key: tuple[LiteralString, ...]
    words: tuple[LiteralString, ...]
    sums: tuple[LiteralString, ...]
    types: tuple[LiteralString, ...]
    """SQL types of these columns, in that order; `run_id` is not among them."""


_GROUP_SUMS: tuple[LiteralString, ...] = (
    "finished", "scored", "abandoned", "awaiting", "lost", "cases", "passed", "failed", "measured",
)  # fmt: skip
_GROUP_WORDS: tuple[LiteralString, ...] = ("model_key", "suite_id", "category", "severity")
_ASKING_SUMS: tuple[LiteralString, ...] = (
    "requests", "answers", "errors", "retries", "orphaned_requests", "in_flight", "carried_over",
)  # fmt: skip
_USAGE_SUMS: tuple[LiteralString, ...] = (
    "requests", "answers_without_usage", "input_tokens", "input_told", "output_tokens",
    "output_told", "cached_input_tokens", "cached_input_told", "cache_write_tokens",
    "cache_write_told", "cache_write_1h_tokens", "cache_write_1h_told", "answers_unpriced",
    "priced_usd", "possibly_charged", "possible_usd", "unbounded",
)  # fmt: skip

GROUPS = CounterTable(
    "run_groups", ("group_key",), _GROUP_WORDS, (*_GROUP_SUMS, "accuracy_sum"),
    ("uuid", *("text",) * 4, *("bigint",) * 9, "numeric"),
)  # fmt: skip
CLASSES = CounterTable(
    "run_classes", ("group_key", "class"), ("model_key",), ("evaluations",),
    ("uuid", "text", "text", "bigint"),
)  # fmt: skip
ASKING = CounterTable(
    "run_asking", ("model_key",), (), ("planned", *_ASKING_SUMS), ("text", *("bigint",) * 8)
)
USAGE = CounterTable(
    "token_usage", ("model_key", "purpose", "judge", "model_answered"), (), _USAGE_SUMS,
    (*("text",) * 4, *("numeric",) * 17),
)  # fmt: skip
ERRORS = CounterTable(
    "run_errors", ("error_key",), ("asked", "kind", "message"), ("requests",),
    ("uuid", "text", "text", "json", "bigint"),
)  # fmt: skip
UNSCORED = CounterTable(
    "run_unscored", ("unscored_key",), ("model_key", "unscored_as", "kind", "reason"),
    ("evaluations",), ("uuid", *("text",) * 3, "json", "bigint"),
)  # fmt: skip
LATENCIES = CounterTable(
    "run_latencies", ("microseconds",), (), ("answers",), ("numeric", "bigint")
)  # fmt: skip
CLUSTERS = CounterTable(
    "run_clusters", ("cluster_key",), ("model_key", "suite_id"), ("passed", "judged"),
    ("uuid", "text", "text", "bigint", "bigint"),
)  # fmt: skip


def save(cursor: Cursor, changes: dict[UUID, CounterChange]) -> None:
    """Add the changes, by run, to the stored counters."""
    runs = sorted(changes)
    for table, rows in (
        (GROUPS, [r for run in runs for r in _groups(run, changes[run].counts)]),
        (CLASSES, [r for run in runs for r in _classes(run, changes[run].counts)]),
        (ASKING, [r for run in runs for r in _asking(run, changes[run])]),
        (USAGE, [r for run in runs for r in _usage(run, changes[run])]),
        (ERRORS, [r for run in runs for r in _errors(run, changes[run].counts)]),
        (UNSCORED, [r for run in runs for r in _unscored(run, changes[run].counts)]),
        (LATENCIES, [r for run in runs for r in _latencies(run, changes[run].counts)]),
        (CLUSTERS, [r for run in runs for r in _clusters(run, changes[run].counts)]),
    ):
        _add_rows(cursor, table, rows)
    impossible = [(n, run) for run in runs if (n := changes[run].counts.impossible)]
    if impossible:
        cursor.executemany(
            "UPDATE runs SET impossible = impossible + %s WHERE run_id = %s", impossible
        )


def _add_rows(cursor: Cursor, table: CounterTable, rows: Iterable[tuple[Any, ...]]) -> None:
    first_sum = 1 + len(table.key) + len(table.words)
    changed = [row for row in rows if any(row[first_sum:])]
    if not changed:
        return
    key = slice(0, 1 + len(table.key))
    # All writers lock rows in the same order.
    changed.sort(key=lambda row: [str(part) for part in row[key]])
    cursor.execute(
        _upsert_statement(table), [list(column) for column in zip(*changed, strict=True)]
    )
    if any(number < 0 for row in changed for number in row[first_sum:]):
        cursor.execute(_delete_zero_rows(table), ([row[0] for row in changed],))


def _upsert_statement(table: CounterTable) -> LiteralString:
    names: LiteralString = ", ".join(("run_id", *table.key, *table.words, *table.sums))
    arrays: LiteralString = ", ".join(f"%s::{sql_type}[]" for sql_type in ("uuid", *table.types))
    keys: LiteralString = ", ".join(("run_id", *table.key))
    added: LiteralString = ", ".join(f"{n} = t.{n} + excluded.{n}" for n in table.sums)
    return (
        f"INSERT INTO {table.name} AS t ({names}) SELECT * FROM unnest({arrays}) "
        f"ON CONFLICT ({keys}) DO UPDATE SET {added}"
    )


def _delete_zero_rows(table: CounterTable) -> LiteralString:
    """The statement that deletes rows with only zeros, which a rebuild would not make."""
    nothing: LiteralString = " AND ".join(f"{name} = 0" for name in table.sums)
    return f"DELETE FROM {table.name} WHERE run_id = ANY (%s) AND {nothing}"


def decimal_of(number: Fraction) -> Decimal:
    """The exact value of a fraction whose denominator divides a power of ten.

    Raises `decimal.Inexact` for any other fraction.
    """
    return UNROUNDED.divide(Decimal(number.numerator), Decimal(number.denominator))


def _digest_key(*parts: str | None) -> UUID:
    return UUID(bytes=hashlib.blake2b(orjson.dumps(parts), digest_size=16).digest())


def _visible_name(text: str | None) -> str | None:
    return None if text is None else visible(text)


def _groups(run: UUID, counts: RunCounts) -> Iterable[tuple[Any, ...]]:
    for key, group in counts.groups.items():
        sums = (getattr(group, name) for name in _GROUP_SUMS)
        yield (
            run,
            _digest_key(*key),
            *map(_visible_name, key),
            *sums,
            decimal_of(group.accuracy_sum),
        )


def _classes(run: UUID, counts: RunCounts) -> Iterable[tuple[Any, ...]]:
    for key, group in counts.groups.items():
        for name, count in group.classes.items():
            yield run, _digest_key(*key), visible(name), visible(key.model_key), count


def _asking(run: UUID, change: CounterChange) -> Iterable[tuple[Any, ...]]:
    for model in dict.fromkeys((*change.planned, *change.counts.asking)):
        asking = change.counts.asking.get(model)
        sums = (0 if asking is None else getattr(asking, name) for name in _ASKING_SUMS)
        yield run, visible(model), change.planned.get(model, 0), *sums


def _usage(run: UUID, change: CounterChange) -> Iterable[tuple[Any, ...]]:
    for key, usage in change.usage.items():
        spent = usage.spent
        tokens = (getattr(spent, name) for name in TOKENS)
        numbers = (number for counts in tokens for number in (counts.total, counts.reporting))
        yield (
            run, *map(visible, key), spent.answers, usage.without_usage, *numbers, spent.unpriced,
            spent.known_usd, spent.possibly_charged, spent.possible_usd, spent.unbounded,
        )  # fmt: skip


def _errors(run: UUID, counts: RunCounts) -> Iterable[tuple[Any, ...]]:
    for key, count in counts.errors.items():
        message = orjson.dumps(key.message).decode()
        yield run, _digest_key(*key), visible(key.model_key), visible(key.kind), message, count


def _unscored(run: UUID, counts: RunCounts) -> Iterable[tuple[Any, ...]]:
    for key, count in counts.unscored.items():
        reason = orjson.dumps(key.reason).decode()
        kind = visible(key.kind)
        yield run, _digest_key(*key), visible(key.model_key), key.group, kind, reason, count


def _clusters(run: UUID, counts: RunCounts) -> Iterable[tuple[Any, ...]]:
    assert counts.clusters is not None
    for key, (passed, judged) in counts.clusters.by_key.items():
        yield run, _digest_key(*key), visible(key.model_key), visible(key.suite_id), passed, judged


def _latencies(run: UUID, counts: RunCounts) -> Iterable[tuple[Any, ...]]:
    for bucket, count in counts.latencies.items():
        yield run, bucket, count
