"""The queue of shards: a job for each that needs a worker, in tables made by `procrastinate`.

A job names a run and a shard, and nothing else. Jobs decide nothing: the worker that takes a job
claims the shard's lease, and reads in the log what is left. The jobs of a run are in a queue named
by its id, so that a worker takes only jobs of its runs. The tables are the package's; the
statements are ours, one to put jobs and one to take a job. The package's worker waits in an outage
until its running jobs are over, and treats a second job for a shard as an error.
"""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.configuration.schema import Configuration
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.run import Run
from failproof_es.core.sharding.decisions import OpenRun, OpenRunStage
from failproof_es.core.sharding.shards import Cut, ShardId, cut_of, shard_count, shard_size
from failproof_es.core.spend import written_usd
from failproof_es.events import ENDED, RUN_STATUS, RunSealed, RunStarted, RunStatus
from failproof_es.store.outage import UNAVAILABLE
from failproof_es.store.reading.reader import Connection, read_event
from failproof_es.store.schema.queue_schema import has_queue, require_queue
from failproof_es.store.store import Store
from failproof_es.store.writing.recorder import query

TASK = "shard"
_SOON = 1
"""The priority of a job that is put in the queue again; jobs of a new plan have 0."""
POLL_S = 1.0
"""Seconds after which a worker without work looks into the queue again."""

_STAGES: Mapping[RunStatus, OpenRunStage] = {
    "running": "running",
    "paused": "paused",
    **dict.fromkeys(ENDED, "ended"),
}
_STAGE_BY_TOPIC: dict[str, OpenRunStage] = {
    topic: _STAGES[status] for topic, status in RUN_STATUS.items()
}
_STAGE_BY_TOPIC[RunSealed.__name__] = "sealed"

DriveShard = Callable[[ShardId], Awaitable[None]]
"""Drives the shard of a job. Must not raise: nobody waits for its result."""


class ShardQueue:
    """One worker's view of the queue.

    It takes jobs from `queues`, and calls `drive` with the shard of each job.
    """

    def __init__(self, store: Store, drive: DriveShard) -> None:
        self._store = store
        self._drive = drive
        self.queues: list[str] = []
        """The names of the queues to take jobs from: ids of runs. Changed while it works."""
        self.held_shards: set[ShardId] = set()
        """The shards that are driven here, and those that are about to be claimed."""

    async def take_jobs(self, most: int) -> None:
        """Take jobs and drive their shards, at most `most` at once, until cancelled.

        Then waits for the shards under way. A job leaves the queue when it is taken, and not when
        its shard ends: an outage of the server costs one look into the queue, however long the
        shards last.
        """
        driving: set[asyncio.Task[None]] = set()
        try:
            while True:
                shard = await self._next_shard() if len(driving) < most else None
                if shard is not None:
                    task = asyncio.create_task(self._drive_job(shard), name=f"shard {shard}")
                    driving.add(task)
                    task.add_done_callback(driving.discard)
                elif driving:
                    await asyncio.wait(driving, timeout=POLL_S, return_when=FIRST_COMPLETED)
                else:
                    await asyncio.sleep(POLL_S)
        finally:
            if driving:
                await asyncio.wait(driving)

    async def _drive_job(self, shard: ShardId) -> None:
        is_new = shard not in self.held_shards
        self.held_shards.add(shard)
        try:
            await self._drive(shard)
        finally:
            if is_new:
                self.held_shards.discard(shard)

    async def _next_shard(self) -> ShardId | None:
        """Take the next job and return its shard; `None` if no job waits, or if the server is
        away."""
        with contextlib.suppress(psycopg.Error, *UNAVAILABLE):
            while self.queues and (row := await asyncio.to_thread(self._take_job)) is not None:
                if (shard := _shard_of(*row)) is not None:
                    return shard
        return None

    def _take_job(self) -> tuple[object, object] | None:
        with self._store.lend() as connection:
            parameters = {"task": TASK, "queues": list(self.queues)}
            return connection.execute(query("take_job"), parameters).fetchone()


def usable_queue(store: Store) -> None:
    """Make sure that the database has the queue.

    On the embedded server a missing queue is made. Raises as `require_queue` does if it is missing
    elsewhere.
    """
    with store.lend() as connection:
        if store.embedded is not None and not has_queue(connection):
            store.install()
        require_queue(connection)


def begin_run(
    connection: Connection, run_id: UUID, pieces: int, ceiling: Decimal | None = None
) -> None:
    """Open a new run for workers, and put every shard of it in the queue.

    Runs in the caller's transaction, which records the run's plan. `pieces` is the number of
    planned cases times repetitions, `ceiling` the spend ceiling in USD; `None` if it has none.
    """
    if ceiling is not None:
        parameters = {"run_id": run_id, "epoch": None, "number": 0, "ceiling": ceiling}
        connection.execute(query("begin_budget"), parameters)
    size = shard_size(pieces)
    connection.execute("SELECT failproof.open_shards(%s, %s, %s)", (run_id, pieces, size))
    _enqueue(connection, [ShardId(run_id, k) for k in range(shard_count(pieces, size))])


