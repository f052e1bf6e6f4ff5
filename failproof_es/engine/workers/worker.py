"""A worker: takes shards from the queue, claims them, drives them, and ends runs that are done.

Several work on one run, on one host or on several. What each may write is said by leases alone, and
what is left to be done by the log: the queue only says where to look.
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import psycopg
from procrastinate.exceptions import ConnectorException

from failproof_es.core.sharding.decisions import LEASE_PARTS, Choice, OpenRun, leaves
from failproof_es.core.sharding.shards import ShardId, shard_cases
from failproof_es.engine.drive.interpreter import Halted
from failproof_es.engine.drive.python_tuning import tuned_python
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe
from failproof_es.engine.identity import code_version, package_versions, process_label
from failproof_es.engine.limits.key_share import KeyShares
from failproof_es.engine.operations import record_operations
from failproof_es.engine.preflight.record import Say
from failproof_es.engine.workers.driven_run import DrivenRun
from failproof_es.engine.workers.ending import Coordinator
from failproof_es.engine.workers.presence import Presence
from failproof_es.engine.workers.shard_queue import (
    POLL_S,
    ShardQueue,
    close_run,
    enqueue_missing,
    open_runs,
)
from failproof_es.engine.workers.shared_budget import RunBudgets
from failproof_es.events import (
    EvaluationAbandoned,
    Event,
    RunStarted,
    Scored,
    WorkerJoined,
    WorkerLeft,
)
from failproof_es.problems import InvalidInput
from failproof_es.store.errors import JournalError
from failproof_es.store.outage import LogUnavailable
from failproof_es.store.reading.reader import Connection, read_event
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import LEASE_S, ShardLease, ShardLeases
from failproof_es.store.writing.recorder import LeaseLost
from failproof_es.store.writing.shared_state import DatabaseBook, SharedState

MOST_SHARDS = 2
"""Two, so that a worker has something to ask while the last answers of a shard are awaited."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What a worker was asked to do."""

    choice: Choice = field(default_factory=Choice)
    most_shards: int = MOST_SHARDS
    """How many it holds at once."""
    drain: bool = False
    """Leave when no run is open any more; otherwise it waits for the next one."""
    lease_s: float = LEASE_S


