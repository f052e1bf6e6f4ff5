"""The workers that drove a run together, from the run's operations.

A run that one process drove alone has none: `RunStarted` and `RunResumed` name that process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from failproof_es.core.case import operations_id
from failproof_es.events import WorkerJoined, WorkerLeft
from failproof_es.store.reading.reader import Connection, find
from failproof_es.support.plurals import plural


@dataclass(frozen=True, slots=True)
class RunWorker:
    """One process that asked a part of the run's evaluations, from joining to leaving it."""

    worker: UUID
    who: str
    host: str
    process: int
    code_version: str
    joined_at: datetime
    left_at: datetime | None = None
    """`None` where it still drives the run, or ended without saying so."""
    evaluations: int | None = None
    """Number of evaluations ended there; `None` unless the worker left."""
    reason: str | None = None
    """Why it left."""


def workers_of(
    connection: Connection, run_id: UUID, up_to: int | None = None
) -> Sequence[RunWorker]:
    """The workers of a run in the order of joining, up to the position `up_to`; `None`: to the end.

    A worker that left and joined again is listed twice. Empty if one process asked the run alone.
    """
    topics = (WorkerJoined.__name__, WorkerLeft.__name__)
    joined: list[RunWorker] = []
    for row in find(connection, stream_id=operations_id(run_id), topics=topics, up_to=up_to):
        event = row.event()
        if isinstance(event, WorkerJoined):
            joined.append(
                RunWorker(
                    event.worker, event.who, event.where, event.process, event.code_version,
                    event.timestamp,
                )
            )  # fmt: skip
        elif isinstance(event, WorkerLeft):
            joined = [_mark_left(worker, event) for worker in joined]
    return joined


def describe_workers(workers: Sequence[RunWorker], *, over: bool) -> str:
    """The workers in one phrase: number, hosts, versions. `over`: the run has ended.

    "3 workers on 2 hosts (a, b); 1 of them ended without saying so"
    """
    hosts = sorted({worker.host for worker in workers})
    on = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts ({', '.join(hosts)})"
    description = f"{plural(len({worker.worker for worker in workers}), 'worker')} on {on}"
    versions = sorted({worker.code_version for worker in workers})
    if len(versions) > 1:
        description += f", of the versions {', '.join(versions)}"
    there = sum(worker.left_at is None for worker in workers)
    if there:
        ended = "ended without saying so"
        description += f"; {there} of them {ended if over else 'drive it still, or ' + ended}"
    return description


def _mark_left(worker: RunWorker, event: WorkerLeft) -> RunWorker:
    if worker.worker != event.worker or worker.left_at is not None:
        return worker
    return RunWorker(
        worker.worker, worker.who, worker.host, worker.process, worker.code_version,
        worker.joined_at, event.timestamp, event.evaluations, event.reason,
    )  # fmt: skip
