"""Events that judge gates of a run after its end: closed reviews, and calibrations of judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from failproof_es.core.case import operations_id
from failproof_es.engine.operations import operations_of
from failproof_es.events import JudgeCalibrated, ReviewClosed
from failproof_es.store.reading.reader import Connection, find


def closings_of(
    connection: Connection, run_id: UUID, *, up_to: int | None = None
) -> Iterator[ReviewClosed]:
    """Every time that the run's reviews were closed up to a position, first to last.

    Closing judges the run's gates by people's verdicts. With `up_to=None` to the end of the log.
    """
    return operations_of(connection, run_id, ReviewClosed, up_to)


def calibrations_of(
    connection: Connection, run_id: UUID, *, up_to: int | None = None
) -> Iterator[JudgeCalibrated]:
    """Every calibration of the run's judges up to a position (`None`: all), first to last."""
    return operations_of(connection, run_id, JudgeCalibrated, up_to)


def later_gates(
    connection: Connection, run_ids: Sequence[UUID], up_to: int | None = None
) -> dict[UUID, dict[str, Any]]:
    """The gates of these runs that were judged after their ends, by run id; the last of a name.

    Runs without such a gate are missing. `up_to` is the last position that counts; `None`: all.
    """
    streams = [operations_id(run_id) for run_id in run_ids]
    topics = [ReviewClosed.__name__, JudgeCalibrated.__name__]
    gates: dict[UUID, dict[str, Any]] = {}
    for row in find(connection, stream_ids=streams, topics=topics, up_to=up_to):
        event = row.event()
        if isinstance(event, ReviewClosed | JudgeCalibrated):
            gates.setdefault(event.about, {}).update(event.gates)
    return gates
