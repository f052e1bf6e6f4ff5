"""Updates the projections to the head of the log, if the user may write them."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from failproof_es.problems import InvalidInput
from failproof_es.reading.at_head import READ
from failproof_es.store.errors import UnreadableState
from failproof_es.store.reading.reader import Connection, max_position
from projections import PROJECTIONS
from projections.protocol import Projection
from projections.runner import OutdatedProjection, catch_up, prepare, reached, status

_CANNOT = (psycopg.Error, UnreadableState, OutdatedProjection, InvalidInput)


def update(connection: Connection) -> str | None:
    """Update the projections; return `None`, or a warning with the problem that prevents it.

    Projections other than those of `READ` are updated along if
    they are level with them. Raises `psycopg.OperationalError` if the server is away.
    """
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
        state.name: state
        for state in status(connection)
        if state.position >= position and not state.outdated
    }
    projections = [
        projection for projection in PROJECTIONS if projection.name in level.keys() - names
    ]
    if missing := [
        projection for projection in projections if level[projection.name].updated_at is None
    ]:
        prepare(connection, missing)
    return projections


def _describe_failure(error: Exception) -> str:
    message = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"the projections are not current, so the log itself is read, which is slower: {message}"
