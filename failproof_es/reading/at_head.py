"""Whether the projections are at the head of the log, which most commands find them at."""

from __future__ import annotations

import psycopg

from failproof_es.store.reading.reader import Connection
from projections.protocol import Projection, sql_file
from projections.reviews import Reviews
from projections.run_results import RunResults

READ: tuple[Projection, ...] = (RunResults(), Reviews())
"""The projections that `RowReader` reads."""


def is_at_head(connection: Connection) -> bool:
    """Whether the projections of `READ` exist in this program's version and reach the log's end.

    Also false if they are not installed, or the user may not read them.
    """
    names = [projection.name for projection in READ]
    versions = [projection.version for projection in READ]
    relations = [
        f"projections.{relation.name}" for projection in READ for relation in projection.relations
    ]
    try:
        row = connection.execute(
            sql_file("at_the_head"),
            {"names": names, "versions": versions, "relations": relations},
        ).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
        return False
    return row == (True,)


def catch_up_problem(connection: Connection) -> str | None:
    """Update the projections if they are behind (`catching_up`), after one query.

    Returns `None`, or a warning with the problem that prevents it. Raises
    `psycopg.OperationalError` if the server is away.
    """
    if is_at_head(connection):
        return None
    from failproof_es.reading.catching_up import update  # what writes projections: 25 ms

    return update(connection)
