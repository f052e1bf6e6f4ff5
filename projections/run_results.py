"""`run_results`: one row for each evaluation, current while the run is going."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

import orjson

from projections.protocol import Cursor, Fact, Relation, sql_file, visible

_STORE_PROMPTS: LiteralString = """
INSERT INTO prompts (prompt_id, suite_id, case_id, category, label, severity, tags)
SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[],
                     %s::json[])
ON CONFLICT (prompt_id) DO NOTHING
"""

_COLUMNS: tuple[tuple[LiteralString, LiteralString], ...] = (
    ("evaluation_id", "uuid"),
    ("run_id", "uuid"),
    ("prompt_id", "uuid"),
    ("model_key", "text"),
    ("repetition", "integer"),
    ("status", "text"),
    ("attempts", "integer"),
    ("retries", "integer"),
    ("lost_attempts", "integer"),
    ("model_answered", "text"),
    ("response", "json"),
    ("finish_reason", "text"),
    ("primary_class", "text"),
    ("details", "json"),
    ("scores", "json"),
    ("accuracy", "double precision"),
    ("error_kind", "text"),
    ("error_message", "json"),
    ("input_tokens", "bigint"),
    ("output_tokens", "bigint"),
    ("latency_ms", "double precision"),
    ("started_at", "timestamptz"),
    ("finished_at", "timestamptz"),
    ("last_position", "bigint"),
)
_COUNTED = ("attempts", "retries", "lost_attempts")
_ADDED = ("input_tokens", "output_tokens", "latency_ms")
_FIRST_KEPT = ("evaluation_id", "run_id", "prompt_id", "model_key", "repetition", "started_at")
_ERROR = ("error_kind", "error_message")


def _upsert() -> LiteralString:
    """Insert the batch's rows; where a row stands already, take in what is new."""
    columns: LiteralString = ", ".join(name for name, _ in _COLUMNS)
    updates: list[LiteralString] = []
    for name, _ in _COLUMNS:
        if name in _FIRST_KEPT:
            continue
        if name in _COUNTED:
            updates.append(name + " = r." + name + " + excluded." + name)
        elif name in _ADDED:
            updates.append(
                name + " = CASE WHEN excluded." + name + " IS NULL THEN r." + name
                + " ELSE coalesce(r." + name + ", 0) + excluded." + name + " END"
            )  # fmt: skip
        elif name in _ERROR:
            # An answer clears the error before it; a batch that says neither keeps it.
            updates.append(
                name + " = CASE WHEN excluded." + name + " IS NOT NULL THEN excluded." + name
                + " WHEN excluded.response IS NOT NULL THEN NULL ELSE r." + name + " END"
            )  # fmt: skip
        else:
            updates.append(name + " = coalesce(excluded." + name + ", r." + name + ")")
    return (
        "INSERT INTO run_results AS r (" + columns + ", suite_id, case_id, category, severity) "
        "SELECT n.*, p.suite_id, p.case_id, p.category, p.severity "
        "FROM incoming n LEFT JOIN prompts p ON p.prompt_id = n.prompt_id "
        "ON CONFLICT (evaluation_id) DO UPDATE SET " + ", ".join(updates)
    )


_UPSERT: LiteralString = _upsert()
_INCOMING: LiteralString = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS incoming ("
    + ", ".join(name + " " + kind for name, kind in _COLUMNS)
    + ") ON COMMIT DELETE ROWS"
)
_COPY: LiteralString = "COPY incoming FROM STDIN"


class RunResults:
    """One row for each evaluation, and the facts of the cases they ask."""

    name: LiteralString = "run_results"
    version: int = 1
    relations: tuple[Relation, ...] = (
        Relation("TABLE", "prompts"),
        Relation("TABLE", "run_results"),
    )
    topics: frozenset[str] = frozenset(
        {
            "PromptStored", "RequestSent", "ResponseReceived", "ErrorRecorded", "AttemptLost",
            "Classified", "Scored", "EvaluationAbandoned",
        }
    )  # fmt: skip

    def ddl(self) -> LiteralString:
        """`run_results.sql`."""
        return sql_file("run_results")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Fold the batch into one row for each evaluation it touches, then write them."""
        prompts = [fact for fact in facts if fact.topic == "PromptStored"]
        if prompts:
            cursor.execute(_STORE_PROMPTS, _columns([_prompt(fact) for fact in prompts]))
        rows: dict[UUID, dict[str, Any]] = {}
        for fact in facts:
            if fact.topic != "PromptStored":
                stream = fact.recorded.stream_id
                row = rows.get(stream)
                if row is None:
                    row = rows[stream] = _new_row(fact)
                _take_in(row, fact)
        if rows:
            cursor.execute(_INCOMING)
            cursor.execute("TRUNCATE incoming")
            with cursor.copy(_COPY) as copy:
                for row in rows.values():
                    copy.write_row(tuple(row.values()))
            cursor.execute(_UPSERT)


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _prompt(fact: Fact) -> tuple[Any, ...]:
    case = fact.payload["case"]
    return (
        fact.recorded.stream_id,
        visible(case["suite_id"]),
        visible(case["case_id"]),
        visible(case["category"]),
        visible(case["label"]),
        visible(case["severity"]),
        _json(case["tags"]),
    )


def _new_row(fact: Fact) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(name for name, _ in _COLUMNS)
    row["evaluation_id"] = fact.recorded.stream_id
    row["run_id"] = fact.recorded.run_id
    row["prompt_id"] = fact.payload["prompt_id"]
    row["model_key"] = visible(fact.payload["model_key"])
    row["repetition"] = fact.payload["repetition"]
    row["status"] = "running"
    row["started_at"] = fact.payload["timestamp"]
    for name in _COUNTED:
        row[name] = 0
    return row


def _take_in(row: dict[str, Any], fact: Fact) -> None:
    payload = fact.payload
    row["last_position"] = fact.position
    match fact.topic:
        case "RequestSent":
            row["attempts"] += 1
            row["retries"] += payload["attempt"] > 1
        case "ResponseReceived" if payload["purpose"] == "target":
            row["response"] = _json(payload["text"])
            row["finish_reason"] = visible(payload["finish_reason"])
            row["model_answered"] = visible(payload["model"])
            row["error_kind"] = row["error_message"] = None
            usage = payload["usage"]
            for name in ("input_tokens", "output_tokens"):
                if usage[name] is not None:
                    row[name] = (row[name] or 0) + usage[name]
            row["latency_ms"] = (row["latency_ms"] or 0.0) + payload["latency_ms"]
        case "ErrorRecorded":
            row["error_kind"] = payload["kind"]
            row["error_message"] = _json(payload["message"])
        case "AttemptLost":
            row["lost_attempts"] += 1
        case "Classified":
            row["primary_class"] = visible(payload["primary"])
            row["details"] = _json(payload["details"])
        case "Scored":
            row["status"] = "scored"
            row["scores"] = _json(payload["scores"])
            row["accuracy"] = payload["scores"].get("accuracy")
            row["finished_at"] = payload["timestamp"]
        case "EvaluationAbandoned":
            row["status"] = "abandoned"
            row["error_kind"] = payload["kind"]
            row["error_message"] = _json(payload["reason"])
            row["finished_at"] = payload["timestamp"]


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
