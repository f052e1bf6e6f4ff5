"""`cost`: the tokens each run used of each model; money by the prices that stand beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

from projections.protocol import Cursor, Fact, Relation, sql_file, visible

_COUNTERS: tuple[LiteralString, ...] = (
    "requests", "answers_without_usage", "input_tokens", "output_tokens", "cached_input_tokens",
)  # fmt: skip
_names: LiteralString = ", ".join(_COUNTERS)
_sums: LiteralString = ", ".join(
    name + " = u." + name + " + excluded." + name for name in _COUNTERS
)
_ADD: LiteralString = (
    "INSERT INTO token_usage AS u (run_id, model_key, purpose, model_answered, " + _names
    + ") VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (run_id, model_key, purpose, model_answered) DO UPDATE SET " + _sums
)  # fmt: skip


class Cost:
    """Token counts for each run, model, purpose and model that answered."""

    name: LiteralString = "cost"
    version: int = 1
    relations: tuple[Relation, ...] = (Relation("TABLE", "token_usage"), Relation("VIEW", "cost"))
    topics: frozenset[str] = frozenset({"ResponseReceived"})

    def ddl(self) -> LiteralString:
        """`cost.sql`."""
        return sql_file("cost")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Add up the batch, then add it to what stands."""
        counts: dict[tuple[UUID | None, str | None, str, str | None], dict[str, int]] = {}
        for fact in facts:
            payload = fact.payload
            key = (
                fact.recorded.run_id,
                visible(payload["model_key"]),
                payload["purpose"],
                visible(payload["model"] or ""),
            )
            row = counts.setdefault(key, dict.fromkeys(_COUNTERS, 0))
            usage = payload["usage"]
            row["requests"] += 1
            if usage["input_tokens"] is None or usage["output_tokens"] is None:
                row["answers_without_usage"] += 1
            for name in ("input_tokens", "output_tokens", "cached_input_tokens"):
                row[name] += usage[name] or 0
        if counts:
            cursor.executemany(_ADD, [(*key, *row.values()) for key, row in counts.items()])
