"""One history: a run, driven through whatever its seed makes happen, until it is sealed."""

from __future__ import annotations

import asyncio
import random as global_random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import Context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from random import Random
from typing import Any, cast
from uuid import UUID

import orjson
import psycopg

from failproof_es.core.case import Case, prompt_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.sharding.leases import RUN_ITSELF
from failproof_es.dialects import registry
from failproof_es.engine import driver
from failproof_es.engine.driver import Driver
from failproof_es.engine.finish import live_checks, sealing
from failproof_es.engine.limits import recorded_spending
from failproof_es.engine.limits.key_share import KeyShares, MemoryShares
from failproof_es.events import Event, RunPaused
from failproof_es.problems import InvalidInput
from failproof_es.store import mapper
from failproof_es.store.outage import LogUnavailable
from failproof_es.store.reading import reader
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import RunBusy
from failproof_es.store.writing.recorder import LeaseLost
from failproof_es.support import clock
from tests.simulation.plan import Shape, planned_events, prepared
from tests.simulation.spending import Bill
from tests.simulation.world.conversation import NAME, Conversation
from tests.simulation.world.database import MAPPER, Row, SimulatedDatabase, SimulatedStore
from tests.simulation.world.faults import Faults
from tests.simulation.world.leases import SimulatedLease
from tests.simulation.world.loop import PROCESS, Process, SimulatedLoop, Stuck
from tests.simulation.world.network import ModelServers, SentRequest, SimulatedTargets

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_DRIVES = 60
_CALM_AFTER_DRIVES = 8
_CALM_AFTER_S = 7_200.0
_AWAY = (psycopg.OperationalError,)
_DISTURBANCES = ("kill", "kill", "kill", "cut off", "stopped", "request", "outage", "clock")


_decode = mapper.decode


@dataclass(eq=False)
class Drive:
    """One process that drives the run, and how it ended."""

    process: Process
    stop: asyncio.Event
    task: asyncio.Task[Any] | None = None
    lease: SimulatedLease | None = None

    @property
    def over(self) -> bool:
        """Whether nothing of it is to come."""
        return self.process.dead or (self.task is not None and self.task.done())


