"""Drives a run: feeds its planned evaluations to workers until all are finished.

A run that starts and a run that resumes differ only in what the log already holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import psycopg

from failproof_es.configuration.schema import Configuration
from failproof_es.core.run import Run
from failproof_es.core.tally import Tally
from failproof_es.dialects import dialect_named
from failproof_es.dialects.scorers import scorers_of
from failproof_es.engine.drive.interpreter import DeferredTooLong, Halted, Interpreter, OnText
from failproof_es.engine.drive.judging import judging_of
from failproof_es.engine.drive.passes import Phase, phases_of
from failproof_es.engine.drive.pending import OnBegun, OnCarriedOver, PendingEvaluations
from failproof_es.engine.drive.python_tuning import tuned_python
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe, RunStream
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.drive.work_queue import WorkQueue
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.finish.final_pass import FinalScan
from failproof_es.engine.finish.finalize import finalize, seal
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.history import read_run
from failproof_es.engine.identity import code_version, current_host, current_user, package_versions
from failproof_es.engine.limits.concurrency_limiter import LimitUpdate
from failproof_es.events import RunResumed
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import Lease, RunBusy
from failproof_es.support.plurals import plural

_KEEP_LEASE_S = 2.0
_DRAIN_MARGIN_S = 5.0


class Driver:
    """One process's drive of one run, under its lease. The targets are open already."""

    def __init__(
        self,
        store: Store,
        lease: Lease,
        configuration: Configuration,
        targets: Targets,
        *,
        observe: Observe,
        on_text: OnText | None = None,
        on_carried_over: OnCarriedOver | None = None,
        on_begun: OnBegun | None = None,
        stop: asyncio.Event,
        phases: Sequence[Phase] | None = None,
    ) -> None:
        self._store = store
        self._lease = lease
        self._configuration = configuration
        self._targets = targets
        self._observe = observe
        self._on_text = on_text
        self._on_carried_over = on_carried_over
        self._on_begun = on_begun
        self._requested_stop = stop
        self._reader = RetryingReader(store)
        self._phases = phases_of(configuration) if phases is None else phases
        self._stop = asyncio.Event()
        self._trouble: BaseException | None = None
        self._turned_away: list[DeferredTooLong] = []
        """One for each evaluation that is left pending while the others go on."""

    async def drive(self, *, resumed: bool) -> Outcome:
        """Run every planned evaluation to its end, or until a stop is requested.

        Raises a `JournalError` or `LogUnavailable` when the log could not be written. What is
        recorded stays, and the run can be resumed.
        """
        run = await self._reader.read(read_run, self._lease.run_id)
        if run.sealed:
            return Outcome.of(run, interrupted=False)
        compared = self._configuration.gates.no_regression_against is not None
        checks = LiveChecks(run, scores=compared)
        journal = Journal(
            self._store.log,
            lease=(run.started.originator_id, self._lease.epoch),
            outage=self._store.outage,
            on_commit=checks.committed,
        )
        stream = RunStream(run, journal, self._observe)
        try:
            with tuned_python():
                reading = None
                if not run.ended:
                    reading = await self._carry_on(journal, stream, checks, resumed=resumed)
                if stream.run.ended:
                    await seal(stream, self._reader, reading)
        finally:
            await journal.close()
        return Outcome.of(stream.run, interrupted=self._requested_stop.is_set())

    async def _carry_on(
        self, journal: Journal, stream: RunStream, checks: LiveChecks, *, resumed: bool
    ) -> FinalScan | None:
        """Drive the run; if it ended, return the scan of its events."""
        if resumed:
            await stream.record(
                RunResumed,
                who=current_user(),
                where=current_host(),
                code_version=code_version(),
                packages=package_versions(self._configuration, stream.run.started.dialect),
            )
        changes: asyncio.Queue[LimitUpdate | None] = asyncio.Queue()
        for server, gate in self._targets.gates.items():
            gate.on_change = changes.put_nowait
            if last := stream.run.limits.get(server):
                gate.restore(last.limit_after, last.held_until)
        recording = asyncio.create_task(stream.record_limits(changes, self._give_up), name="limits")
        tally = Tally(stream.run.started.planned_evaluations)
        try:
            for phase in self._phases:
                tally = await self._evaluate_all(journal, stream.run, phase, checks)
                if self._stop.is_set():
                    break
        finally:
            changes.put_nowait(None)
            await recording
        return await finalize(
            stream, self._reader, tally.counts(), self._configuration.gates, self._why(), checks
        )

    # -- the evaluations -------------------------------------------------------------------

    async def _evaluate_all(
        self, journal: Journal, run: Run, phase: Phase, checks: LiveChecks
    ) -> Tally:
        """Run every evaluation as far as the phase goes; return the counts of all."""
        tally = Tally(run.started.planned_evaluations)
        self._turned_away.clear()  # a new phase asks them again
        unfinished = PendingEvaluations(
            run, self._reader, journal, self._observe, tally, self._on_carried_over, self._on_begun
        )
        interpreter = self._interpreter(journal, run, phase)
        queues = [
            WorkQueue(unfinished.windows(phase, models, self._stop))
            for models in self._targets.by_server
        ]
        workers = [
            asyncio.create_task(
                self._work(interpreter, queue, phase, tally, checks), name=f"worker-{n}"
            )
            for n in range(self._configuration.execution.parallel_workers)
            for queue in queues
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
            for queue in queues:
                await queue.close()
        return tally

    def _interpreter(self, journal: Journal, run: Run, phase: Phase) -> Interpreter:
        manifest = run.started
        execution = self._configuration.execution
        return Interpreter(
            dialect=dialect_named(manifest.dialect),
            targets=self._targets.models,
            judges=self._targets.judges,
            judging=judging_of(manifest),
            journal=journal,
            redactor=self._targets.redactor(),
            observe=self._observe,
            on_text=self._on_text,
            stop=self._stop,
            retry_attempts=execution.retry_attempts,
            retry_delay_ms=execution.retry_delay_ms,
            purposes=phase.purposes,
            scorers=scorers_of(manifest.configuration),
        )

    async def _work(
        self,
        interpreter: Interpreter,
        queue: WorkQueue,
        phase: Phase,
        tally: Tally,
        checks: LiveChecks,
    ) -> None:
        try:
            while not self._stop.is_set() and (job := await queue.next()) is not None:
                checks.begin(job)
                finished = False
                try:
                    evaluation = await interpreter.evaluate(job.key, job.case, job.history)
                    finished = evaluation.finished
                except DeferredTooLong as error:
                    if phase.submissions is not None:
                        raise  # who handed it in waits for it
                    self._turned_away.append(error)
                    continue
                finally:
                    checks.end(job, finished=finished)
                if evaluation.finished:
                    tally.add(evaluation)
        except Exception as error:
            self._give_up(error)

    def _why(self) -> BaseException | None:
        """Why the drive ends, if neither everything is done nor a stop was requested."""
        if self._trouble or not self._turned_away or self._requested_stop.is_set():
            return self._trouble
        left = plural(len(self._turned_away), "evaluation")
        return Halted(f"{left} left unfinished; {self._turned_away[0]}")

    def _give_up(self, error: BaseException) -> None:
        """Stop the run at the first error; requests in flight still end."""
        if self._trouble is None:
            self._trouble = error
        self._stop.set()

    async def _watch_for_stop(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """After a stop, wait for requests in flight, for as long as one request may take."""
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
