"""`cost`: the tokens each run used of each model; money by the prices that stand beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, LiteralString

from projections.protocol import Cursor, Fact, Relation, sql_file, visible


@dataclass(slots=True)
class _Used:
    """What a batch adds, in the order of `sql/cost_add.sql`."""

    requests: int = 0
    answers_without_usage: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0

    def add(self, usage: dict[str, Any]) -> None:
        """Count one answer, whose provider may not have said what it used."""
        self.requests += 1
        if usage["input_tokens"] is None or usage["output_tokens"] is None:
            self.answers_without_usage += 1
        self.input_tokens += usage["input_tokens"] or 0
        self.output_tokens += usage["output_tokens"] or 0
        self.cached_input_tokens += usage["cached_input_tokens"] or 0


class Cost:
    """Token counts for each run, model, judge and model that answered."""

    name: LiteralString = "cost"
    version: int = 4
    relations: tuple[Relation, ...] = (Relation("TABLE", "token_usage"), Relation("VIEW", "cost"))
    topics: frozenset[str] = frozenset({"ResponseReceived"})

    def __init__(self) -> None:
        self._add = sql_file("cost_add")

    def ddl(self) -> LiteralString:
        """`cost.sql`."""
        return sql_file("cost")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Add up the batch, then add it to what stands."""
        used: dict[tuple[str | None, str, str, str, str], _Used] = {}
        for fact in facts:
            payload = fact.payload
            key = (
                fact.run_id,
                payload["model_key"],
                payload["purpose"],
                payload["judge"] or "",
                payload["model"] or "",
            )
            sums = used.get(key)
            if sums is None:
                sums = used[key] = _Used()
            sums.add(payload["usage"])
        cursor.executemany(
            self._add,
            [
                (
                    run_id,
                    visible(model_key),
                    purpose,
                    visible(judge),
                    visible(model),
                    *astuple(sums),
                )
                for (run_id, model_key, purpose, judge, model), sums in used.items()
            ],
        )