class Worker:
    """One worker process. `work` until `stop` is set, or until it may leave."""

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
        self.refused: dict[UUID, InvalidInput] = {}
        """Runs that this host cannot drive, and why."""
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
        self._shares = KeyShares(DatabaseBook(self._state, holder))
        self._presence = Presence(store, self.worker_id, holder)
        self._coordinator = Coordinator(store, self._leases, observe)
        self._queue = ShardQueue(store.url, self._drive)
        self._open: dict[UUID, OpenRun] = {}
        """The runs to take shards of, as the last look found them."""
        self._providers: dict[UUID, frozenset[str]] = {}
        self._driven: dict[UUID, DrivenRun] = {}
        self._joining = asyncio.Lock()
        self._wake = asyncio.Event()
        self._stopping = False
        self._reconcile_at = 0.0
        """When shards without a job are looked for next, by the monotonic clock."""

    @property
    def finished(self) -> int:
        """How many evaluations ended here."""
        return self._presence.finished

    async def work(self) -> None:
        """Drive shards. One that drains raises `LogUnavailable` when the database stays away."""
        released = threading.Event()
        renewing = (asyncio.get_running_loop(), released)
        threading.Thread(
            target=self._keep_leases, args=renewing, name="leases", daemon=True
        ).start()
        try:
            with tuned_python():
                async with self._queue:
                    await self._work()
        finally:
            released.set()
            await asyncio.to_thread(self._leases.close)
            await asyncio.to_thread(self._state.close)
            await asyncio.to_thread(self._presence.leave)

    # -- the loop ----------------------------------------------------------------------------

    async def _work(self) -> None:
        taking: asyncio.Task[None] | None = None
        try:
            while not self._stop.is_set():
                try:
                    if not await self._look():
                        return
                except LogUnavailable as error:
                    if self._options.drain:
                        raise
                    self._say(f"{error}; still waiting")
                if taking is None:
                    most = self._options.most_shards
                    taking = asyncio.create_task(self._queue.take_jobs(most), name="jobs")
                await self._pause()
        finally:
            self._stopping = True
            reason = "stopped on request" if self._stop.is_set() else "nothing was left to do"
            await asyncio.gather(*(driven.stop() for driven in self._driven.values()))
            if taking is not None:
                taking.cancel()
                await asyncio.gather(taking, return_exceptions=True)
            for run_id in list(self._driven):
                await self._leave(run_id, reason)
            await self._shares.close()

    @property
    def _active(self) -> int:
        """How many shards it drives now."""
        return sum(driven.active for driven in self._driven.values())

    async def _pause(self) -> None:
        """Wait until there may be something to look at, or a stop is requested."""
        period_s = self._options.lease_s / LEASE_PARTS if self._active else POLL_S
        seconds = period_s * random.uniform(0.8, 1.0)  # noqa: S311
        waits = [asyncio.create_task(each.wait()) for each in (self._stop, self._wake)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self._wake.clear()

    async def _look(self) -> bool:
        """Look at the open runs, and do what none of their shards is; false to leave."""
        found = await self._reader.read(self._chosen)
        for run in found:
            await self._attend(run)
        self._open = {run.run_id: run for run in found if run.standing == "running"}
        self._queue.queues[:] = [str(run_id) for run_id in self._open]
        for run_id in [each for each in self._driven if each not in self._open]:
            await self._leave(run_id, "the run is not open any more")
        if self._open and time.monotonic() >= self._reconcile_at:
            self._reconcile_at = time.monotonic() + self._options.lease_s
            with suppress(ConnectorException):
                await self._queue.clear_dead()
            await self._reader.read(enqueue_missing, list(self._open))
        await asyncio.to_thread(self._presence.tell)
        return not leaves(found, draining=self._options.drain, active=self._active)

    def _chosen(self, connection: Connection) -> list[OpenRun]:
        """The open runs that this worker takes."""
        chosen = []
        for run in open_runs(connection):
            if run.run_id in self.refused:
                continue
            if run.run_id not in self._providers:
                self._providers[run.run_id] = _providers(connection, run.run_id)
            if self._options.choice.takes(run.run_id, self._providers[run.run_id]):
                chosen.append(run)
        return chosen

    async def _attend(self, run: OpenRun) -> None:
        """End a run whose shards are finished; let go of one that is paused or over."""
        if run.step == "close":
            await self._reader.read(close_run, run.run_id)
        elif run.step == "finish":
            driven = self._driven.get(run.run_id)
            checks = None if driven is None else driven.checks
            try:
                over = await self._coordinator.finish(run.run_id, checks)
            except LeaseLost:
                return  # another worker ends it
            except InvalidInput as error:
                self._refuse(run.run_id, error)
            else:
                if over:
                    self._wake.set()

    def _keep_leases(self, loop: asyncio.AbstractEventLoop, released: threading.Event) -> None:
        """Renew the leases in a thread of its own, however busy the others are."""
        while not released.wait(self._options.lease_s / LEASE_PARTS):
            with suppress(psycopg.Error, InvalidInput, RuntimeError):  # RuntimeError: loop closed
                for lease in self._leases.renew():
                    loop.call_soon_threadsafe(self._lost, lease)

    def _lost(self, lease: ShardLease) -> None:
        if (driven := self._driven.get(lease.run_id)) is not None:
            driven.lost(lease)

    # -- a shard -----------------------------------------------------------------------------

    async def _drive(self, shard: ShardId) -> None:
        """What a job stands for: claim the shard, drive it, release it. Raises nothing."""
        try:
            await self._drive_claimed(shard)
        except (psycopg.OperationalError, LogUnavailable, JournalError, LeaseLost):
            pass  # the database is away: whoever looks next finds the shard unfinished
        except Exception as error:
            await self._give_up(shard.run_id, error)

    async def _drive_claimed(self, shard: ShardId) -> None:
        run = self._open.get(shard.run_id)
        if run is None or self._stopping or shard.shard >= run.shards:
            return
        driven = await self._joined(shard.run_id)
        if driven is None:
            return
        lease = await asyncio.to_thread(self._leases.claim, shard.run_id, shard.shard)
        if lease is None:
            return  # somebody drives it
        done = False
        try:
            cases = shard_cases(run.cases, run.shard_cases, shard.shard)
            done = await driven.drive(lease, cases)
        finally:
            await asyncio.to_thread(self._leases.release, lease, finished=done)
        if driven.trouble is not None:
            await self._give_up(shard.run_id, driven.trouble)
        elif done and not driven.active:
            self._wake.set()  # perhaps it was the last one of the run

    async def _joined(self, run_id: UUID) -> DrivenRun | None:
        """The run, opened here now if it was not; `None` if it cannot be driven on this host."""
        async with self._joining:
            if run_id in self._driven or run_id in self.refused or self._stopping:
                return self._driven.get(run_id)
            try:
                driven = await DrivenRun.open(
                    self._store,
                    self._leases,
                    self._budgets,
                    self._shares,
                    run_id,
                    self._observe,
                    self._say,
                )
            except InvalidInput as error:
                self._refuse(run_id, error)
                return None
            self._driven[run_id] = driven
            started = driven.run.started
            await self._record(
                run_id,
                WorkerJoined,
                process=os.getpid(),
                code_version=code_version(),
                packages=package_versions(driven.configuration, started.dialect),
            )
            self._say(f"joined run {started.run_number} {started.name}")
            return driven

    def _refuse(self, run_id: UUID, error: InvalidInput) -> None:
        """Leave the run to other hosts: something that it needs is missing on this one."""
        self.refused[run_id] = error
        self._open.pop(run_id, None)
        said = "; ".join(str(problem) for problem in error.problems)
        self._say(f"run {run_id} cannot be driven here: {said}")

    async def _leave(self, run_id: UUID, reason: str) -> None:
        """Release the run. Nothing of it is driven here any more."""
        async with self._joining:
            driven = self._driven.pop(run_id, None)
        if driven is None:
            return
        await driven.close()
        await self._record(run_id, WorkerLeft, evaluations=driven.finished, reason=reason)

    async def _give_up(self, run_id: UUID, error: BaseException) -> None:
        """Pause a run that meets an error which every worker would meet, and say why.

        Where the log cannot be reached nothing can be said: then only this worker lets go of it.
        """
        driven = self._driven.get(run_id)
        if driven is None:
            return
        self._open.pop(run_id, None)
        if isinstance(error, JournalError | LogUnavailable):
            await self._leave(run_id, "the log could not be written")
        else:
            if not isinstance(error, Halted):
                self._say(f"error: run {run_id}: {type(error).__name__}: {error}")
            with suppress(JournalError, LogUnavailable, LeaseLost):
                await self._coordinator.pause(run_id, str(error))
        self._wake.set()

    # -- what is told ------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        if isinstance(event, Scored | EvaluationAbandoned):
            self._presence.finished += 1
            if event.run_id is not None and (driven := self._driven.get(event.run_id)):
                driven.finished += 1
        self._observe_all(event)

    async def _record(self, run_id: UUID, kind: Any, **fields: Any) -> None:
        said = {"worker": self.worker_id, **fields}
        with suppress(LogUnavailable, JournalError):
            await asyncio.to_thread(record_operations, self._store, run_id, [(kind, said)])


def _providers(connection: Connection, run_id: UUID) -> frozenset[str]:
    """The providers of a run's models and judges."""
    row = read_event(connection, run_id, 1)
    started = row.event() if row is not None else None
    if not isinstance(started, RunStarted):
        return frozenset()
    asked: Sequence[Any] = (*started.models, *started.judges)
    return frozenset(model.provider for model in asked)
