"""A rebuild in several processes: this process and each worker apply shares of the log.

They write tables next to the live ones, which this process swaps in afterwards, so readers notice
no failure. After a failure, the rebuild starts again in one process.
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
"""A shorter log is applied before a worker has started."""
MOST_PROCESSES = 4
_CASES_DONE, _REST_DONE = 0.15, 0.25
"""Approximate share of the work done after the cases, and after all but the evaluations."""
_END_S = 10.0


class WorkerFailed(Exception):
    """A worker did not apply its share."""


def build_in_shares(
    connection: Connection,
    projections: Sequence[Projection],
    progress: Progress | None,
    processes: int | None,
) -> int | None:
    """Fill the relations being built; return the position up to which they are filled.

    `processes` is the number to use; `None`: by the length of the log and the cores. `progress` is
    called with the position reached and the newest one. Returns 0 and does nothing if several
    processes are not worth it. Returns `None` after a failure: the relations must be created again,
    and filled in one process.
    """
    head = max_position(connection)
    if processes is None:
        processes = 1 if head < FROM_EVENTS else min(usable_cores(), MOST_PROCESSES)
    if processes < 2 or not all(_is_divisible(projection) for projection in projections):
        return 0
    with connection.transaction():
        connection.execute(sql_file("become_projector"))
        building = building_id(connection, projections)
    try:
        with _workers(connection, projections, building, processes - 1) as workers:
            events = _apply_all(connection, projections, building, workers, head, progress)
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


def _is_divisible(projection: Projection) -> bool:
    """Whether workers can build it: it is one of ours and has `in_shares`."""
    from projections import PROJECTIONS

    return projection in PROJECTIONS and getattr(projection, "in_shares", False)


def _apply_all(
    connection: Connection,
    projections: Sequence[Projection],
    building: int,
    workers: Sequence[_RebuildWorker],
    head: int,
    progress: Progress | None,
) -> int:
    """Apply the whole log up to `head`; return the number of events.

    `building` is the `building_id` of the tables. Raises `WorkerFailed` if a worker ends early, and
    `OutOfPlace` if a stream holds events of another kind.
    """

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
    """A process that applies shares, one after the other."""

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
        """Let the worker apply this share. Raises `WorkerFailed` if its process has ended."""
        try:
            self._process.send(_line(share))
        except OSError as error:
            raise WorkerFailed from error

    def events(self) -> int:
        """Wait until the worker has applied its share; return the share's number of events.

        Raises `WorkerFailed` if its process ended before.
        """
        line = self._process.output.readline()
        if not line:
            raise WorkerFailed
        return int(line)

    def require_alive(self) -> None:
        """Raise `WorkerFailed` if the process has ended."""
        if self._process.has_ended:
            raise WorkerFailed

    def end(self) -> None:
        """Close the worker's input, which ends it; an uncommitted batch is rolled back."""
        self._process.stop(_END_S)
        self._process.output.close()


def _line(message: Any) -> bytes:
    return orjson.dumps(message) + b"\n"
