"""The position of the projections, for readers of consistent numbers that write nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import psycopg

from failproof_es.reading.at_head import READ
from failproof_es.reading.log import LogReader
from failproof_es.reading.result_reader import ResultReader
from failproof_es.reading.rows import RowReader
from failproof_es.store.reading.reader import Connection, max_position
from projections.positions import read_positions

_SLOWER = ", so the log itself is read, which is slower"
_RELATIONS = "SELECT count(to_regclass(name)) FROM unnest(%s::text[]) AS name"


@dataclass(frozen=True, slots=True)
class AsOf:
    """The last position that a reader reads, and the number of positions it is behind the log."""

    events_up_to: int
    """The position of the last event that is counted; 0 where there is none."""
    head: int
    """The position of the newest event of the log."""
    lag: int
    """Number of positions of the log that are not counted yet."""
    source: Literal["projections", "log"]
    projection_versions: dict[str, int]
    """Versions of the projections that are read, by name."""
    warning: str | None
    """Why the log itself is read, which is slower."""

    @property
    def why_log(self) -> str | None:
        """Why the log is read in place of the projections, as a sentence; `None` if it is not."""
        return None if self.warning is None else self.warning.removesuffix(_SLOWER)


def reader_without_update(connection: Connection) -> tuple[ResultReader, AsOf]:
    """A reader that does not update the projections, and how far it reads.

    It reads the projections, however far behind, if they are complete and of this program's
    versions; else the log. Call it in a transaction with a snapshot, so that both fit together.
    """
    head = max_position(connection)
    versions = {projection.name: projection.version for projection in READ}
    why_not = None
    try:
        with connection.transaction():
            positions = read_positions(connection)
            relations = [
                f"projections.{relation.name}"
                for projection in READ
                for relation in projection.relations
            ]
            (present,) = connection.execute(_RELATIONS, (relations,)).fetchone() or (0,)
    except psycopg.errors.InsufficientPrivilege:
        why_not = "this database user may not read the projections"
    else:
        built_versions = {name: positions[name].version for name in versions if name in positions}
        empty = head > 0 and not any(positions[name].position for name in built_versions)
        if len(built_versions) < len(versions) or present < len(relations) or empty:
            why_not = "the projections are not built"
        elif built_versions != versions:
            why_not = "the projections were built by another version of this program"
    if why_not is not None:
        warning = why_not + _SLOWER
        return LogReader(connection, head, warning=warning), AsOf(
            head, head, 0, "log", versions, warning
        )
    reached = min(positions[name].position for name in versions)
    up_to = min(reached, head)
    return RowReader(connection, reached=up_to), AsOf(
        up_to, head, head - up_to, "projections", versions, None
    )


def read_as_of(connection: Connection, reader: ResultReader) -> AsOf:
    """The last position that a reader reads: `reader.up_to`, or else the end of the log.

    If it reads all of the log outside a snapshot, it may count events recorded meanwhile.
    """
    head = max_position(connection)
    up_to = head if reader.up_to is None else min(reader.up_to, head)
    versions = {projection.name: projection.version for projection in READ}
    return AsOf(up_to, head, head - up_to, reader.source, versions, reader.warning)
