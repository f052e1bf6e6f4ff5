"""Reads the state of a queue's evaluations from the log."""

from __future__ import annotations

from uuid import UUID

from failproof_es.core.case import review_id
from failproof_es.core.queues import QueueItem
from failproof_es.engine.history import WINDOW
from failproof_es.engine.reviews.people import read_reviews
from failproof_es.events import QueueCreated
from failproof_es.store.reading.reader import Connection, stream_versions


class QueueReader:
    """Reads a queue again and again: only the evaluations that were reviewed meanwhile."""

    def __init__(self, queue: QueueCreated) -> None:
        self.queue = queue
        self._items: dict[UUID, QueueItem] = {}

    def items(self, connection: Connection, *, up_to: int | None = None) -> list[QueueItem]:
        """The evaluations of the queue in its order, with their reviews up to a position (`None`:
        all)."""
        streams = {review_id(evaluation): evaluation for evaluation in self.queue.evaluations}
        versions = {
            streams[stream]: version
            for stream, version in stream_versions(connection, list(streams)).items()
        }
        changed = [
            evaluation
            for evaluation in self.queue.evaluations
            if evaluation not in self._items
            or self._items[evaluation].reviews < versions.get(evaluation, 0)
        ]
        for begin in range(0, len(changed), WINDOW):
            window = changed[begin : begin + WINDOW]
            reviews = read_reviews(connection, window, up_to=up_to)
            for evaluation in window:
                own = reviews.get(evaluation, [])
                self._items[evaluation] = QueueItem.of(self.queue, evaluation, own)
        return [self._items[evaluation] for evaluation in self.queue.evaluations]
