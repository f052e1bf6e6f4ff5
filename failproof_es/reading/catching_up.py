"""Brings the projections up to the head of the log, where the user may."""

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
    """Take in what the log holds by now; why that cannot be done, where it cannot.

    One query where there is nothing new. Raises `psycopg.OperationalError` where the server is
    away.
    """
    if is_at_head(connection):
        return None
    try:
        head = max_position(connection)
        prepare(connection, READ)
        together = (*READ, *_level_with_read(connection))
        try:
            _bring_up(connection, together, head)
        except psycopg.OperationalError:
            raise
        except _CANNOT:  # of a table that nobody reads here, perhaps
            _bring_up(connection, READ, head)
    except psycopg.OperationalError as error:
        if connection.closed or connection.broken:
            raise
        return _describe_failure(error)
    except _CANNOT as error:
        return _describe_failure(error)
    return None


def _bring_up(connection: Connection, projections: Sequence[Projection], head: int) -> None:
    """Bring these up until those of `READ` stand at the head, or nothing moves them."""
    while (position := reached(connection, READ)) < head:
        if not catch_up(connection, projections) and reached(connection, READ) == position:
            break


def _level_with_read(connection: Connection) -> list[Projection]:
    """The other projections that are not behind those of `READ`.

    All are brought up together: whoever reads the tables by SQL alone sees no old rows beside new
    ones, and the events between are parsed once.
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
    """Whether every row that would be read is there, of this program's version, and current."""
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
