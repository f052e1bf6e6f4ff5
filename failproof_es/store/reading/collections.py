"""Documents of runs, in the form that another system imports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import LiteralString
from uuid import UUID

from psycopg import sql

from failproof_es.store.connecting import lift_idle_limit
from failproof_es.store.reading.reader import Connection


def documents(
    connection: Connection,
    statement: LiteralString,
    runs: Sequence[UUID],
    prompts: Sequence[UUID],
) -> Iterator[bytes]:
    """Stream the documents of these runs and prompts, each as a line of JSON.

    The statement returns two texts for each document: its `_key` as JSON, and the document as a
    JSON object, which is not changed. All documents are of one snapshot of the database.
    """
    with (
        connection.transaction(),
        connection.cursor("documents") as cursor,
    ):
        lift_idle_limit(connection)
        cursor.itersize = 1  # a document may be as long as the longest reply
        cursor.execute(sql.SQL(statement), {"runs": list(runs), "prompts": list(prompts)})
        for key, document in cursor:
            yield f'{{"_key":{key},{document[1:]}\n'.encode()
