"""`progress`: how each run and each of its models stands, current while the run is going."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

import orjson

from projections.protocol import Cursor, Fact, Relation, sql_file, visible

_COUNTERS: tuple[LiteralString, ...] = (
    "planned", "requests", "answers", "errors", "retries", "lost_attempts", "scored",
    "abandoned", "passed", "failed", "refused", "empty", "truncated", "other", "accuracy_sum",
)  # fmt: skip
_CLASS_COLUMN = {
    "pass": "passed",
    "fail": "failed",
    "refusal": "refused",
    "empty": "empty",
    "truncated": "truncated",
}
_COUNTER_OF = {
    "RequestSent": "requests",
    "ResponseReceived": "answers",
    "ErrorRecorded": "errors",
    "AttemptLost": "lost_attempts",
    "Scored": "scored",
    "EvaluationAbandoned": "abandoned",
}
_STATUS = {
    "RunPaused": "paused",
    "RunResumed": "running",
    "RunCompleted": "completed",
    "RunFailed": "failed",
}
_START: LiteralString = """
INSERT INTO runs (run_id, run_number, name, status, planned, started_at, configuration_digest)
VALUES (%s, %s, %s, 'running', %s, %s, %s)
"""
_CHANGE: LiteralString = "UPDATE runs SET status = %s, reason = %s, ended_at = %s WHERE run_id = %s"
_names: LiteralString = ", ".join(_COUNTERS)
_places: LiteralString = ", ".join("%s" for _ in _COUNTERS)
_sums: LiteralString = ", ".join(
    name + " = p." + name + " + excluded." + name for name in _COUNTERS
)
_COUNT: LiteralString = (
    "INSERT INTO progress AS p (run_id, model_key, " + _names + ") VALUES (%s, %s, " + _places
    + ") ON CONFLICT (run_id, model_key) DO UPDATE SET " + _sums
)  # fmt: skip


class Progress:
    """Counters for each run and model, and the life of each run."""

    name: LiteralString = "progress"
    version: int = 1
    relations: tuple[Relation, ...] = (Relation("TABLE", "runs"), Relation("TABLE", "progress"))
    topics: frozenset[str] = frozenset({*_COUNTER_OF, *_STATUS, "RunStarted", "Classified"})

    def ddl(self) -> LiteralString:
        """`progress.sql`."""
        return sql_file("progress")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Add up the batch, then add it to what stands."""
        counts: dict[tuple[UUID | None, str], dict[str, float]] = {}
        for fact in facts:
            if fact.topic == "RunStarted":
                _start(cursor, fact, counts)
            elif fact.topic in _STATUS:
                _change(cursor, fact)
            else:
                key = (fact.recorded.run_id, str(visible(fact.payload["model_key"])))
                _count(counts.setdefault(key, dict.fromkeys(_COUNTERS, 0)), fact)
        if counts:
            cursor.executemany(_COUNT, [(*key, *row.values()) for key, row in counts.items()])


def _start(
    cursor: Cursor, fact: Fact, counts: dict[tuple[UUID | None, str], dict[str, float]]
) -> None:
    payload = fact.payload
    cursor.execute(
        _START,
        (
            fact.recorded.run_id,
            payload["run_number"],
            visible(payload["name"]),
            payload["planned_evaluations"],
            payload["timestamp"],
            payload["configuration_digest"],
        ),
    )
    each = payload["planned_evaluations"] // len(payload["models"])
    for model in payload["models"]:
        row = counts.setdefault(
            (fact.recorded.run_id, str(visible(model["key"]))), dict.fromkeys(_COUNTERS, 0)
        )
        row["planned"] += each


def _change(cursor: Cursor, fact: Fact) -> None:
    payload = fact.payload
    reason = payload.get("reason")
    ended = fact.topic in ("RunCompleted", "RunFailed")
    cursor.execute(
        _CHANGE,
        (
            _STATUS[fact.topic],
            None if reason is None else orjson.dumps(reason).decode(),
            payload["timestamp"] if ended else None,
            fact.recorded.run_id,
        ),
    )


def _count(row: dict[str, float], fact: Fact) -> None:
    payload: dict[str, Any] = fact.payload
    if fact.topic == "Classified":
        if payload["primary"] != "error":
            row[_CLASS_COLUMN.get(payload["primary"], "other")] += 1
        return
    row[_COUNTER_OF[fact.topic]] += 1
    if fact.topic == "RequestSent" and payload["attempt"] > 1:
        row["retries"] += 1
    elif fact.topic == "Scored":
        row["accuracy_sum"] += payload["scores"].get("accuracy") or 0.0
