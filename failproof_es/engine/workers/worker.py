"""A worker: takes shards from the queue, claims them, drives them, and ends runs that are done.

Several workers drive one run, on one host or on several. Only leases decide what each may write,
and only the log shows what is left: the queue is a hint.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg

from failproof_es.core.sharding.decisions import LEASE_PARTS, OpenRun, leaves
from failproof_es.core.sharding.shards import ShardId
from failproof_es.engine.drive.interpreter import AtCeiling, Halted
from failproof_es.engine.drive.python_tuning import freeze_objects, tuned_python
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe
from failproof_es.engine.history import UNREADABLE, read_run
from failproof_es.engine.identity import code_version, package_versions, process_label
from failproof_es.engine.limits.key_share import KeyShares
from failproof_es.engine.operations import record_operations
from failproof_es.engine.preflight.record import Say
from failproof_es.engine.workers import dead_holders
from failproof_es.engine.workers.dead_holders import DeadHolders
from failproof_es.engine.workers.driven_run import DrivenRun
from failproof_es.engine.workers.ending import Coordinator, describe_end
from failproof_es.engine.workers.endings import Endings
from failproof_es.engine.workers.limit_waits import LimitWaits
from failproof_es.engine.workers.presence import Presence
from failproof_es.engine.workers.refusals import RefusedWork, unreadable
from failproof_es.engine.workers.renewal_thread import renew_until
from failproof_es.engine.workers.shard_queue import (
    POLL_S,
    ShardQueue,
    cut_on_record,
    enqueue_missing,
    open_runs,
    providers_of,
)
from failproof_es.engine.workers.shared_budget import RunBudgets
from failproof_es.engine.workers.worker_options import WorkerOptions
from failproof_es.events import EvaluationAbandoned, Event, Scored, WorkerJoined, WorkerLeft
from failproof_es.problems import InvalidInput
from failproof_es.store.errors import JournalError
from failproof_es.store.outage import UNAVAILABLE, LogUnavailable
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLease, ShardLeases
from failproof_es.store.writing.recorder import LeaseLost
from failproof_es.store.writing.shared_state import DatabaseShares, SharedState
from failproof_es.support import clock

_SOONEST = 0.8
"""The fixed part of a pause; the rest is random, so that workers that began together take turns."""

_IN_BETWEEN = (*UNAVAILABLE, psycopg.Error)
"""Errors of an outage, or of a queue that is missing or being made anew."""


class Worker:
    """One worker process: it drives shards of open runs until `stop` is set, or until it may
    leave."""

    def __init__(
        self,
        store: Store,
        options: WorkerOptions,
        *,
        observe: Observe,
        stop: asyncio.Event,
        say: Say,
    ) -> None:
        self.worker_id = uuid4()
        self.refusals = RefusedWork(say, self._let_go, for_good=options.drain)
        """Runs that this host cannot drive, and why."""
        self.joined: set[UUID] = set()
        """Runs that it worked on."""
        self.ended: set[UUID] = set()
        """Runs that it ended, and reported as ended."""
        self._store = store
        self._options = options
        self._observe_all = observe
        self._stop = stop
        self._say = say
        self._reader = RetryingReader(store)
        holder = f"{process_label()}, worker {str(self.worker_id)[:8]}"
        self._leases = ShardLeases(store.url, holder, options.lease_s)
        self._state = SharedState(store.url)
        self._budgets = RunBudgets(store, self._leases, self._state)
        self._shares = KeyShares(DatabaseShares(self._state, holder))
        self._presence = Presence(store, self.worker_id, holder, self.refusals.why)
        self._limit_waits = LimitWaits(holder, say)
        self._coordinator = Coordinator(store, self._leases, observe, options.shared)
        self._queue = ShardQueue(store, self._drive)
        self._open: dict[UUID, OpenRun] = {}
        """The runs to take shards from, as the last look found them."""
        self._providers: dict[UUID, frozenset[str]] = {}
        self._driven: dict[UUID, DrivenRun] = {}
        self._joining = asyncio.Lock()
        self._wake = asyncio.Event()
        self._endings = Endings(self._wake.set)
        self._dead_holders = DeadHolders(self._reader)
        self._stopping = False
        self._reconcile_at = 0.0
        """Time of the next search for shards without a job, by the monotonic clock."""
        self._failing_since: float | None = None
        """Time since which no look at the open runs has succeeded; `None` if the last one did."""

    @property
    def finished(self) -> int:
        """The number of evaluations that ended here."""
        return self._presence.finished

    async def work(self) -> None:
        """Drive shards, and end runs that are done, until `stop` is set.

        A worker that drains also returns when no run is left, and raises `LogUnavailable` when the
        database stays away.
        """
        released = threading.Event()
        self._begin_renewing(asyncio.get_running_loop(), released)
        try:
            with tuned_python():
                await self._work_until_stopped()
        finally:
            released.set()
            await asyncio.to_thread(self._leases.close)
            await asyncio.to_thread(self._state.close)
            await asyncio.to_thread(self._presence.leave)

    # -- the loop ----------------------------------------------------------------------------

    async def _work_until_stopped(self) -> None:
        taking: asyncio.Task[None] | None = None
        replacing = asyncio.create_task(self._replace_dead(), name="dead holders")
        try:
            while not self._stop.is_set():
                try:
                    if not await self._look():
                        return
                    self._failing_since = None
                except _IN_BETWEEN as error:
                    self._report_outage(error)
                if taking is None:
                    most = self._options.most_shards
                    taking = asyncio.create_task(self._queue.take_jobs(most), name="jobs")
                await self._pause()
        finally:
            self._stopping = True
            self._queue.queues.clear()
            reason = "stopped on request" if self._stop.is_set() else "nothing was left to do"
            await asyncio.gather(*(driven.stop() for driven in self._driven.values()))
            tasks = [task for task in (taking, replacing) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._endings.wait()
            for run_id in list(self._driven):
                await self._leave(run_id, reason)
            await self._shares.close()

    @property
    def _active(self) -> int:
        """The number of shards that are driven now."""
        return sum(driven.active for driven in self._driven.values())

    async def _pause(self) -> None:
        """Wait until there may be something to do, or a stop is requested."""
        is_full = self._active >= self._options.most_shards
        period_s = self._options.lease_s / LEASE_PARTS if is_full else POLL_S
        seconds = period_s * random.uniform(_SOONEST, 1.0)  # noqa: S311
        waits = [asyncio.create_task(event.wait()) for event in (self._stop, self._wake)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self._wake.clear()

    def _report_outage(self, error: Exception) -> None:
        """Report the beginning of an outage, of which `error` is a sign.

        A worker that drains raises the error again if the log is given up, or if the outage has
        lasted as long as a drive would wait.
        """
        now = clock.monotonic_s()
        if self._failing_since is None:
            self._failing_since = now
            self._say(f"{' '.join(str(error).split()) or type(error).__name__}; still waiting")
        if self._options.drain and (
            isinstance(error, LogUnavailable)
            or now - self._failing_since >= self._store.outage.longest_s
        ):
            raise error

    async def _look(self) -> bool:
        """One look at the open runs: begin to end those that are finished, put lost shards back in
        the queue. Returns false if the worker may leave."""
        for run_id, ending in self._endings.over():
            with self.refusals.adding(run_id), suppress(LeaseLost):  # then another worker ends it
                if ending.result() and self._options.choice.run_id is None:
                    self._say(describe_end(await self._reader.read(read_run, run_id)))
                    self.ended.add(run_id)
        runs = await self._reader.read(self._choose_runs)
        for run in runs:
            with self.refusals.adding(run.run_id):
                await self._end_or_close(run)
        self._open = {
            run.run_id: run
            for run in runs
            if run.stage == "running" and run.run_id not in self.refusals.why
        }
        self._queue.queues[:] = map(str, self._open)
        for run_id in [run_id for run_id in self._driven if run_id not in self._open]:
            await self._leave(run_id, "the run is not open any more")
        if self._open and clock.monotonic_s() >= self._reconcile_at:
            period_s = self._options.lease_s / LEASE_PARTS
            self._reconcile_at = clock.monotonic_s() + _SOONEST * period_s
            await self._reader.read(
                enqueue_missing, list(self._open), frozenset(self._queue.held_shards)
            )
        await asyncio.to_thread(self._presence.tell)
        if overdue := self._limit_waits.overdue(self._shares.starving()):
            await self._reader.read(self._limit_waits.tell, overdue)
        return not leaves(runs, draining=self._options.drain, active=self._active)

    def _choose_runs(self, connection: Connection) -> list[OpenRun]:
        """The open runs from which this worker takes shards. Runs that it refuses are left out."""
        runs = []
        requested_id = self._options.choice.run_id
        for run in open_runs(connection):
            if requested_id not in (None, run.run_id) or self.refusals.holds(run.run_id):
                continue
            with self.refusals.adding(run.run_id):
                if run.run_id not in self._providers:
                    self._providers[run.run_id] = providers_of(connection, run)
                if self._options.choice.takes(run.run_id, self._providers[run.run_id]):
                    runs.append(run)
        return runs

    async def _end_or_close(self, run: OpenRun) -> None:
        """Begin to end a run whose shards are finished; close a run for workers that is paused or
        over."""
        if run.step == "close":
            await self._coordinator.close(run.run_id)
        elif run.step == "finish":
            driven = self._driven.get(run.run_id)
            # A thread reads the checks, so nothing may be driven here. Shared ones are in a folder.
            checks = None
            if driven is not None and not driven.active and self._options.shared is None:
                checks = driven.checks
            finish = partial(self._coordinator.finish, run.run_id, checks)
            self._endings.begin(run.run_id, finish)

    async def _replace_dead(self) -> None:
        """Put the shards of workers that died back in the queue, until cancelled."""
        while True:
            await asyncio.sleep(dead_holders.LOOK_EVERY_S)
            if self._open:
                with suppress(*_IN_BETWEEN):
                    await self._dead_holders.look(self._open)

    def _begin_renewing(self, loop: asyncio.AbstractEventLoop, released: threading.Event) -> None:
        """Renew the leases until `released` is set. A lost lease is reported in `loop`."""
        renew_until(released, self._leases, self._options.lease_s, partial(self._renew, loop))

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(psycopg.Error, InvalidInput, RuntimeError):  # RuntimeError: loop closed
            for lease in self._leases.renew():
                loop.call_soon_threadsafe(self._drop_lease, lease)

    def _drop_lease(self, lease: ShardLease) -> None:
        if (driven := self._driven.get(lease.run_id)) is not None:
            driven.lost(lease)

    # -- a shard -----------------------------------------------------------------------------

    async def _drive(self, shard: ShardId) -> None:
        """Claim the shard of a job, drive it, release it. Raises nothing."""
        try:
            await self._join_and_drive(shard)
        except (*UNAVAILABLE, LeaseLost):
            pass  # whoever looks next finds the shard unfinished
        except Exception as error:
            self.refusals.add_unexpected(shard.run_id, error)

    async def _join_and_drive(self, shard: ShardId) -> None:
        run = self._open.get(shard.run_id)
        if run is None or self._stopping or not 0 <= shard.shard < run.shards:
            return
        driven = await self._join_run(shard.run_id)
        if driven is None:
            return
        try:
            await self._drive_claimed(run, driven, shard.shard)
        except (*UNAVAILABLE, LeaseLost):
            raise
        except Exception as error:
            driven.trouble = driven.trouble or error
        if driven.trouble is not None:
            await self._give_up(driven, driven.trouble)

    async def _drive_claimed(self, run: OpenRun, driven: DrivenRun, shard: int) -> None:
        lease = await asyncio.to_thread(self._leases.claim, run.run_id, shard)
        if lease is None:
            return  # somebody drives it
        done = False
        try:
            # Opening the run may have taken long, and another process may have driven it meanwhile.
            if not self._stopping and await self._is_running(run.run_id):
                part = cut_on_record(driven.run, run.pieces, run.shard_pieces).part(shard)
                done = await driven.drive(lease, part)
        finally:
            await asyncio.to_thread(self._leases.release, lease, finished=done)
        if done and not driven.active:
            self._wake.set()  # it may be the last shard of the run

    async def _is_running(self, run_id: UUID) -> bool:
        """Whether the run is open for workers, and not paused.

        Nobody takes the run over while this process has the lease of a shard.
        """
        runs = await self._reader.read(open_runs)
        return any(run.run_id == run_id and run.stage == "running" for run in runs)

    async def _join_run(self, run_id: UUID) -> DrivenRun | None:
        """The run, with its models open on this host; they are opened if they were not.

        `None` if the run cannot be driven here, or the worker is stopping.
        """
        async with self._joining:
            if run_id in self._driven or run_id in self.refusals.why or self._stopping:
                return self._driven.get(run_id)
            # Only a worker with a recent heartbeat gets a share of limits.
            await asyncio.to_thread(self._presence.tell)
            try:
                driven = await DrivenRun.open(
                    self._store, self._leases, self._budgets, self._shares, run_id, self._observe,
                    self._say, self._options.shared, self._options.permissions,
                    announces=self._options.announces,
                )  # fmt: skip
            except InvalidInput as error:
                self.refusals.add(run_id, error)
                return None
            except UNREADABLE as error:
                self.refusals.add(run_id, unreadable(error))
                return None
            except UNAVAILABLE:
                raise
            except Exception as error:  # perhaps not the run's fault: others may drive it
                self.refusals.add_unexpected(run_id, error)
                return None
            freeze_objects(collect=bool(self.joined))
            self._driven[run_id] = driven
            self.joined.add(run_id)
            self.refusals.forget(run_id)
            started = driven.run.started
            is_taken = await self._record(
                run_id,
                WorkerJoined,
                process=os.getpid(),
                code_version=code_version(),
                packages=package_versions(driven.configuration, started.dialect),
            )
            if not is_taken:
                return None
            self._say(f"joined run {started.run_number} {started.name}")
            return driven

    def _let_go(self, run_id: UUID) -> None:
        """Take no more shards of the run before the next look."""
        self._open.pop(run_id, None)
        with suppress(ValueError):
            self._queue.queues.remove(str(run_id))

    async def _leave(self, run_id: UUID, reason: str) -> None:
        """Close the run here, and record that this worker left it for `reason`."""
        async with self._joining:
            driven = self._driven.pop(run_id, None)
        if driven is not None:
            await self._end(driven, reason)

    async def _end(self, driven: DrivenRun, reason: str) -> None:
        await driven.close()
        run_id = driven.run.started.originator_id
        await self._record(run_id, WorkerLeft, evaluations=driven.finished, reason=reason)

    async def _give_up(self, driven: DrivenRun, error: BaseException) -> None:
        """Pause a run after an error that every worker would meet, and record `error` as the
        reason. If the log cannot be reached, nothing can be recorded: then only this worker leaves
        the run."""
        run_id = driven.run.started.originator_id
        if self._driven.get(run_id) is not driven:
            return  # another shard of it reported the error
        del self._driven[run_id]  # if it is resumed, it begins without this error
        self._let_go(run_id)
        unsaid = isinstance(error, JournalError | LogUnavailable)
        try:
            if not unsaid:
                if not isinstance(error, Halted):
                    self._say(f"error: run {run_id}: {type(error).__name__}: {error}")
                at_ceiling = isinstance(error, AtCeiling)
                await self._coordinator.pause(run_id, str(error), at_ceiling=at_ceiling)
        except (*UNAVAILABLE, LeaseLost):
            pass  # the next worker that meets the error reports it
        except UNREADABLE as broken:
            self.refusals.add(run_id, unreadable(broken))
        except Exception as broken:  # the pause cannot be recorded: drive the run no more
            self.refusals.add_unexpected(run_id, broken)
        finally:
            reason = "the log could not be written" if unsaid else "the run was paused"
            await self._end(driven, reason)
            self._wake.set()

    # -- what is told ------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        if isinstance(event, Scored | EvaluationAbandoned):
            self._presence.finished += 1
            if event.run_id is not None and (driven := self._driven.get(event.run_id)):
                driven.finished += 1
        self._observe_all(event)

    async def _record(self, run_id: UUID, kind: Any, **fields: Any) -> bool:
        """Record an operation of this worker on the run, of type `kind`; ignore an outage.

        Raises nothing. Returns false if the database refuses the operation; the run is then left to
        others.
        """
        payload = {"worker": self.worker_id, **fields}
        try:
            await asyncio.to_thread(record_operations, self._store, run_id, [(kind, payload)])
        except UNAVAILABLE:
            pass
        except Exception as error:
            self.refusals.add_unexpected(run_id, error)
            return False
        return True
