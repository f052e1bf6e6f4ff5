"""The simulated table of jobs, and the table of the runs that are open for workers.

It says what may become of a job: one is lost on the way, one is given to two workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from failproof_es.core.sharding.shards import ShardId, shard_count
from failproof_es.store.writing.recorder import query

if TYPE_CHECKING:
    from tests.simulation.world.sql import SimulatedConnection


@dataclass(slots=True)
class OpenShards:
    """How a run is cut, and whether workers may drive it."""

    pieces: int
    shard_pieces: int
    is_open: bool = True


@dataclass(eq=False, slots=True)
class QueuedJob:
    """A job in the table: it waits."""

    shard: ShardId
    priority: int = 0


class QueueTable:
    """What the server keeps of the queue."""

    def __init__(self) -> None:
        self.runs: dict[UUID, OpenShards] = {}
        self.jobs: list[QueuedJob] = []

    def add(self, shards: Sequence[ShardId], priority: int = 0) -> list[ShardId]:
        """A job for each that has none; returns those."""
        waiting = {job.shard for job in self.jobs}
        new = [shard for shard in shards if shard not in waiting]
        self.jobs += [QueuedJob(shard, priority) for shard in new]
        return new


# -- the statements ----------------------------------------------------------------------------

Answer = list[Any]


def _open_shards(connection: SimulatedConnection, parameters: Any) -> Answer:
    run_id, pieces, size = parameters
    runs = connection.database.queue.runs

    def opened() -> None:
        runs.setdefault(run_id, OpenShards(pieces, size)).is_open = True

    connection.written(opened)
    return [(runs[run_id].shard_pieces,)]


def _close_shards(connection: SimulatedConnection, parameters: Any) -> Answer:
    runs = connection.database.queue.runs

    def closed() -> None:
        if (run := runs.get(parameters[0])) is not None:
            run.is_open = False

    connection.written(closed)
    return []


def _delete_jobs(connection: SimulatedConnection, parameters: Any) -> Answer:
    table = connection.database.queue

    def deleted() -> None:
        table.jobs = [job for job in table.jobs if str(job.shard.run_id) != parameters[0]]

    connection.written(deleted)
    return []


def _put_jobs(connection: SimulatedConnection, parameters: Any) -> Answer:
    pairs = zip(parameters["run_ids"], parameters["shards"], strict=True)
    shards = sorted(ShardId(run_id, shard) for run_id, shard in pairs)
    new: list[ShardId] = []

    def put() -> None:
        new.extend(connection.database.queue.add(shards, parameters["priority"]))

    connection.written(put)
    return [(shard.run_id, shard.shard) for shard in new]


def _take_job(connection: SimulatedConnection, parameters: Any) -> Answer:
    """The next job that waits in one of the queues. It may be lost, or wait on for another."""
    database = connection.database
    jobs = [job for job in database.queue.jobs if str(job.shard.run_id) in parameters["queues"]]
    if not jobs:
        return []
    job = max(jobs, key=lambda waiting: waiting.priority)  # of several, the first that came
    fault = database.faults.of_queue()
    if fault is not None:
        database.note(f"the job was {fault}: shard {job.shard.shard}")
    if fault != "doubled":
        connection.written(lambda: database.queue.jobs.remove(job))
    return [] if fault == "lost" else [(str(job.shard.run_id), job.shard.shard)]


def _is_open(connection: SimulatedConnection, parameters: Any) -> Answer:
    run = connection.database.queue.runs.get(parameters[0])
    return [] if run is None else [(run.is_open,)]


def _cut(connection: SimulatedConnection, parameters: Any) -> Answer:
    run = connection.database.queue.runs.get(parameters[0])
    return [] if run is None else [(run.pieces, run.shard_pieces)]


def _open_runs(connection: SimulatedConnection, parameters: Any) -> Answer:
    database, found = connection.database, []
    for run_id, run in database.queue.runs.items():
        if run.is_open:
            said = [row.entry.topic for row in database.streams.get(run_id, ())]
            last = [topic for topic in said if topic in parameters["topics"]][-1]
            finished = sum(of_run == run_id for of_run, _ in database.leases.finished)
            found.append((run_id, run.pieces, run.shard_pieces, last, finished))
    return found


def _shards_without_job(connection: SimulatedConnection, parameters: Any) -> Answer:
    database, found = connection.database, []
    table, now = database.queue, database.now_s
    waiting = {job.shard for job in table.jobs}
    for run_id in sorted(parameters["runs"]):
        run = table.runs.get(run_id)
        if run is None or not run.is_open:
            continue
        for number in range(shard_count(run.pieces, run.shard_pieces)):
            row = database.leases.of_run.get(run_id, {}).get(number)
            held = row is not None and row.ends_at > now
            finished = (run_id, number) in database.leases.finished
            if not held and not finished and ShardId(run_id, number) not in waiting:
                found.append((run_id, number))
    return found


def _dead_leases(connection: SimulatedConnection, parameters: Any) -> Answer:
    leases, now = connection.database.leases, connection.database.now_s
    return [
        (run_id, shard, row.epoch)
        for run_id in parameters["runs"]
        for shard, row in leases.of_run.get(run_id, {}).items()
        if shard >= 0 and row.ends_at > now and row.session not in (None, *leases.sessions)
    ]


def _shards_ever_held(connection: SimulatedConnection, parameters: Any) -> Answer:
    held = connection.database.leases.of_run.get(parameters[0], {})
    return [(any(shard >= 0 for shard in held),)]


def _tell_worker(connection: SimulatedConnection, parameters: Any) -> Answer:
    database = connection.database
    heartbeat = parameters["holder"], database.now_s
    database.shared.heartbeats[parameters["worker_id"]] = heartbeat
    return []


def _forget_worker(connection: SimulatedConnection, parameters: Any) -> Answer:
    connection.database.shared.heartbeats.pop(parameters["worker_id"], None)
    return []


def _nothing(connection: SimulatedConnection, parameters: Any) -> Answer:
    return []


def _list_limits(connection: SimulatedConnection, parameters: Any) -> Answer:
    return connection.database.shared.list_limits(connection.database.now_s)


ANSWERS: Mapping[str, Callable[[SimulatedConnection, Any], Answer]] = {
    "SELECT failproof.open_shards(%s, %s, %s)": _open_shards,
    "SELECT failproof.close_shards(%s)": _close_shards,
    "DELETE FROM failproof_queue.procrastinate_jobs WHERE queue_name = %s": _delete_jobs,
    query("put_jobs"): _put_jobs,
    query("take_job"): _take_job,
    "SELECT is_open FROM failproof.run_shard_list WHERE run_id = %s": _is_open,
    "SELECT cases, shard_cases FROM failproof.run_shard_list WHERE run_id = %s": _cut,
    "SELECT EXISTS (SELECT FROM failproof.lease_list WHERE run_id = %s AND shard >= 0)": (
        _shards_ever_held
    ),
    query("open_runs"): _open_runs,
    query("shards_without_job"): _shards_without_job,
    query("dead_leases"): _dead_leases,
    query("tell_worker"): _tell_worker,
    query("forget_worker"): _forget_worker,
    query("list_limits"): _list_limits,
}
