"""`reviews`: the acts of people: reviews of evaluations, and annotations of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

import orjson

from failproof_es.core.case import operations_id
from projections.protocol import Cursor, Fact, Relation, sql_file, visible


class Reviews:
    """All reviews, those that count, people's decisions, and the last annotation of each run."""

    name: LiteralString = "reviews"
    version: int = 4
    relations: tuple[Relation, ...] = (
        Relation("TABLE", "review_history"),
        Relation("VIEW", "reviews"),
        Relation("VIEW", "people_results"),
        Relation("TABLE", "run_annotations"),
    )
    topics: frozenset[str] = frozenset({"Reviewed", "RunAnnotated"})
    in_shares = True

    def __init__(self) -> None:
        self._append = sql_file("reviews_append")
        self._annotate = sql_file("run_annotations_replace")

    def ddl(self) -> LiteralString:
        """The SQL that creates the tables and the views."""
        return sql_file("reviews") + sql_file("run_annotations")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Append a row for each review of the batch; replace those of runs that it annotates."""
        if rows := [_row(fact) for fact in facts if fact.topic == "Reviewed"]:
            cursor.execute(self._append, [list(column) for column in zip(*rows, strict=True)])
        if annotations := [_annotation(fact) for fact in facts if _is_annotation(fact)]:
            cursor.executemany(self._annotate, annotations)


def _row(fact: Fact) -> tuple[Any, ...]:
    payload = fact.payload
    return (
        fact.position,
        payload["evaluation_id"],
        payload["about"],
        visible(payload["reviewer"]),
        payload["timestamp"],
        payload["verdict"],
        _json(payload["items"]),
        payload["severity"],
        _json(payload["tags"]),
        _json(payload["notes"]),
        payload["blind"],
        payload["file_sha256"],
        payload["sheet"],
        payload["queue"],
        payload["seconds"],
        payload["adjudicates"],
    )


def _is_annotation(fact: Fact) -> bool:
    """Whether the fact annotates the run whose stream of operations it stands in."""
    if fact.topic != "RunAnnotated":
        return False
    return UUID(fact.stream_id) == operations_id(UUID(fact.payload["about"]))


def _annotation(fact: Fact) -> tuple[Any, ...]:
    payload = fact.payload
    name = payload["name"]
    return (
        payload["about"],
        None if name is None else visible(name),
        [visible(tag) for tag in payload["tags"]],
        _json(payload["note"]),
        payload["hidden"],
        visible(payload["who"]),
        payload["timestamp"],
        fact.position,
    )


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