class History:
    """A run under faults that are drawn from a seed. `run` it once, then look at it."""

    def __init__(self, seed: int, *, ceiling: bool = False, judged: bool = False) -> None:
        self.seed = seed
        self.random = Random(f"{seed}/history")
        self.shape = Shape.draw(self.random, ceiling=ceiling, judged=judged)
        self.plan = prepared(self.shape)
        self.faults = Faults.draw(Random(f"{seed}/faults"))
        order = Random(f"{seed}/order")
        self.loop = SimulatedLoop(order, self.faults.thread_delay_s)  # type: ignore[abstract]
        self.database = SimulatedDatabase(self.loop, self.faults)
        self.servers = ModelServers(self.loop, self.faults, Random(f"{seed}/servers"))
        self.run_id = UUID(bytes=sha256(f"run {seed}".encode()).digest()[:16], version=4)
        self.run_number = 1
        self.drives: list[Drive] = []
        self.followed: list[Row] = []
        """What a reader has seen that polls for what comes after its last position."""
        self.violations: list[str] = self.database.leases.wrong
        self.trace: list[str] = []
        self.sealed = False
        self.evaluations: dict[UUID, Case] = {}
        """Every planned evaluation, and its case."""
        self.bill = Bill(self.shape.ceiling, self.violations)
        self._decoded: dict[bytes, Event] = {}
        self._clock_offset = timedelta()
        self._requested: Counter[str] = Counter()
        self._sends: Counter[str] = Counter()
        self._in_flight: dict[UUID, str] = {}
        """By evaluation the body of its request that has no outcome on record."""
        self._to_come = self.random.choice((0, 1, 2, 3, 4, 6))

    def run(self) -> None:
        """Make it happen. What must not happen is in `violations`."""
        with self._installed():
            try:
                self._begin()
                self.loop.run_until(lambda: bool(self.violations) or self._over)
                self._poll()
            except Stuck as stuck:
                self.violations.append(str(stuck))
            finally:
                self.loop.dispose([drive.process for drive in self.drives])

    def now(self) -> datetime:
        """The time of day, by the clock of the process that asks: no two are the same."""
        process = PROCESS.get()
        skew_s = 0.0 if process is None else process.skew_s
        return _BEGIN + timedelta(seconds=self.loop.now_s + skew_s) + self._clock_offset

    # -- beginning -------------------------------------------------------------------------

    @contextmanager
    def _installed(self) -> Iterator[None]:
        """The simulated clock in place of the real one, and nothing that depends on the machine."""
        state = global_random.getstate()
        before = [(module, name, getattr(module, name)) for module, name, _ in self._replaced()]
        try:
            for module, name, simulated in self._replaced():
                setattr(module, name, simulated)
            global_random.seed(self.seed)
            yield
        finally:
            global_random.setstate(state)
            for module, name, real in before:
                setattr(module, name, real)

    def _replaced(self) -> Iterator[tuple[object, str, object]]:
        """Module, name, and what stands for it in the history."""
        yield clock, "utc_now", self.now
        yield clock, "monotonic_s", self.loop.time
        time = self.loop.time
        yield driver, "KeyShares", lambda book: KeyShares(MemoryShares(time), time)
        yield driver, "tuned_python", nullcontext
        yield driver, "code_version", lambda: "0"
        yield driver, "package_versions", lambda *_: {}
        yield registry, "_made", {**registry._made, NAME: Conversation()}
        for module in (mapper, reader, live_checks, sealing, recorded_spending):
            yield module, "decode", self.decoded

    def decoded(self, topic: str, state: bytes, stream_id: UUID, version: int) -> Event:
        """As the engine decodes it, each event once: it takes a quarter of the time otherwise."""
        known = self._decoded.get(state)
        if known is None or (known.originator_id, known.originator_version) != (stream_id, version):
            known = self._decoded[state] = _decode(topic, state, stream_id, version)
        return known

    def _begin(self) -> None:
        events = planned_events(self.run_id, self.run_number, self.plan)
        self.database.append([MAPPER.to_stored_event(event) for event in events], ())
        for case in self.plan.cases:
            prompt = prompt_id(case.digest())
            for model in self.plan.models:
                for repetition in range(1, self.shape.repetitions + 1):
                    named = EvaluationKey(self.run_id, prompt, model.key, repetition)
                    self.evaluations[named.evaluation_id] = case
        self.database.on_commit = self._committed
        self.database.note = self._note
        self.servers.on_send = self._sent
        self.servers.on_charge = self._charged
        self._drive()
        self._plan_disturbance()
        self.loop.outside(self.random.random() * 5, self._poll_again)

    def _drive(self) -> None:
        """Begin another drive, whoever drives already."""
        process = Process(f"drive-{len(self.drives) + 1}", skew_s=self.random.uniform(-1, 1))
        drive = Drive(process, asyncio.Event())
        self.drives.append(drive)
        if len(self.drives) >= _CALM_AFTER_DRIVES:
            self._calm()
        if len(self.drives) > _MOST_DRIVES:
            self.violations.append(f"the run has not ended after {_MOST_DRIVES} drives")
            return
        self._note(f"{process.name} begins")
        drive.task = self.loop.spawn(process, self._main(drive))
        drive.task.add_done_callback(lambda task: self._ended(drive), context=Context())

    async def _main(self, drive: Drive) -> None:
        lease = drive.lease = SimulatedLease(self.database, self.loop, self.run_id)
        store = SimulatedStore(self.loop, self.database)
        configuration = self.plan.configuration
        with lease:
            if not await self._acquired(lease):
                return
            self._note(f"{drive.process.name} has epoch {lease.epoch}")
            shared = await asyncio.to_thread(
                store.outage.retry, partial(self._take_over, store), _AWAY
            )
            driving = Driver(
                cast("Store", store),
                lease,
                configuration,
                SimulatedTargets(configuration, self.servers),
                observe=self._observed,
                stop=drive.stop,
                max_spend_usd=self.bill.raised_usd(self.random, surely=self.faults.calm),
            )
            await driving.drive(resumed=shared or lease.epoch > 1)

    def _take_over(self, store: SimulatedStore) -> bool:
        """Whether the run was taken from workers, who have nothing to do in it any more."""
        return False

    async def _acquired(self, lease: SimulatedLease) -> bool:
        """Whether this process got the run: it tries again until it did, or the run is sealed."""
        while not self.sealed:
            with suppress(psycopg.OperationalError):
                if lease.acquire_now():
                    return True
            await asyncio.sleep(1 + self.random.random())
        return False

    def _is_current(self, drive: Drive, body: str | None = None) -> bool:
        """Whether nobody took the run from this process."""
        row = self.database.leases.of_run.get(self.run_id, {}).get(RUN_ITSELF)
        return row is not None and drive.lease is not None and row.epoch == drive.lease.epoch

    def _was_at_ceiling(self) -> bool:
        """Whether its spend ceiling has paused the run: perhaps it goes on by now."""
        rows = self.database.streams.get(self.run_id, ())
        events = (MAPPER.to_domain_event(row.entry) for row in rows)
        return any(isinstance(event, RunPaused) and event.at_ceiling for event in events)

    def _ended(self, drive: Drive) -> None:
        assert drive.task is not None
        error = None if drive.task.cancelled() else drive.task.exception()
        name = drive.process.name
        self._note(f"{name} ended: {error!r}")
        current = self._is_current(drive)
        expected: tuple[type[Exception], ...] = (LogUnavailable,)
        if not current:
            expected = (*expected, LeaseLost, RunBusy)
        if self._was_at_ceiling():  # it is resumed with a higher one only
            expected = (*expected, InvalidInput)
        if drive.task.cancelled() or (error is not None and not isinstance(error, expected)):
            self.violations.append(f"{name} ended by {error!r}")
        if not self.sealed and all(each.over for each in self.drives):
            self.loop.outside(self.random.random() * 5, self._drive)

    # -- disturbances ----------------------------------------------------------------------

    def _plan_disturbance(self) -> None:
        steps = 1 + int(self.random.random() * self.random.choice((20, 80, 250)))
        self.loop.after_steps(steps, self._disturb)

    def _disturb(self) -> None:
        if self.sealed:
            return
        if not self._to_come or self.loop.now_s > _CALM_AFTER_S:
            away_s = self.database.away_until_s - self.loop.now_s
            self.loop.outside(max(0.0, away_s), self._calm)
            return
        self._to_come -= 1
        living = [drive for drive in self.drives if not drive.over]
        kind = self.random.choice(_DISTURBANCES)
        self._note(kind)
        if kind == "outage":
            self.database.away_until_s = self.loop.now_s + self.random.choice((1, 20, 1_000))
        elif kind == "clock":
            self._clock_offset += timedelta(seconds=self.random.uniform(-100, 100))
        elif living:
            self._disturb_drive(kind, self.random.choice(living))
        self._plan_disturbance()

    def _disturb_drive(self, kind: str, drive: Drive) -> None:
        process = drive.process
        if kind == "request":
            drive.stop.set()
            return
        if kind == "kill":
            self.loop.kill(process)
            if self.random.random() < 0.7:  # else its host is gone, and the server waits for it
                self.database.leases.end_sessions(process)
        elif kind == "stopped":
            self.loop.stop_process(process, self.random.choice((0.1, 5.0, 60.0)))
        else:
            process.cut_until_s = self.loop.now_s + self.random.choice((0.1, 10.0, 60.0))
            if self.random.random() < 0.5:
                self.database.leases.end_sessions(process)
        if kind == "kill" or self.random.random() < 0.7:
            self.loop.outside(self.random.random(), self._drive)

    def _calm(self) -> None:
        """No more faults: what is left must come to its end."""
        self.faults.calm = True

    @property
    def _over(self) -> bool:
        return self.sealed and all(drive.over for drive in self.drives)

    # -- watching --------------------------------------------------------------------------

    def _committed(self, row: Row) -> None:
        entry = row.entry
        stream_id = cast("UUID", entry.originator_id)
        self._note(f"{row.position} {stream_id} {entry.originator_version} {entry.topic}")
        if self.sealed and entry.run_id is not None:
            self.violations.append(f"{entry.topic} was appended to a sealed run")
        if entry.topic == "RequestSent":
            body = self._in_flight[stream_id] = orjson.loads(entry.state)["body"]
            self._requested[body] += 1
            return
        self._in_flight.pop(stream_id, None)
        if stream_id == self.run_id:
            if entry.topic == "RunPaused":
                self._note(orjson.loads(entry.state)["reason"])
            self.bill.committed(entry)
            self.sealed = self.sealed or entry.topic == "RunSealed"

    def _sent(self, sent: SentRequest) -> None:
        """Look at a request at the moment at which a process sends it."""
        self._note(f"request {sent.number} by {sent.process.name}")
        self._sends[sent.body] += 1
        if self._sends[sent.body] > self._requested[sent.body]:
            self.violations.append(f"request {sent.number} was sent before it was recorded")
        [drive] = [each for each in self.drives if each.process is sent.process]
        if not self._is_current(drive, sent.body):
            return  # who lost the run may still waste a call
        if sent.body not in self._in_flight.values():
            self.violations.append(f"request {sent.number} asks for a reply that is on record")

    def _charged(self, number: int, input_tokens: int, output_tokens: int) -> None:
        """A server charges these tokens for a request that arrived."""
        self.bill.charge(number, input_tokens, output_tokens)

    def _observed(self, event: Event) -> None:
        """An event that a drive says is durable must be."""
        rows = self.database.streams.get(event.originator_id, ())
        versions = [row.entry.originator_version for row in rows]
        if event.originator_version not in versions:
            self.violations.append(f"{type(event).__name__} was observed before it was durable")

    def _poll(self) -> None:
        last = self.followed[-1].position if self.followed else 0
        self.followed += [row for row in self.database.rows if row.position > last]

    def _poll_again(self) -> None:
        self._poll()
        self.loop.outside(self.random.random() * 20, self._poll_again)

    def _note(self, said: str) -> None:
        self.trace.append(f"{self.loop.now_s:.6f} {said}")

    def fingerprint(self) -> str:
        """A hash over all that happened, with every byte of the log."""
        told = sha256("\n".join(self.trace).encode())
        for row in self.database.rows:
            told.update(row.entry.state)
        return told.hexdigest()
