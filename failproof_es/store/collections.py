"""The collections of specification 001 § 2.1 as documents that a document store takes in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from psycopg import sql

from failproof_es.store.reader import Connection
from failproof_es.store.recorder import query

COLLECTIONS = ("prompts", "evaluations", "test_runs", "model_configs")


def documents(
    connection: Connection, collection: str, runs: Sequence[UUID], prompts: Sequence[UUID]
) -> Iterator[bytes]:
    """Every document of a collection that belongs to these runs, as a line of JSON each.

    Each begins with a `_key` of its own, made of characters that ArangoDB takes; the rest is
    what the view `promptguard.<collection>` says, to the letter. `prompts` are the streams
    of the runs' prompts. Streams; within one transaction all collections are of one moment.
    """
    with (
        connection.transaction(),
        connection.cursor(f"collected_{collection}") as cursor,
    ):
        cursor.itersize = 1  # a document may be as long as the longest reply
        cursor.execute(
            sql.SQL(query(f"collected_{collection}")),
            {"runs": list(runs), "prompts": list(prompts)},
        )
        for key, document in cursor:
            yield f'{{"_key":{key},{document[1:]}\n'.encode()
