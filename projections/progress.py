"""`progress`: how each run and each of its models stands, current while the run is going."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, LiteralString

import orjson

from failproof_es.events import VOIDS_ANSWER
from projections.carried_over import CARRIED_OVER, followed
from projections.protocol import Cursor, Fact, Relation, sql_file, visible

_COUNTERS = (
    "planned", "requests", "answers", "errors", "retries", "lost_attempts", "in_flight", "scored",
    "abandoned", "passed", "failed", "refused", "empty", "truncated", "other",
    "accuracy_millionths",
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
_ENDS_REQUEST = frozenset({"ResponseReceived", "ErrorRecorded", "AttemptLost"})
_OUTCOMES = ("Classified", "Scored", "EvaluationAbandoned")
"""What counts of an evaluation that was carried over; its requests were sent by another run."""
_STATUS = {
    "RunPaused": "paused",
    "RunResumed": "running",
    "RunCompleted": "completed",
    "RunFailed": "failed",
}

Tally = defaultdict[tuple[str | None, str], dict[str, int]]
"""Counts by run and model key."""


class Progress:
    """Counters for each run and model, and the life of each run."""

    name: LiteralString = "progress"
    version: int = 3
    relations: tuple[Relation, ...] = (Relation("TABLE", "runs"), Relation("TABLE", "progress"))
    topics: frozenset[str] = frozenset(
        {*_COUNTER_OF, *_STATUS, "RunStarted", "Classified", CARRIED_OVER}
    )

    def __init__(self) -> None:
        self._start = sql_file("progress_start")
        self._change = sql_file("progress_change")
        self._count = sql_file("progress_count")

    def ddl(self) -> LiteralString:
        """`progress.sql`."""
        return sql_file("progress")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Add up the batch, then add it to what stands."""
        tally: Tally = defaultdict(lambda: dict.fromkeys(_COUNTERS, 0))
        for fact in followed(cursor, facts, _OUTCOMES):
            if fact.topic == "RunStarted":
                cursor.execute(self._start, _started(fact))
                _plan(tally, fact)
            elif fact.topic in _STATUS:
                cursor.execute(self._change, _changed(fact))
            else:
                _count(tally[fact.run_id, fact.payload["model_key"]], fact)
        cursor.executemany(self._count, list(_rows(tally)))


def _started(fact: Fact) -> tuple[Any, ...]:
    payload = fact.payload
    return (
        fact.run_id,
        payload["run_number"],
        visible(payload["name"]),
        payload["planned_evaluations"],
        payload["timestamp"],
        payload["configuration_digest"],
    )


def _plan(tally: Tally, fact: Fact) -> None:
    models = fact.payload["models"]
    for model in models:
        tally[fact.run_id, model["key"]]["planned"] += fact.payload["planned_evaluations"] // len(
            models
        )


def _changed(fact: Fact) -> tuple[Any, ...]:
    payload = fact.payload
    reason = payload.get("reason")
    ended = fact.topic in ("RunCompleted", "RunFailed")
    return (
        _STATUS[fact.topic],
        None if reason is None else orjson.dumps(reason).decode(),
        payload["timestamp"] if ended else None,
        fact.run_id,
    )


def _count(counts: dict[str, int], fact: Fact) -> None:
    payload = fact.payload
    topic = fact.topic
    if topic == "Classified":
        if payload["primary"] != "error":
            counts[_CLASS_COLUMN.get(payload["primary"], "other")] += 1
        return
    counts[_COUNTER_OF[topic]] += 1
    if topic == "RequestSent":
        counts["in_flight"] += 1
        if payload["attempt"] > 1:
            counts["retries"] += 1
    elif topic in _ENDS_REQUEST:
        counts["in_flight"] -= payload.get("kind") != VOIDS_ANSWER  # its answer ended it already
    elif topic == "Scored":
        counts["accuracy_millionths"] += round((payload["scores"].get("accuracy") or 0) * 1_000_000)


def _rows(tally: Tally) -> Iterator[dict[str, Any]]:
    for (run_id, model_key), counts in tally.items():
        yield {"run_id": run_id, "model_key": visible(model_key), **counts}
