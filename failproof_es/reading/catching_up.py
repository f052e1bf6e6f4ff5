"""Updates the projections to the head of the log, if the user may write them."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from failproof_es.problems import InvalidInput
from failproof_es.store.errors import UnreadableState
from failproof_es.store.reading.reader import Connection, max_position
from projections import PROJECTIONS
from projections.protocol import Projection, sql_file
from projections.reviews import Reviews
from projections.run_results import RunResults
from projections.runner import OutdatedProjection, catch_up, prepare, reached, status

READ: tuple[Projection, ...] = (RunResults(), Reviews())
"""The projections that `RowFeeder` reads."""

_CANNOT = (psycopg.Error, UnreadableState, OutdatedProjection, InvalidInput)


def catch_up_problem(connection: Connection) -> str | None:
    """Update the projections; return `None`, or a warning with the problem that prevents it.

    One query if there is nothing new. Projections other than those of `READ` are updated along if
    they are level with them. Raises `psycopg.OperationalError` if the server is away.
    """
    if is_at_head(connection):
        return None
    try:
        head = max_position(connection)
        prepare(connection, READ)
        together = (*READ, *_other_current_projections(connection))
        try:
            _bring_up(connection, together, head)
        except psycopg.OperationalError:
            raise
        except _CANNOT:  # perhaps because of a table that is not read here
            _bring_up(connection, READ, head)
    except psycopg.OperationalError as error:
        if connection.closed or connection.broken:
            raise
        return _describe_failure(error)
    except _CANNOT as error:
        return _describe_failure(error)
    return None


def _bring_up(connection: Connection, projections: Sequence[Projection], head: int) -> None:
    """Update these projections until those of `READ` reach the position `head`, or stop moving."""
    while (position := reached(connection, READ)) < head:
        if not catch_up(connection, projections) and reached(connection, READ) == position:
            break


def _other_current_projections(connection: Connection) -> list[Projection]:
    """The other projections that are not behind those of `READ`.

    All are updated together, so that a reader of the tables by SQL sees no old rows next to new
    ones, and events are parsed once.
    """
    position = reached(connection, READ)
    names = {projection.name for projection in READ}
    level = {
        standing.name: standing
        for standing in status(connection)
        if standing.position >= position and not standing.outdated
    }
    projections = [
        projection for projection in PROJECTIONS if projection.name in level.keys() - names
    ]
    if missing := [
        projection for projection in projections if level[projection.name].updated_at is None
    ]:
        prepare(connection, missing)
    return projections


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


def _describe_failure(error: Exception) -> str:
    message = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"the projections are not current, so the log itself is read, which is slower: {message}"