def begin_for_workers(
    connection: Connection, run_id: UUID, cases: int, configuration: Configuration
) -> None:
    """Open a new run for workers, as `begin_run` does, with the number of its pieces and the
    ceiling from the configuration. An `AlsoBegin`: call it in the transaction that records the
    run."""
    execution = configuration.execution
    max_spend = execution.max_spend_usd
    ceiling = None if max_spend is None else written_usd(max_spend)
    begin_run(connection, run_id, cases * execution.repetitions, ceiling)


def reopen_run(connection: Connection, run: Run) -> None:
    """Open a run for workers again, and put its shards that have neither holder nor job in the
    queue."""
    run_id, cut = run.started.originator_id, recorded_cut(connection, run)
    connection.execute("SELECT failproof.open_shards(%s, %s, %s)", (run_id, cut.pieces, cut.size))
    enqueue_missing(connection, [run_id])


def recorded_cut(connection: Connection, run: Run) -> Cut:
    """The run's cut into shards: as recorded, or the default for a run without a record.

    Raises `ImpossibleHistory` if the record does not fit the run's plan.
    """
    row = connection.execute(
        "SELECT cases, shard_cases FROM failproof.run_shard_list WHERE run_id = %s",
        (run.started.originator_id,),
    ).fetchone()
    if row is not None:
        return cut_on_record(run, *row)
    pieces = run.started.planned_cases * repetitions_of(run.started)
    return cut_on_record(run, pieces, shard_size(pieces))


def cut_on_record(run: Run, pieces: int, size: int) -> Cut:
    """The cut of a run of this many pieces into shards of `size` pieces.

    A piece is a case, or one repetition of a case. Raises `ImpossibleHistory` if the numbers do not
    fit the run's plan.
    """
    return _cut_of(run.started, pieces, size)


def _cut_of(started: RunStarted, pieces: int, size: int) -> Cut:
    cut = cut_of(started.planned_cases, repetitions_of(started), pieces, size)
    if cut is None:
        message = f"the shards of run {started.originator_id} are not cut from its plan"
        raise ImpossibleHistory(message)
    return cut


def close_run(connection: Connection, run_id: UUID) -> None:
    """Close the run for workers, and delete its jobs: it has ended, or is paused."""
    with connection.transaction():
        connection.execute("SELECT failproof.close_shards(%s)", (run_id,))
        connection.execute(
            "DELETE FROM failproof_queue.procrastinate_jobs WHERE queue_name = %s", (str(run_id),)
        )


def is_open(connection: Connection, run_id: UUID) -> bool:
    """Whether workers may drive the run."""
    row = connection.execute(
        "SELECT is_open FROM failproof.run_shard_list WHERE run_id = %s", (run_id,)
    ).fetchone()
    return row is not None and bool(row[0])


def open_runs(connection: Connection) -> list[OpenRun]:
    """The runs that are open for workers, the oldest first, with their status and size."""
    rows = connection.execute(query("open_runs"), {"topics": list(_STAGE_BY_TOPIC)})
    return [
        OpenRun(run_id, pieces, size, _STAGE_BY_TOPIC[topic], finished)
        for run_id, pieces, size, topic, finished in rows
        if topic in _STAGE_BY_TOPIC  # else its stream does not begin like a run's
    ]


def providers_of(connection: Connection, run: OpenRun) -> frozenset[str]:
    """The names of the providers of a run's models and judges.

    Raises one of `UNREADABLE` if the run's first event cannot be read, or if its shards do not fit
    its plan.
    """
    row = read_event(connection, run.run_id, 1)
    started = row.event() if row is not None else None
    if not isinstance(started, RunStarted):
        raise ImpossibleHistory(f"run {run.run_id} has shards and no plan")
    _cut_of(started, run.pieces, run.shard_pieces)
    models: Sequence[Any] = (*started.models, *started.judges)
    return frozenset(model.provider for model in models)


def enqueue_missing(
    connection: Connection, runs: Sequence[UUID], taken_shards: Collection[ShardId] = ()
) -> list[ShardId]:
    """Put every shard of these runs that has neither holder nor job in the queue.

    Leaves out `taken_shards`, which this process is about to claim, and shards whose last holder
    found nothing left. Returns the shards put there.
    """
    parameters = {"runs": list(runs), "task": TASK}
    rows = connection.execute(query("shards_without_job"), parameters).fetchall()
    missing = [shard for row in rows if (shard := ShardId(*row)) not in taken_shards]
    return enqueue(connection, missing)


def enqueue(connection: Connection, shards: Iterable[ShardId]) -> list[ShardId]:
    """Put these shards in the queue; return those that were not there yet.

    They are taken before the shards of a new plan: else a shard that lost its worker would wait
    behind all shards that have not begun.
    """
    return _enqueue(connection, shards, _SOON)


def _enqueue(connection: Connection, shards: Iterable[ShardId], priority: int = 0) -> list[ShardId]:
    batch = list(shards)
    parameters = {
        "task": TASK,
        "priority": priority,
        "run_ids": [shard.run_id for shard in batch],
        "shards": [shard.shard for shard in batch],
    }
    rows = connection.execute(query("put_jobs"), parameters).fetchall()
    return [ShardId(run_id, shard) for run_id, shard in rows]


def _shard_of(run_id: object, shard: object) -> ShardId | None:
    """The shard that a job's arguments name; `None` if they name none.

    Any user of the queue can put jobs in it.
    """
    if not isinstance(run_id, str) or type(shard) is not int:
        return None
    with contextlib.suppress(ValueError):
        return ShardId(UUID(run_id), shard)
    return None
