"""`audit_trail`: what was done, when, in which run, why (specification 001 § 8.2).

The life of runs, and everything in them that did not go as planned: retries, errors, lost
attempts, abandoned evaluations. What went as planned is in the log itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

import orjson

from projections.protocol import Cursor, Fact, Relation, sql_file

_WHOLE = frozenset(
    {
        "RunStarted", "RunPaused", "RunResumed", "RunCompleted", "RunFailed", "RunSealed",
        "RunValidated", "AttemptLost", "EvaluationAbandoned",
    }
)  # fmt: skip
_COMMON = frozenset({"run_id", "timestamp"})
_LONG = frozenset({"body", "body_encoding", "headers", "stack_trace", "parameters"})
"""Kept whole in the log, where `position` leads."""


class AuditTrail:
    """One row for each event that an auditor would ask about first."""

    name: LiteralString = "audit_trail"
    version: int = 2
    relations: tuple[Relation, ...] = (Relation("TABLE", "audit_trail"),)
    topics: frozenset[str] = _WHOLE | {"ErrorRecorded", "RequestSent"}

    def __init__(self) -> None:
        self._append = sql_file("audit_trail_append")

    def ddl(self) -> LiteralString:
        """`audit_trail.sql`."""
        return sql_file("audit_trail")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Append the batch's rows."""
        rows = [row for fact in facts if (row := _row(fact)) is not None]
        if rows:
            cursor.execute(self._append, [list(column) for column in zip(*rows, strict=True)])


def _row(fact: Fact) -> tuple[Any, ...] | None:
    name = fact.topic
    payload = fact.payload
    if name == "RequestSent":
        if payload["attempt"] == 1:
            return None
        name = "RetrySent"
    left_out = _COMMON if fact.topic in _WHOLE else _COMMON | _LONG
    details = {key: value for key, value in payload.items() if key not in left_out}
    details["stream_id"] = fact.stream_id
    return (
        fact.position,
        name,
        payload["timestamp"],
        fact.run_id,
        orjson.dumps(details).decode(),
    )
