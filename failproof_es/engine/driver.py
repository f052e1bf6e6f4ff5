"""Drives a run: feeds its planned evaluations to workers until all are finished.

A run that starts and a run that resumes differ only in what the log already holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_delay
from tenacity.wait import wait_exponential

from failproof_es.configuration.schema import Configuration, Gates
from failproof_es.dialects import dialect_named
from failproof_es.engine.carried_over import carry_over
from failproof_es.engine.gate import LimitChange
from failproof_es.engine.gate_evidence import GateEvidence, gate_evidence
from failproof_es.engine.identity import code_version, where, who
from failproof_es.engine.interpreter import Halted, Interpreter, OnText
from failproof_es.engine.judging import judging_of
from failproof_es.engine.outcome import Outcome
from failproof_es.engine.phases import Phase, Submissions, phases_of
from failproof_es.engine.recorded import (
    RecordedEvaluation,
    planned_windows,
    read_chunk,
    read_evaluations,
    read_run,
)
from failproof_es.engine.redaction import Redactor
from failproof_es.engine.sealing import seal_of
from failproof_es.engine.targets import Targets
from failproof_es.engine.validation import validate_run
from failproof_es.evaluation import EvaluationKey
from failproof_es.events import (
    Branch,
    CarriedOver,
    Event,
    LimitChanged,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunResumed,
    RunSealed,
    RunValidated,
)
from failproof_es.gates import Gate, judge_gates
from failproof_es.ledger.seal import Seal
from failproof_es.run import Run, evolve_run
from failproof_es.store.journal import Journal, JournalError, JournalLimits
from failproof_es.store.lease import Lease, RunBusy
from failproof_es.store.recorder import LeaseLost
from failproof_es.store.store import Store
from failproof_es.tally import Tally

Observe = Callable[[Event], None]
T = TypeVar("T")

_KEEP_LEASE_S = 2.0
_DRAIN_MARGIN_S = 5.0


class Driver:
    """One process's drive of one run, under its lease."""

    def __init__(
        self,
        store: Store,
        lease: Lease,
        configuration: Configuration,
        targets: Targets,
        *,
        observe: Observe,
        on_text: OnText | None = None,
        stop: asyncio.Event,
        limits: JournalLimits | None = None,
        phases: Sequence[Phase] | None = None,
    ) -> None:
        self._store = store
        self._lease = lease
        self._configuration = configuration
        self._targets = targets
        self._observe = observe
        self._on_text = on_text
        self._requested_stop = stop
        self._limits = limits or JournalLimits()
        self._phases = phases_of(configuration) if phases is None else phases
        self._stop = asyncio.Event()
        self._run = Run()
        self._tally = Tally(0)
        self._trouble: BaseException | None = None

    async def drive(self, *, resumed: bool) -> Outcome:
        """Carry every planned evaluation to its end, or to where a stop was asked for.

        Raises a `JournalError` when the log could not be written: whatever is on record
        stays, and the run can be resumed.
        """
        self._run = await self._read(partial(_run, self._lease.run_id))
        manifest = self._run.started
        self._tally = Tally(manifest.planned_evaluations)
        if self._run.sealed:
            return self._outcome(interrupted=False)
        journal = Journal(
            self._store.log,
            lease=(manifest.originator_id, self._lease.epoch),
            limits=self._limits,
            recover=self._store.recover,
        )
        try:
            if not self._run.ended:
                await self._carry_on(journal, resumed=resumed)
            if self._run.ended:
                if self._run.validation is None:
                    await self._validate(journal)
                await self._seal(journal)
        finally:
            await journal.close()
        return self._outcome(interrupted=self._requested_stop.is_set())

    async def _carry_on(self, journal: Journal, *, resumed: bool) -> None:
        if resumed:
            await self._record(journal, RunResumed, who=who(), where=where(),
                               code_version=code_version())  # fmt: skip
        await self._targets.open()
        changes: asyncio.Queue[LimitChange | None] = asyncio.Queue()
        for server, gate in self._targets.gates.items():
            gate.on_change = changes.put_nowait
            if last := self._run.limits.get(server):
                gate.restore(last.limit_after, last.held_until)
        recording = asyncio.create_task(self._record_limits(journal, changes), name="limits")
        try:
            with _calm_collector():
                for phase in self._phases:
                    self._tally = Tally(self._run.started.planned_evaluations)
                    await self._evaluate_all(journal, phase)
                    if self._stop.is_set():
                        break
        finally:
            changes.put_nowait(None)
            await recording
        await self._conclude(journal)

    async def _record_limits(
        self, journal: Journal, changes: asyncio.Queue[LimitChange | None]
    ) -> None:
        """Put every change of a limit on record, in order; `None` ends it."""
        while (change := await changes.get()) is not None:
            try:
                await self._record(journal, LimitChanged, **asdict(change))
            except Exception as error:
                self._give_up(error)

    # -- the run's own stream --------------------------------------------------------------

    async def _record(self, journal: Journal, kind: type[Event], **fields: Any) -> None:
        event = kind(
            originator_id=self._lease.run_id,
            originator_version=self._run.version + 1,
            run_id=self._lease.run_id,
            timestamp=datetime.now(UTC),
            **fields,
        )
        await journal.append(event)
        self._run = evolve_run(self._run, event)
        self._observe(event)

    async def _conclude(self, journal: Journal) -> None:
        """Say on record how the drive ended."""
        counts = self._tally.counts()
        if counts.finished < counts.planned:
            if isinstance(self._trouble, JournalError | LeaseLost | RunBusy):
                raise self._trouble  # there is no log to say it in, or it is not ours any more
            reason = str(self._trouble) if self._trouble else "stopped on request"
            await self._record(journal, RunPaused, reason=reason, counts=counts)
            if self._trouble is not None and not isinstance(self._trouble, Halted):
                raise self._trouble
        elif counts.scored == 0:
            reason = "not one evaluation was answered and scored"
            await self._record(journal, RunFailed, reason=reason, counts=counts)
        else:
            judged = await self._judge_gates()
            await self._record(journal, RunCompleted, counts=counts, gates=judged)

    async def _judge_gates(self) -> dict[str, Gate]:
        limits = self._configuration.gates
        evidence = await self._read(partial(_gate_evidence, limits, self._lease.run_id))
        return judge_gates(limits, self._tally, spent=evidence.spent, changes=evidence.changes)

    async def _validate(self, journal: Journal) -> None:
        """Read everything once more and say on record what is to be said of it."""
        found = await self._read(partial(validate_run, self._lease.run_id))
        await self._record(journal, RunValidated, **found)

    async def _seal(self, journal: Journal) -> None:
        """Say on record that this is all of it."""
        seal = await self._read(partial(_seal_of, self._lease.run_id))
        await self._record(
            journal, RunSealed, streams=seal.streams, events=seal.events, root=seal.root.hex()
        )

    def _outcome(self, *, interrupted: bool) -> Outcome:
        return Outcome.of(self._run, interrupted=interrupted)

    # -- the evaluations -------------------------------------------------------------------

    async def _evaluate_all(self, journal: Journal, phase: Phase) -> None:
        manifest = self._run.started
        execution = self._configuration.execution
        interpreter = Interpreter(
            dialect=dialect_named(manifest.dialect),
            targets=self._targets.models,
            judges=self._targets.judges,
            judging=judging_of(
                manifest.configuration, tuple(judge.key for judge in manifest.judges)
            ),
            journal=journal,
            redactor=Redactor(self._targets.secret_variables()),
            observe=self._observe,
            on_text=self._on_text,
            stop=self._stop,
            retry_attempts=execution.retry_attempts,
            retry_delay_ms=execution.retry_delay_ms,
            purposes=phase.purposes,
        )
        jobs = _Shared(self._unfinished(journal, phase))
        workers = [
            asyncio.create_task(self._work(interpreter, jobs), name=f"worker-{n}")
            for n in range(execution.parallel_workers)
        ]
        watchers = [
            asyncio.create_task(self._watch_for_stop(workers), name="stop"),
            asyncio.create_task(self._keep_lease(), name="lease"),
        ]
        try:
            await asyncio.gather(*workers, return_exceptions=True)
        finally:
            for task in (*watchers, *workers):
                task.cancel()
            await asyncio.gather(*watchers, *workers, return_exceptions=True)
            await jobs.close()

    async def _work(self, interpreter: Interpreter, jobs: _Shared) -> None:
        try:
            while not self._stop.is_set() and (job := await jobs.next()) is not None:
                evaluation = await interpreter.evaluate(job.key, job.case, job.history)
                if evaluation.finished:
                    self._tally.add(evaluation, job.case)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        """The first trouble stops the run; what is in flight still ends."""
        if self._trouble is None:
            self._trouble = error
        self._stop.set()

    async def _watch_for_stop(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """On a stop let what is in flight end, for as long as one request may take."""
        requested = asyncio.ensure_future(self._requested_stop.wait())
        internal = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({requested, internal}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            requested.cancel()
            internal.cancel()
        self._stop.set()
        for gate in self._targets.gates.values():
            gate.close()
        timeout_s = self._configuration.execution.timeout_per_request_ms / 1000
        await asyncio.sleep(timeout_s + _DRAIN_MARGIN_S)
        for worker in workers:
            worker.cancel()

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(_KEEP_LEASE_S)
            try:
                await asyncio.to_thread(self._lease.keep)
            except RunBusy as busy:
                self._give_up(busy)
                return
            except psycopg.OperationalError:
                continue  # the server is away; the epoch still guards every append

    # -- reading what is planned -----------------------------------------------------------

    async def _unfinished(
        self, journal: Journal, phase: Phase
    ) -> AsyncGenerator[list[RecordedEvaluation]]:
        """The phase's evaluations that are not finished; the finished ones are counted."""
        given = self._submitted(phase.submissions) if phase.submissions else self._recorded()
        async with contextlib.aclosing(given) as windows:
            async for window in windows:
                unfinished = []
                for recorded in await self._with_carried_over(journal, window):
                    state = recorded.state()
                    if state.finished:
                        self._tally.add(state, recorded.case)
                    else:
                        unfinished.append(recorded)
                yield unfinished

    async def _with_carried_over(
        self, journal: Journal, window: list[RecordedEvaluation]
    ) -> list[RecordedEvaluation]:
        """The same, after putting on record what a branched run takes over of them."""
        branch = self._run.started.branched_from
        keys = [recorded.key for recorded in window if not recorded.history]
        if branch is None or not keys:
            return window
        events = await self._read(partial(_carry_over, branch, keys))
        if not events:
            return window
        await journal.append(*events)
        for event in events:
            self._observe(event)
        return await self._read(partial(_evaluations, [recorded.key for recorded in window]))

    async def _submitted(
        self, submissions: Submissions
    ) -> AsyncGenerator[list[RecordedEvaluation]]:
        async for key in submissions.keys(self._stop):
            yield await self._read(partial(_evaluations, [key]))

    async def _recorded(self) -> AsyncGenerator[list[RecordedEvaluation]]:
        """The plan in windows, the next one read while the last one is worked on."""
        reading: asyncio.Task[list[RecordedEvaluation]] | None = None
        try:
            async for keys in self._windows():
                ahead = asyncio.create_task(self._read(partial(_evaluations, keys)))
                if reading is not None:
                    yield await reading
                reading = ahead
            if reading is not None:
                yield await reading
        finally:
            if reading is not None:
                reading.cancel()

    async def _windows(self) -> AsyncGenerator[list[EvaluationKey]]:
        for chunk in range(self._run.chunks):
            digests = await self._read(partial(_chunk, self._lease.run_id, chunk))
            for window in planned_windows(self._run, digests):
                yield window

    async def _read(self, read: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Read from the log in a thread, waiting for a server that is away."""

        def attempt() -> T:
            with self._store.connect() as connection:
                return read(connection)

        retrying = Retrying(
            retry=retry_if_exception_type(psycopg.OperationalError),
            wait=wait_exponential(multiplier=0.1, max=5),
            stop=stop_after_delay(self._limits.outage_s),
            before_sleep=lambda _: self._store.recover(),
            reraise=True,
        )
        return await asyncio.to_thread(retrying, attempt)


@contextlib.contextmanager
def _calm_collector() -> Iterator[None]:
    """Keep the cyclic collector from walking, again and again, all that was imported.

    What exists now is frozen; a full collection then only walks what the run made since,
    which is little, so it may come often enough for memory to stay flat.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(10_000, 3, 3)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


class _Shared:
    """One stream of jobs that many workers take from."""

    def __init__(self, windows: AsyncGenerator[list[RecordedEvaluation]]) -> None:
        self._windows = windows
        self._ready: deque[RecordedEvaluation] = deque()
        self._turn = asyncio.Lock()
        self._more = True

    async def next(self) -> RecordedEvaluation | None:
        """The next job, `None` when there are no more."""
        while not self._ready and self._more:
            async with self._turn:
                if not self._ready and self._more:
                    await self._refill()
        return self._ready.popleft() if self._ready else None

    async def _refill(self) -> None:
        window = await anext(self._windows, None)
        if window is None:
            self._more = False
        else:
            self._ready.extend(window)

    async def close(self) -> None:
        """Stop reading ahead."""
        await self._windows.aclose()


def _run(run_id: UUID, connection: psycopg.Connection[Any]) -> Run:
    return read_run(connection, run_id)


def _seal_of(run_id: UUID, connection: psycopg.Connection[Any]) -> Seal:
    return seal_of(connection, run_id)


def _chunk(run_id: UUID, chunk: int, connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    return read_chunk(connection, run_id, chunk)


def _evaluations(
    keys: Sequence[EvaluationKey], connection: psycopg.Connection[Any]
) -> list[RecordedEvaluation]:
    return read_evaluations(connection, keys)


def _carry_over(
    branch: Branch, keys: Sequence[EvaluationKey], connection: psycopg.Connection[Any]
) -> list[CarriedOver]:
    return carry_over(connection, branch, keys)


def _gate_evidence(
    limits: Gates, run_id: UUID, connection: psycopg.Connection[Any]
) -> GateEvidence:
    return gate_evidence(connection, limits, run_id)
