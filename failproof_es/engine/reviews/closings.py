"""Events that judge gates of a run after its end: closed reviews, and calibrations of judges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar
from uuid import UUID

from failproof_es.core.case import operations_id
from failproof_es.events import JudgeCalibrated, OperationEvent, ReviewClosed
from failproof_es.store.reading.reader import Connection, find

E = TypeVar("E", bound=OperationEvent)


def closings_of(
    connection: Connection, run_id: UUID, *, up_to: int | None = None
) -> Iterator[ReviewClosed]:
    """Every time that the run's reviews were closed up to a position, first to last.

    Closing judges the run's gates by people's verdicts. With `up_to=None` to the end of the log.
    """
    return _operations_of(connection, run_id, ReviewClosed, up_to)


def calibrations_of(
    connection: Connection, run_id: UUID, *, up_to: int | None = None
) -> Iterator[JudgeCalibrated]:
    """Every calibration of the run's judges up to a position (`None`: all), first to last."""
    return _operations_of(connection, run_id, JudgeCalibrated, up_to)


def _operations_of(
    connection: Connection, run_id: UUID, kind: type[E], up_to: int | None
) -> Iterator[E]:
    """The operations of this type on the run up to a position, first to last."""
    topics = [kind.__name__]
    for row in find(connection, stream_id=operations_id(run_id), topics=topics, up_to=up_to):
        event = row.event()
        if isinstance(event, kind):
            yield event
