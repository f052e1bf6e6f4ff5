"""Checks a run's streams other than its evaluations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from uuid import UUID

from failproof_es.core.case import operations_id, review_id
from failproof_es.core.side_streams import Operations, evolve_operations, next_review_version
from failproof_es.engine.history import UNREADABLE, WINDOW, Connection, read_run_prefix
from failproof_es.events import Counts
from failproof_es.store.reading.reader import read_streams

_NOTHING = Counts(planned=0, finished=0, scored=0, abandoned=0)


@dataclass(slots=True)
class OtherStreams:
    """The results of checking a run's streams other than its evaluations: its own stream, its
    operations, the reviews."""

    counts: Counts
    """The counts in the run's last event that has any."""
    of_run: Exception | None = None
    """The defect of the run's own stream."""
    broken: list[tuple[Exception, UUID | None]] = field(default_factory=list)
    """The defects of the run's operations, or of the reviews of an evaluation."""

    def without_run(self) -> OtherStreams:
        """A copy without the defect of the run's own stream, which is known already."""
        return replace(self, of_run=None)


def check_other_streams(
    connection: Connection, run_id: UUID, evaluation_ids: Iterable[UUID]
) -> OtherStreams:
    """Check the run's own stream, its operations, and the reviews of these evaluations.

    Unreadable events are in the result, and raise nothing, unless the run's first event is
    unreadable.
    """
    run, of_run = read_run_prefix(connection, run_id)
    other_streams = OtherStreams(run.counts or _NOTHING, of_run)
    try:
        _look_at_operations(connection, run_id, other_streams)
        _look_at_reviews(connection, run_id, evaluation_ids, other_streams)
    except UNREADABLE as error:
        other_streams.broken.append((error, None))
    return other_streams


def _look_at_operations(connection: Connection, run_id: UUID, other_streams: OtherStreams) -> None:
    state, stream = Operations(), operations_id(run_id)
    try:
        for row in read_streams(connection, [stream]).get(stream, []):
            state = evolve_operations(state, row.event(), run_id)
    except UNREADABLE as error:
        other_streams.broken.append((error, None))


def _look_at_reviews(
    connection: Connection,
    run_id: UUID,
    evaluation_ids: Iterable[UUID],
    other_streams: OtherStreams,
) -> None:
    evaluations = iter(evaluation_ids)
    while window := {
        review_id(evaluation_id): evaluation_id for evaluation_id in islice(evaluations, WINDOW)
    }:
        for reviews, rows in read_streams(connection, list(window)).items():
            version = 0
            try:
                for row in rows:
                    version = next_review_version(version, row.event(), run_id, window[reviews])
            except UNREADABLE as error:
                other_streams.broken.append((error, window[reviews]))
