"""Drives a run: feeds its planned evaluations to workers until all are finished.

A run that starts and a run that resumes differ only in what the log already holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from failproof_es.configuration.schema import Configuration
from failproof_es.core.run import Run
from failproof_es.core.spend import RunBudget, ceiling_of
from failproof_es.core.tally import Tally
from failproof_es.engine.drive.evaluation_drive import EvaluationDrive, Hooks, drain_s
from failproof_es.engine.drive.interpreter import OnText
from failproof_es.engine.drive.passes import DrivePass, passes_of
from failproof_es.engine.drive.pending import OnCarriedOver, OnContinued
from failproof_es.engine.drive.python_tuning import tuned_python
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe, RunStream
from failproof_es.engine.drive.targets import Targets, restore_answering
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.finish.final_pass import FinalScan
from failproof_es.engine.finish.finalize import finalize, seal
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.history import read_run
from failproof_es.engine.identity import code_version, current_host, current_user, package_versions
from failproof_es.engine.limits.concurrency_limiter import LimitUpdate
from failproof_es.engine.limits.key_share import KeyShares, MemoryShares
from failproof_es.engine.limits.recorded_spending import recorded_spending
from failproof_es.engine.limits.spend_limiter import SpendLimiter, require_ceiling_above
from failproof_es.engine.replays.reuse import reuse_in
from failproof_es.events import RunResumed, SpendCeilingChanged
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import Lease

_LOOK_AT_LEASE_S = 1.0


class Driver:
    """Drives one run in this process, under the run's lease. The targets must be open."""

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
        on_continued: OnContinued | None = None,
        stop: asyncio.Event,
        passes: Sequence[DrivePass] | None = None,
        max_spend_usd: Decimal | None = None,
    ) -> None:
        """`stop` requests a stop when it is set, `passes` replace the passes of the configuration.

        `on_text`, `on_carried_over`, `on_continued` are called as their types say. `max_spend_usd`
        replaces the run's spend ceiling; `None` leaves it as it is.
        """
        self._store = store
        self._lease = lease
        self._configuration = configuration
        self._targets = targets
        self._hooks = Hooks(observe, on_text, on_carried_over, on_continued)
        self._requested_stop = stop
        self._reader = RetryingReader(store)
        self._passes = passes_of(configuration) if passes is None else passes
        self._max_spend_usd = max_spend_usd
        self._spending: SpendLimiter | None = None
        self._stop = asyncio.Event()

    async def drive(self, *, resumed: bool) -> Outcome:
        """Run every planned evaluation to its end, or until a stop is requested.

        `resumed` says that the run was driven before: then `RunResumed` is recorded. Raises a
        `JournalError` or `LogUnavailable` when the log could not be written. Recorded events stay,
        and the run can be resumed. Raises `InvalidInput`, before anything is recorded, if the run
        has spent more than its new ceiling.
        """
        run = await self._reader.read(read_run, self._lease.run_id)
        if run.sealed:
            return Outcome.of(run, interrupted=False)
        if not run.ended:
            resumed = resumed or run.status == "paused"  # another process drove it meanwhile
            self._spending = await self._spend_limiter(run)
        compared = self._configuration.gates.need_scores
        checks = LiveChecks(run, scores=compared)
        journal = Journal(
            self._store.log,
            lease=self._lease,
            outage=self._store.outage,
            on_commit=checks.committed,
        )
        stream = RunStream(run, journal, self._hooks.observe)
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

    async def _spend_limiter(self, run: Run) -> SpendLimiter | None:
        """The spend limiter for the drive, which begins with the recorded spending; `None` if the
        run has no ceiling. Raises `InvalidInput` if the run has spent more than its new ceiling.
        This process holds the lease, so no other process spends meanwhile."""
        ceiling = ceiling_of(run) if self._max_spend_usd is None else self._max_spend_usd
        if ceiling is None:
            return None
        spending = await self._reader.read(recorded_spending, run)
        if self._max_spend_usd is not None:
            require_ceiling_above(spending, ceiling)
        budget = RunBudget(ceiling, spending)
        return SpendLimiter(budget, run.prices or {}, run.started.run_number)

    async def _carry_on(
        self, journal: Journal, stream: RunStream, checks: LiveChecks, *, resumed: bool
    ) -> FinalScan | None:
        """Drive all passes, and record how the drive ended.

        Returns the scan of the finished run; `None` if the run did not end.
        """
        if resumed:
            await stream.record(
                RunResumed,
                who=current_user(),
                where=current_host(),
                code_version=code_version(),
                packages=package_versions(self._configuration, stream.run.started.dialect),
            )
        if self._max_spend_usd is not None and self._max_spend_usd != ceiling_of(stream.run):
            await stream.record(
                SpendCeilingChanged,
                max_spend_usd=self._max_spend_usd,
                who=current_user(),
                where=current_host(),
            )
        evaluations = EvaluationDrive(
            stream.run,
            self._configuration,
            self._targets,
            self._reader,
            journal,
            replace(self._hooks, check_begin=checks.begin, check_end=checks.end),
            self._stop,
            spending=self._spending,
            reuse=await reuse_in(stream.run, self._targets, self._reader),
        )
        changes: asyncio.Queue[LimitUpdate | None] = asyncio.Queue()
        self._targets.restore_limits(stream.run.limits, changes.put_nowait)
        if resumed:
            await self._reader.read(restore_answering, stream.run, self._targets)
        give_up = evaluations.give_up
        recording = asyncio.create_task(stream.record_limits(changes, give_up), name="limits")
        tally = Tally(stream.run.started.planned_evaluations)
        shares = KeyShares(MemoryShares())
        try:
            await self._targets.share_limits(shares, with_others=False)
            for drive_pass in self._passes:
                tally = await self._drive_pass(evaluations, drive_pass)
                if self._stop.is_set():
                    break
        finally:
            await shares.close()
            changes.put_nowait(None)
            await recording
        why = evaluations.why(requested=self._requested_stop.is_set())
        return await finalize(
            stream, self._reader, tally.counts(), self._configuration.gates, why, checks
        )

    async def _drive_pass(self, evaluations: EvaluationDrive, drive_pass: DrivePass) -> Tally:
        watchers = [
            asyncio.create_task(self._watch_for_stop(evaluations), name="stop"),
            asyncio.create_task(self._watch_lease(evaluations), name="lease"),
        ]
        try:
            return await evaluations.drive(drive_pass)
        finally:
            for watcher in watchers:
                watcher.cancel()
            await asyncio.gather(*watchers, return_exceptions=True)

    async def _watch_for_stop(self, evaluations: EvaluationDrive) -> None:
        """Wait for a stop, close the limiters, and cancel the requests that are still in flight
        after `drain_s`."""
        requested = asyncio.ensure_future(self._requested_stop.wait())
        internal = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({requested, internal}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            requested.cancel()
            internal.cancel()
        self._stop.set()
        self._targets.close_limiters()
        await asyncio.sleep(drain_s(self._configuration))
        evaluations.cancel()

    async def _watch_lease(self, evaluations: EvaluationDrive) -> None:
        while True:
            await asyncio.sleep(_LOOK_AT_LEASE_S)
            if self._lease.lost is not None:
                evaluations.give_up(self._lease.lost)
                return
