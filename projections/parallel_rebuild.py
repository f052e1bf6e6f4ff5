"""A rebuild in several processes: this one takes in a share of the log, and so does each worker.

What they write stands beside the live rows and is swapped in by the process that began, so nothing
that fails here is seen. Whatever fails, the rebuild goes on in one process, from the beginning.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson
import psycopg
from psycopg.conninfo import make_conninfo

from failproof_es.store.reading.reader import max_position
from failproof_es.support.cores import usable_cores
from failproof_es.support.machine.sidecar import Sidecar
from projections.archives import forget_archived
from projections.batch import Share
from projections.protocol import Projection, sql_file
from projections.relations import BUILDING, enter
from projections.shares import (
    CASES,
    EVALUATIONS,
    OutOfPlace,
    building_id,
    shares_of,
    take_share,
    the_rest,
)

Connection = psycopg.Connection[Any]
Progress = Callable[[int, int], None]

FROM_EVENTS = 50_000
"""A shorter log is taken in before a worker has started."""
MOST_PROCESSES = 4
_CASES_DONE, _REST_DONE = 0.15, 0.25
"""About so much of the work is done after the cases, and after all but the evaluations."""
_END_S = 10.0


class WorkerFailed(Exception):
    """A worker did not take in its share."""


def build_in_shares(
    connection: Connection,
    projections: Sequence[Projection],
    progress: Progress | None,
    processes: int | None,
) -> int | None:
    """Fill the relations that are being built, up to the position that is returned.

    0, and nothing done, where that is not worth it. `None` where it failed: they have to be made
    again, and filled in one process.
    """
    head = max_position(connection)
    if processes is None:
        processes = 1 if head < FROM_EVENTS else min(usable_cores(), MOST_PROCESSES)
    if processes < 2 or not all(_in_shares(projection) for projection in projections):
        return 0
    with connection.transaction():
        connection.execute(sql_file("become_projector"))
        building = building_id(connection, projections)
    try:
        with _workers(connection, projections, building, processes - 1) as workers:
            events = _build(connection, projections, building, workers, head, progress)
    except (OutOfPlace, WorkerFailed, psycopg.errors.DeadlockDetected):
        return None
    if events != _count_events(connection, head):
        return None
    with connection.transaction():
        connection.execute(sql_file("become_projector"))
        enter(connection, BUILDING)
        with connection.cursor() as cursor:
            for projection in projections:
                if settle := getattr(projection, "settle", None):
                    settle(cursor, head)
            forget_archived(connection, cursor, projections)
    return head


def _in_shares(projection: Projection) -> bool:
    """Whether a worker can take it in: it is one of ours, and says so."""
    from projections import PROJECTIONS

    return projection in PROJECTIONS and getattr(projection, "in_shares", False)


def _build(
    connection: Connection,
    projections: Sequence[Projection],
    building: int,
    workers: Sequence[_RebuildWorker],
    head: int,
    progress: Progress | None,
) -> int:
    """Take in the whole log up to `head`; return how many events that were."""

    def take(shares: Sequence[Share], begin: float, end: float) -> int:
        def tell(position: int) -> None:
            for worker in workers:
                worker.require_alive()
            if progress is not None:
                progress(int(head * begin + position * (end - begin)), head)

        own, *other_shares = shares
        for worker, share in zip(workers, other_shares, strict=False):
            worker.begin(share)
        events = take_share(connection, projections, own, building, tell)
        return events + sum(
            worker.events() for worker, _ in zip(workers, other_shares, strict=False)
        )

    count = len(workers) + 1
    return (
        take(shares_of(CASES, count, head), 0.0, _CASES_DONE)
        + take([the_rest(head)], _CASES_DONE, _REST_DONE)
        + take(shares_of(EVALUATIONS, count, head), _REST_DONE, 1.0)
    )


def _count_events(connection: Connection, up_to: int) -> int:
    row = connection.execute(
        "SELECT count(*) FROM failproof.stored_events WHERE notification_id <= %s", (up_to,)
    ).fetchone()
    return 0 if row is None else int(row[0])


@contextlib.contextmanager
def _workers(
    connection: Connection, projections: Sequence[Projection], building: int, count: int
) -> Iterator[list[_RebuildWorker]]:
    workers: list[_RebuildWorker] = []
    try:
        for _ in range(count):
            workers.append(_RebuildWorker(connection, projections, building))
        yield workers
    finally:
        for worker in workers:
            worker.end()


class _RebuildWorker:
    """A process that takes in shares, one after the other."""

    def __init__(
        self, connection: Connection, projections: Sequence[Projection], building: int
    ) -> None:
        info = connection.info
        parameters: dict[str, Any] = {**info.get_parameters(), "password": info.password or None}
        setup = {
            "database": make_conninfo(**parameters),
            "projections": [projection.name for projection in projections],
            "building": building,
        }
        try:
            self._process = Sidecar("projections.share_worker", _line(setup), answers=True)
        except OSError as error:
            raise WorkerFailed from error

    def begin(self, share: Share) -> None:
        """Let it take in this share."""
        try:
            self._process.send(_line(share))
        except OSError as error:
            raise WorkerFailed from error

    def events(self) -> int:
        """Wait until it has; return how many events the share held."""
        line = self._process.output.readline()
        if not line:
            raise WorkerFailed
        return int(line)

    def require_alive(self) -> None:
        """Raise `WorkerFailed` where it has ended."""
        if self._process.has_ended:
            raise WorkerFailed

    def end(self) -> None:
        """It ends as soon as its input does; what it has not committed is undone."""
        self._process.stop(_END_S)
        self._process.output.close()


def _line(message: Any) -> bytes:
    return orjson.dumps(message) + b"\n"
