"""`cost`: the tokens each run used of each model, and what its answers cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

import orjson

from projections.protocol import Cursor, Fact, Relation, sql_file, visible


class Cost:
    """Tokens and US dollars for each run, model, judge and model that answered."""

    name: LiteralString = "cost"
    version: int = 5
    relations: tuple[Relation, ...] = (Relation("TABLE", "token_usage"), Relation("VIEW", "cost"))
    topics: frozenset[str] = frozenset({"ResponseReceived"})

    def __init__(self) -> None:
        self._add = sql_file("cost_add")

    def ddl(self) -> LiteralString:
        """`cost.sql`."""
        return sql_file("cost")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Add the batch. A run's prices stand in the log before its answers."""
        answers = [_answer(fact) for fact in facts]
        cursor.execute(self._add, [list(column) for column in zip(*answers, strict=True)])


def _answer(fact: Fact) -> tuple[Any, ...]:
    payload = fact.payload
    return (
        fact.run_id,
        visible(payload["model_key"]),
        payload["purpose"],
        visible(payload["judge"] or ""),
        visible(payload["model"] or ""),
        orjson.dumps(payload["usage"]).decode(),
        payload["timestamp"],
    )
