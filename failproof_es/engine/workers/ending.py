"""Records on a run's own stream that the run is paused, resumed or over.

The writer holds the lease of the run itself meanwhile; others may hold those of its shards.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from failproof_es.configuration.loading import configuration_from_resolved
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.evaluation import Evaluation, EvaluationKey
from failproof_es.core.run import Run
from failproof_es.core.sharding.shards import ShardId
from failproof_es.core.spend import ceiling_of
from failproof_es.core.tally import Tally
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe, RunStream
from failproof_es.engine.finish.finalize import finalize, record_seal, scan, seal
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.finish.sealing import seal_of
from failproof_es.engine.finish.shared_checks import SharedChecks
from failproof_es.engine.history import iterate_evaluations, read_run
from failproof_es.engine.identity import (
    code_version,
    current_host,
    current_user,
    package_versions,
    process_label,
)
from failproof_es.engine.imports.refusing import require_asked_here
from failproof_es.engine.limits.spend_limiter import require_room
from failproof_es.engine.unfinished import read_unfinished_part
from failproof_es.engine.workers.shard_queue import close_run, enqueue, recorded_cut, reopen_run
from failproof_es.engine.workers.shared_budget import CeilingAgain
from failproof_es.events import Counts, RunGivenUp, RunPaused, RunResumed
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import RunBusy, ShardLease, ShardLeases

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Coordinator:
    """Records the pauses and ends of runs that workers drive, on the runs' own streams."""

    store: Store
    leases: ShardLeases
    observe: Observe
    shared: SharedChecks | None = None
    """The checks of other processes of this command."""

    async def finish(self, run_id: UUID, checks: LiveChecks | None = None) -> bool:
        """End and seal the run if all its evaluations have ended; return whether it is over now.

        False as well if the run is paused, or if another process holds its lease. Unfinished shards
        are put in the queue. `checks` are the checks of this process on the run. Call it when all
        shards seem to be done: one reading confirms that and ends the run.
        """
        async with self._stream(run_id) as stream:
            if stream is None or stream.run.status == "paused":
                return False
            reader = RetryingReader(self.store)
            reading = None
            if not stream.run.ended:
                configuration = configuration_from_resolved(stream.run.started.configuration)
                gates = configuration.gates
                checks = checks or LiveChecks(stream.run, scores=gates.need_scores)
                if self.shared is not None:
                    await asyncio.to_thread(self.shared.take_over, checks)
                reading = await scan(stream, reader, gates, checks)
                counts = reading.validation.tally.counts()
                if not reading.all_ended:
                    counts, unfinished = await reader.read(_count, stream.run)
                    if unfinished:
                        await reader.read(enqueue, unfinished)
                        return False
                reading = await finalize(stream, reader, counts, gates, None, checks, reading)
            if not stream.run.sealed:
                await seal(stream, reader, reading)
            await reader.read(close_run, run_id)
            return True

    async def pause(
        self, run_id: UUID, reason: str, *, alone: bool = False, at_ceiling: bool = False
    ) -> bool:
        """Record that the run is paused for `reason`, and close it for workers; false if that is
        impossible. It is impossible while another process holds the lease of the run itself; with
        `alone`, also while any process holds a shard of it. `at_ceiling` says that the run is at
        its spend ceiling. A run that is not running is only closed."""
        async with self._stream(run_id, alone=alone) as stream:
            if stream is None:
                return False
            reader = RetryingReader(self.store)
            if stream.run.status == "running":
                counts, _ = await reader.read(_count, stream.run)
                await stream.record(RunPaused, reason=reason, counts=counts, at_ceiling=at_ceiling)
            await reader.read(close_run, run_id)
            return True

    async def give_up(self, run_id: UUID, reason: str) -> Run:
        """End a run for good that nobody drives, finished or not, and seal it.

        Returns the run as it is then. Raises `RunBusy` if another process drives it or a shard of
        it, `InvalidInput` if it has ended.
        """
        async with self._stream(run_id, alone=True) as stream:
            if stream is None:
                holder, left_s = await self._retry_through_outage(
                    partial(self.leases.holder_of, run_id)
                )
                raise RunBusy(run_id, holder, left_s=left_s)
            reader, run = RetryingReader(self.store), stream.run
            if run.ended and (run.sealed or run.status != "given_up"):
                raise InvalidInput.because(
                    "run-ended",
                    f"run {run.started.run_number} has ended already: {run.status}",
                    remedy="only a run that is not over can be given up",
                )
            if not run.ended:
                counts, _ = await reader.read(_count, run)
                if run.status == "running":  # its process is gone, or no worker ever came
                    await stream.record(RunPaused, reason="nobody drives it", counts=counts)
                by = {"who": current_user(), "where": current_host()}
                await stream.record(RunGivenUp, reason=reason, counts=counts, **by)
            await record_seal(stream, await reader.read(seal_of, run_id))
            await reader.read(close_run, run_id)
            return stream.run

    async def close(self, run_id: UUID) -> None:
        """Close the run for workers if it is paused or over.

        Does nothing while another process holds the run's lease: that process may open the run
        again.
        """
        async with self._stream(run_id) as stream:
            if stream is not None and stream.run.at_rest:
                await RetryingReader(self.store).read(close_run, run_id)

    async def resume(self, run_id: UUID, max_spend_usd: Decimal | None = None) -> Run:
        """Open a run for workers again; return it.

        A sealed run is not changed. `max_spend_usd` replaces the spend ceiling; `None` leaves it as
        it is. A run with a ceiling is held alone until its spending is counted. Waits through an
        outage. Raises `RunBusy` if another process drives or ends the run or, with a ceiling,
        drives a shard of it; `InvalidInput` if the run stands at its ceiling, or the ceiling cannot
        be kept; `LogUnavailable` if the outage lasts.
        """
        reader = RetryingReader(self.store)
        run = await reader.read(read_run, run_id)
        require_asked_here(run)
        ceiling = None
        if not run.ended:
            require_room(run, max_spend_usd)
        if not run.ended and (max_spend_usd is not None or ceiling_of(run) is not None):
            ceiling = CeilingAgain(self.store, max_spend_usd)
        claim = partial(self.leases.claim, run_id, alone=ceiling is not None)
        lease = await self._retry_through_outage(claim)
        if lease is None:
            holder, left_s = await self._retry_through_outage(
                partial(self.leases.holder_of, run_id)
            )
            raise RunBusy(run_id, holder, left_s=left_s)
        async with self._stream_under(lease) as stream:
            if stream.run.ended and stream.run.sealed:
                return stream.run
            started = stream.run.started
            if not stream.run.ended:
                configuration = configuration_from_resolved(started.configuration)
                if ceiling is not None:
                    await ceiling.count(stream.run, configuration, lease)
                await stream.record(
                    RunResumed,
                    who=current_user(),
                    where=current_host(),
                    code_version=code_version(),
                    packages=package_versions(configuration, started.dialect),
                )
                if ceiling is not None:
                    await ceiling.record(stream, lease)
            await reader.read(reopen_run, stream.run)
            return stream.run

    @asynccontextmanager
    async def _stream(
        self, run_id: UUID, *, alone: bool = False
    ) -> AsyncIterator[RunStream | None]:
        """The run's own stream, written under the run's lease, which is released on exit.

        `None` if another process has the lease. With `alone` the lease covers all shards of the run
        as well: `None` while any of them has a holder.
        """
        lease = await self._retry_through_outage(partial(self.leases.claim, run_id, alone=alone))
        if lease is None:
            yield None
            return
        async with self._stream_under(lease) as stream:
            yield stream

    async def _retry_through_outage(self, call: Callable[[], T]) -> T:
        """Return what `call` returns, called in a thread, and again while the server is away.

        Raises `LogUnavailable` if the outage lasts.
        """
        return await asyncio.to_thread(self.store.outage.retry, call)

    @asynccontextmanager
    async def _stream_under(self, lease: ShardLease) -> AsyncIterator[RunStream]:
        """The run's own stream, written under this lease, which is released on exit."""
        reader = RetryingReader(self.store)
        journal = Journal(self.store.log, lease=lease, outage=self.store.outage)
        try:
            run = await reader.read(read_run, lease.run_id)
            reread = partial[Any](reader.read, read_run, lease.run_id)
            yield RunStream(run, journal, self.observe, reread)
        finally:
            await journal.close()
            await asyncio.to_thread(self.leases.release, lease)


