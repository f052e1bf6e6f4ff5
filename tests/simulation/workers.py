"""Histories with several workers: the engine's own `Worker`, with its queue, presence and endings.

Now and then a process drives the run alone in between, as a plain `resume` does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import psycopg

from failproof_es.configuration.schema import Configuration
from failproof_es.core.sharding.decisions import LEASE_PARTS, Choice
from failproof_es.core.sharding.shards import ShardId, shard_count
from failproof_es.engine import lifecycle, operations
from failproof_es.engine.limits import key_share
from failproof_es.engine.limits.key_share import KeyShares
from failproof_es.engine.workers import (
    dead_holders,
    driven_run,
    ending,
    presence,
    shard_queue,
    shared_budget,
    worker,
)
from failproof_es.engine.workers.ending import Coordinator
from failproof_es.engine.workers.worker import Worker
from failproof_es.engine.workers.worker_options import WorkerOptions
from failproof_es.store.errors import JournalError
from failproof_es.store.outage import LogUnavailable
from failproof_es.store.store import Store
from failproof_es.store.writing import appending
from failproof_es.store.writing.lease import LEASE_S, RunBusy
from failproof_es.store.writing.recorder import LeaseLost
from tests.simulation.history import Drive, History
from tests.simulation.plan import prepared
from tests.simulation.world.database import SimulatedStore
from tests.simulation.world.leases import SimulatedShardLeases
from tests.simulation.world.loop import PROCESS, SimulatedLoop
from tests.simulation.world.network import SentRequest, SimulatedTargets
from tests.simulation.world.queue import OpenShards
from tests.simulation.world.quotas import Quotas
from tests.simulation.world.shared_state import SimulatedState

_AWAY = (RunBusy, LogUnavailable, JournalError, LeaseLost, psycopg.OperationalError)
_CALM_S = 5.0
"""How often workers tell each other of limits: every second would be most of what happens."""
_LIMITED = 0.15
"""How often the configuration limits what its servers get: such a history takes long."""
_LIMITED_CASES = 4, 6
"""Then so many cases are asked once, of one server: several workers often want something of it."""
_LOOK_EVERY_S = 2.0
"""How often a worker looks for others that died. Every 0.5 s, as it really does, is a fifth more
steps."""
_CUT_AS_BEFORE = 0.3
"""How often a run was cut over whole cases, as by an older version."""
_ALONE = 0.1
"""How often a process resumes the run alone."""


class SimulatedWorker(Worker):
    """A worker whose leases are renewed without a thread."""

    def _begin_renewing(self, loop: asyncio.AbstractEventLoop, released: threading.Event) -> None:
        process = PROCESS.get()
        assert process is not None and isinstance(loop, SimulatedLoop)

        def keep() -> None:
            if process.dead or released.is_set():
                return
            if not process.stopped:
                process.context.run(self._renew, loop)
            loop.outside(self._options.lease_s / LEASE_PARTS, keep)

        loop.outside(self._options.lease_s / LEASE_PARTS, keep)

    def holds(self, run_id: UUID, shard: int, epoch: int) -> bool:
        """Whether it believes that it has this epoch of the shard."""
        lease = self._leases._held.get((run_id, shard))
        return lease is not None and lease.epoch == epoch


class WorkersHistory(History):
    """A run that two or three workers drive together."""

    def __init__(self, seed: int, *, ceiling: bool = False, judged: bool = False) -> None:
        super().__init__(seed, ceiling=ceiling, judged=judged)
        limits = Random(f"{seed}/limits")
        if limits.random() < _LIMITED:
            at_once, per_minute = limits.choice((None, 1, 2)), limits.choice((None, 5, 8))
            tokens = limits.choice((None, 600, 1_000))
            if tokens is not None:
                per_minute = None  # one that waits for both takes twice as long
            self.shape = replace(
                self.shape, cases=limits.randint(*_LIMITED_CASES), repetitions=1, servers=1,
                at_once=at_once, per_minute=per_minute, tokens_per_minute=tokens,
            )  # fmt: skip
            self.plan = prepared(self.shape)
            self.servers.hold_at = limits.randint(1, 3)
        self.quotas = Quotas(self.shape, self.database.shared.holds, _CALM_S, self.violations)
        self._were_stopped: set[str] = set()
        self.shard_pieces = self.random.randint(1, 2)
        as_before = Random(f"{seed}/cut").random() < _CUT_AS_BEFORE
        self.pieces_of_case = 1 if as_before else self.shape.repetitions
        self.workers: dict[str, SimulatedWorker] = {}
        self._ids = Random(f"{seed}/ids")

    def _begin(self) -> None:
        super()._begin()
        if self.bill.ceiling:
            self.database.shared.ceilings[self.run_id] = self.bill.ceiling_usd
        pieces = self.shape.cases * self.pieces_of_case
        self.database.queue.runs[self.run_id] = OpenShards(pieces, self.shard_pieces)
        shards = shard_count(pieces, self.shard_pieces)
        self.database.queue.add([ShardId(self.run_id, k) for k in range(shards)])
        for _ in range(self.random.randint(1, 2)):
            self._drive()

    def _replaced(self) -> Iterator[tuple[object, str, object]]:
        """The rest of the world in place of what a worker finds on its host."""
        yield from super()._replaced()
        yield worker, "ShardLeases", self._leases
        yield worker, "KeyShares", lambda book: KeyShares(book, self.loop.time)
        yield key_share, "CALM_S", _CALM_S
        yield key_share, "SOON_S", _CALM_S
        yield dead_holders, "LOOK_EVERY_S", _LOOK_EVERY_S
        yield key_share, "uuid4", lambda: UUID(int=self._ids.getrandbits(128), version=4)
        for module in (worker, shared_budget):
            yield module, "SharedState", lambda *_: SimulatedState(self.database)
        yield worker, "uuid4", lambda: UUID(int=self._ids.getrandbits(128), version=4)
        yield worker, "os", SimpleNamespace(getpid=lambda: 1)
        yield worker, "process_label", lambda: "somebody"
        yield worker, "tuned_python", nullcontext
        yield worker, "freeze_objects", lambda *, collect: None
        yield driven_run, "Targets", self._targets
        yield driven_run, "require_plugins", lambda started: None
        yield shard_queue, "shard_size", lambda pieces: self.shard_pieces
        yield appending, "time", SimpleNamespace(sleep=lambda seconds: None)
        for module in (presence, operations, shared_budget):
            yield module, "current_user", lambda: "somebody"
            yield module, "current_host", lambda: "somewhere"
        for module in (worker, ending, presence):
            yield module, "code_version", lambda: "0"
        for module in (worker, ending):
            yield module, "package_versions", lambda *_: {}

    def _leases(self, url: str, holder: str, seconds: float = LEASE_S) -> SimulatedShardLeases:
        process = PROCESS.get()
        assert process is not None
        return SimulatedShardLeases(self.database, process, self.loop)

    def _targets(self, configuration: Configuration, _: object) -> SimulatedTargets:
        return SimulatedTargets(configuration, self.servers)

    async def _main(self, drive: Drive) -> None:
        if len(self.drives) > 3 and self.random.random() < _ALONE:
            self._note(f"{drive.process.name} is alone")
            await super()._main(drive)
            return
        store = cast("Store", SimulatedStore(self.loop, self.database))
        if not await self._opened(store, drive):
            return
        working = self.workers[drive.process.name] = SimulatedWorker(
            store,
            WorkerOptions(Choice(self.run_id), self.random.randint(1, 2), drain=True),
            observe=self._observed,
            stop=drive.stop,
            say=self._note,
        )
        await working.work()

    async def _opened(self, store: Store, drive: Drive) -> bool:
        """Whether workers may drive the run, if need be because it was resumed for them now."""
        leases = self._leases("", "somebody")
        try:
            while not self.sealed and not drive.stop.is_set():
                if self.database.queue.runs[self.run_id].is_open:
                    return True
                raised = self.bill.raised_usd(self.random, surely=self.faults.calm)
                with suppress(*_AWAY):
                    await Coordinator(store, leases, self._observed).resume(self.run_id, raised)
                    return True
                await asyncio.sleep(1 + self._ids.random())
        finally:
            await asyncio.to_thread(leases.close)
        return False

    def _sent(self, sent: SentRequest) -> None:
        super()._sent(sent)
        name = sent.process.name
        if name in self.workers:  # who drives alone knows its own limits only
            self.quotas.send(sent, self.loop.now_s, was_stopped=name in self._were_stopped)

    def _charged(self, number: int, input_tokens: int, output_tokens: int) -> None:
        super()._charged(number, input_tokens, output_tokens)
        self.quotas.charge(number, input_tokens, output_tokens)

    def _disturb_drive(self, kind: str, drive: Drive) -> None:
        if kind == "stopped":
            self._were_stopped.add(drive.process.name)
        super()._disturb_drive(kind, drive)

    def _take_over(self, store: SimulatedStore) -> bool:
        return lifecycle._take_from_workers(cast("Store", store), self.run_id)

    def _is_current(self, drive: Drive, body: str | None = None) -> bool:
        """Whether the process holds a shard with a piece of what it asks, or the run."""
        working = self.workers.get(drive.process.name)
        if working is None:
            return super()._is_current(drive, body)
        if body is None:
            return True
        contents = [case.turns[0].content for case in self.plan.cases]
        [place] = [place for place, said in enumerate(contents) if said in body]
        first, size = place * self.pieces_of_case, self.shard_pieces
        last = first + self.pieces_of_case - 1
        of_run = self.database.leases.of_run.get(self.run_id, {})
        return any(
            (row := of_run.get(shard)) is not None and working.holds(self.run_id, shard, row.epoch)
            for shard in range(first // size, last // size + 1)
        )
