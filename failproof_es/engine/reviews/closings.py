"""Closings of the reviews of a run: its gates on rates, judged by the verdicts of people."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from failproof_es.core.case import operations_id
from failproof_es.events import ReviewClosed
from failproof_es.store.reading.reader import Connection, find


def closings_of(
    connection: Connection, run_id: UUID, *, up_to: int | None = None
) -> Iterator[ReviewClosed]:
    """Every time that the run's reviews were closed up to a position, first to last.

    Closing judges the run's gates by people's verdicts. With `up_to=None` to the end of the log.
    """
    topics = [ReviewClosed.__name__]
    for row in find(connection, stream_id=operations_id(run_id), topics=topics, up_to=up_to):
        event = row.event()
        if isinstance(event, ReviewClosed):
            yield event
