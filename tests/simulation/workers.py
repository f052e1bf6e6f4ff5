"""Histories with several workers, each of which claims shards and drives them by the engine's code.

Whoever finds all of them finished ends the run. There is no queue: a worker looks at every shard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any, cast
from unittest.mock import patch

import psycopg

from failproof_es.core.sharding.decisions import LEASE_PARTS
from failproof_es.core.sharding.shards import ShardId, shard_cases, shard_count
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.history import read_run
from failproof_es.engine.workers import ending
from failproof_es.engine.workers.driven_run import DrivenRun
from failproof_es.engine.workers.ending import Coordinator
from failproof_es.store.errors import JournalError
from failproof_es.store.outage import LogUnavailable
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import LEASE_S, RunBusy
from failproof_es.store.writing.recorder import LeaseLost
from tests.simulation.world.database import SimulatedStore
from tests.simulation.history import Drive, History
from tests.simulation.world.leases import SimulatedShardLeases
from tests.simulation.world.network import SimulatedTargets

_AWAY = (psycopg.OperationalError, LogUnavailable, JournalError, LeaseLost, RunBusy)
_SHARDS_AT_ONCE = 2


class WorkersHistory(History):
    """A run that two or three workers drive together."""

    def __init__(self, seed: int, *, ceiling: bool = False, judged: bool = False) -> None:
        super().__init__(seed, ceiling=ceiling, judged=judged)
        self.shard_cases = self.database.shard_cases = self.random.randint(1, 2)
        self.shards = shard_count(self.shape.cases, self.shard_cases)
        self.finished: set[int] = set()
        """Shards whose last holder found nothing left: a hint."""
        self.workers: dict[str, Worker] = {}

    def _begin(self) -> None:
        super()._begin()
        for _ in range(self.random.randint(1, 2)):
            self._drive()

    @contextmanager
    def _installed(self) -> Iterator[None]:
        with (
            super()._installed(),
            patch.object(ending, "code_version", lambda: "0"),
            patch.object(ending, "package_versions", lambda *_: {}),
            patch.object(ending, "close_run", lambda *_: None),
            patch.object(ending, "reopen_run", lambda *_: None),
            patch.object(ending, "enqueue", self._enqueue),
        ):
            yield

    def _enqueue(self, _: Any, shards: list[ShardId]) -> list[ShardId]:
        self.finished.difference_update(each.shard for each in shards)
        return shards

    async def _main(self, drive: Drive) -> None:
        worker = self.workers[drive.process.name] = Worker(self, drive)
        await worker.work()

    def _is_current(self, drive: Drive, body: str | None = None) -> bool:
        """Whether the worker holds the shard of what it asks."""
        worker = self.workers.get(drive.process.name)
        if worker is None or body is None:
            return False
        contents = [case.turns[0].content for case in self.plan.cases]
        [place] = [place for place, said in enumerate(contents) if said in body]
        shard = place // self.shard_cases
        lease = worker.leases._held.get((self.run_id, shard))
        row = self.database.leases.of_run.get(self.run_id, {}).get(shard)
        return lease is not None and row is not None and lease.epoch == row.epoch


class Worker:
    """One worker process."""

    def __init__(self, history: WorkersHistory, drive: Drive) -> None:
        self._history = history
        self._drive = drive
        self._random = Random(f"{history.seed}/{drive.process.name}")
        self._store = cast("Store", SimulatedStore(history.loop, history.database))
        self.leases = SimulatedShardLeases(history.database, drive.process, history.loop)
        self._coordinator = Coordinator(self._store, self.leases, history._observed)
        self._driven: DrivenRun | None = None
        self._over = False

    async def work(self) -> None:
        """Look at the shards until the run is sealed, or a stop is requested."""
        history, stop = self._history, self._drive.stop
        history.loop.outside(LEASE_S / LEASE_PARTS, self._renew)
        draining = asyncio.create_task(self._drain())
        try:
            while not history.sealed and not stop.is_set():
                with suppress(*_AWAY):
                    await self._look()
                await asyncio.sleep(0.2 + self._random.random() * 2)
        finally:
            draining.cancel()
            await self._leave()
            self._over = True
            await asyncio.to_thread(self.leases.close)

    async def _look(self) -> None:
        """Drive what can be claimed, then end the run if all of it is finished."""
        run_id, driven = self._history.run_id, await self._joined()
        if driven is None:
            return
        open_ = [n for n in range(self._history.shards) if n not in self._history.finished]
        self._random.shuffle(open_)
        await asyncio.gather(*(self._take(driven, open_) for _ in range(_SHARDS_AT_ONCE)))
        if driven.trouble is not None:
            await self._leave()
            await self._coordinator.pause(run_id, str(driven.trouble))
        elif len(self._history.finished) == self._history.shards:
            await self._coordinator.finish(run_id, driven.checks)

    async def _joined(self) -> DrivenRun | None:
        """The run as this worker drives it; `None` once it is sealed."""
        history, run_id = self._history, self._history.run_id
        run = await RetryingReader(self._store).read(read_run, run_id)
        if run.sealed:
            return None
        if run.status == "paused":
            run = await self._coordinator.resume(run_id)
        if self._driven is None:
            configuration = history.plan.configuration
            targets = SimulatedTargets(configuration, history.servers)
            self._driven = DrivenRun(
                self._store, self.leases, run, configuration, targets, history._observed
            )
        return self._driven

    async def _take(self, driven: DrivenRun, open_: list[int]) -> None:
        history = self._history
        while open_ and not self._drive.stop.is_set() and driven.trouble is None:
            shard = open_.pop()
            with suppress(*_AWAY):
                lease = await asyncio.to_thread(self.leases.claim, history.run_id, shard)
                if lease is None:
                    continue
                history._note(f"{self._drive.process.name} has shard {shard}, epoch {lease.epoch}")
                done = False
                try:
                    cases = shard_cases(history.shape.cases, history.shard_cases, shard)
                    done = await driven.drive(lease, cases)
                finally:
                    await asyncio.to_thread(self.leases.release, lease, finished=done)
                if done:
                    history.finished.add(shard)

    async def _leave(self) -> None:
        driven, self._driven = self._driven, None
        if driven is not None:
            with suppress(*_AWAY):
                await driven.close()

    async def _drain(self) -> None:
        await self._drive.stop.wait()
        if self._driven is not None:
            await self._driven.stop()

    def _renew(self) -> None:
        """What the thread of leases does."""
        process = self._drive.process
        if process.dead or self._over:
            return
        if not process.stopped:
            with suppress(psycopg.Error):
                for lease in self.leases.renew():
                    if self._driven is not None:
                        self._driven.lost(lease)
        self._history.loop.outside(LEASE_S / LEASE_PARTS, self._renew)


KINDS: Sequence[str] = ("alone", "workers", "ceiling", "judges")
"""What a history is about, by its seed in turn: one process drives a run; several workers do; the
run has a spend ceiling; its replies are judged."""


def history_of(seed: int) -> History:
    """The history of this seed."""
    kind = KINDS[seed % len(KINDS)]
    shared = kind == "workers" or (kind == "judges" and Random(f"{seed}/kind").random() < 0.5)
    made = WorkersHistory if shared else History
    return made(seed, ceiling=kind == "ceiling", judged=kind == "judges")
