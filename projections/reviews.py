"""`reviews`: people's reviews of evaluations: the last one of each reviewer, and their history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

import orjson

from projections.protocol import Cursor, Fact, Relation, sql_file, visible


class Reviews:
    """A table of all reviews, a view of those that count, and a view of people's decisions."""

    name: LiteralString = "reviews"
    version: int = 2
    relations: tuple[Relation, ...] = (
        Relation("TABLE", "review_history"),
        Relation("VIEW", "reviews"),
        Relation("VIEW", "people_results"),
    )
    topics: frozenset[str] = frozenset({"Reviewed"})
    in_shares = True

    def __init__(self) -> None:
        self._append = sql_file("reviews_append")

    def ddl(self) -> LiteralString:
        """The SQL that creates the table and the views: the file `reviews.sql`."""
        return sql_file("reviews")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Append a row for each review of the batch."""
        rows = [_row(fact) for fact in facts]
        cursor.execute(self._append, [list(column) for column in zip(*rows, strict=True)])


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
    )


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
