"""Runs under way in a window of time, by the signed times of their own events."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from failproof_es.events import RUN_STATUS
from failproof_es.events.base import ENDED
from failproof_es.store.reading.reader import Connection, find

_CLOCKS_DIFFER = timedelta(days=1)
"""The most that the clocks of a run's hosts may be apart."""


def runs_in_window(
    connection: Connection, since: datetime | None, until: datetime | None
) -> list[UUID]:
    """The runs that may have sent something from `since` to `until`, archived ones included.

    Reads the events that begin, pause and end a run; a run that has not ended is under way.
    """
    began: dict[UUID, datetime] = {}
    ended: dict[UUID, datetime | None] = {}
    for row in find(connection, topics=[*RUN_STATUS]):
        at = row.event().timestamp
        began.setdefault(row.stream_id, at)
        ended[row.stream_id] = at if RUN_STATUS[row.topic] in ENDED else None
    return [
        run_id
        for run_id, at in began.items()
        if (until is None or at <= until + _CLOCKS_DIFFER)
        and (since is None or (end := ended[run_id]) is None or end >= since - _CLOCKS_DIFFER)
    ]