@asynccontextmanager
async def coordinating(store: Store) -> AsyncIterator[Coordinator]:
    """A coordinator for a process that drives no shard itself; its leases end with the context."""
    leases = ShardLeases(store.url, process_label())
    try:
        yield Coordinator(store, leases, lambda event: None)
    finally:
        await asyncio.to_thread(leases.close)


def describe_end(run: Run) -> str:
    """The message about a run that a worker ended, with how to get its results file: workers write
    none."""
    number = run.started.run_number
    message = f"run {number} {run.started.name}: {run.status}"
    if (file := recorded_configuration(run.started).output.file) is not None and file.enabled:
        message += f"; `failproof-es resume {number}` writes its results file, and asks nothing"
    return message


def _count(connection: Connection, run: Run) -> tuple[Counts, list[ShardId]]:
    """The counts of ended evaluations, and the shards with unfinished ones.

    Both are read from the log.
    """
    run_id, cut = run.started.originator_id, recorded_cut(connection, run)
    models = [model.key for model in run.started.models]
    tally, unfinished = Tally(run.started.planned_evaluations), []
    for shard in range(cut.shards):
        remaining = read_unfinished_part(connection, run, cut.part(shard), models)
        tally.scored += remaining.scored
        tally.abandoned += remaining.abandoned
        states = _read_states(connection, run, remaining.keys)
        if sum(_add_if_finished(state, tally) for state in states) < len(remaining.keys):
            unfinished.append(ShardId(run_id, shard))
    return tally.counts(), unfinished


def _read_states(
    connection: Connection, run: Run, keys: Sequence[EvaluationKey]
) -> Iterator[Evaluation | None]:
    """The states of `keys`, evaluations whose own streams have no end, in order.

    A carried-over one may have ended in its source run. `None` for each of them if the run is no
    branch.
    """
    if run.started.branched_from is None:
        yield from (None for _ in keys)
        return
    for recorded in iterate_evaluations(connection, keys):
        yield recorded.state()


def _add_if_finished(state: Evaluation | None, tally: Tally) -> bool:
    """Add an evaluation to the tally if it is finished; return whether it is.

    `None` counts as unfinished.
    """
    if state is None or not state.finished:
        return False
    tally.add(state)
    return True
