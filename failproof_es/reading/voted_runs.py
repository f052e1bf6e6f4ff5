"""The runs whose evaluations judges or people voted on."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from failproof_es.events import Reviewed, RunStarted
from failproof_es.store.reading.archives import archived_runs
from failproof_es.store.reading.reader import Connection, find


def runs_with_votes(connection: Connection) -> Iterator[UUID]:
    """The ids of runs that have a judge or a review, oldest first; without archived runs.

    Raises `UnreadableState` if an event cannot be read.
    """
    archived = archived_runs(connection)
    reviewed = {
        row.upcast_payload()["about"] for row in find(connection, topics=[Reviewed.__name__])
    }
    for row in find(connection, topics=[RunStarted.__name__]):
        run_id = row.stream_id
        if run_id not in archived and (str(run_id) in reviewed or row.upcast_payload()["judges"]):
            yield run_id
