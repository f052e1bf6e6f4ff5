"""A run that one worker drives: its models are open, its shards are driven as they come."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from uuid import UUID

from failproof_es.configuration.loading import configuration_from_resolved
from failproof_es.configuration.schema import Configuration
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.run import Run
from failproof_es.core.sharding.decisions import may_send
from failproof_es.core.sharding.shards import PlanPart
from failproof_es.dialects.scorers import scorers_of
from failproof_es.engine.drive.evaluation_drive import EvaluationDrive, Hooks, drain_s
from failproof_es.engine.drive.passes import passes_of
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import Observe, RunStream
from failproof_es.engine.drive.targets import Targets, restore_answering
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.finish.shared_checks import SharedChecks
from failproof_es.engine.history import read_run
from failproof_es.engine.lifecycle import require_models
from failproof_es.engine.limits.concurrency_limiter import LimitUpdate
from failproof_es.engine.limits.key_share import KeyShares
from failproof_es.engine.preflight.destinations import announce
from failproof_es.engine.preflight.record import Say, open_models
from failproof_es.engine.replays.reuse import reuse_in
from failproof_es.engine.required_plugins import require_plugins
from failproof_es.engine.workers.leased_journal import LeasedJournal
from failproof_es.engine.workers.shared_budget import RunBudgets
from failproof_es.events import LimitChanged
from failproof_es.models.trust.permissions import Permissions
from failproof_es.store.store import Store
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.lease import ShardLease, ShardLeases
from failproof_es.store.writing.recorder import LeaseLost


class DrivenRun:
    """One run in one worker. `open` it first, `close` it at the end."""

    def __init__(
        self,
        store: Store,
        leases: ShardLeases,
        run: Run,
        configuration: Configuration,
        targets: Targets,
        observe: Observe,
        budgets: RunBudgets | None = None,
        shared: SharedChecks | None = None,
    ) -> None:
        """`targets` must be open.

        Without `budgets` the run has no spend ceiling. `shared` is where the checks of this process
        are left; `None` leaves them nowhere.
        """
        self.run = run
        self.configuration = configuration
        self.targets = targets
        self.reader = RetryingReader(store)
        self.checks = LiveChecks(run, scores=configuration.gates.need_scores)
        self.journal = Journal(store.log, outage=store.outage, on_commit=self.checks.committed)
        self.observe = observe
        self.finished = 0
        """The number of evaluations that ended here."""
        self.trouble: BaseException | None = None
        """The error after which this worker can drive the run no further."""
        self._leases = leases
        most = configuration.execution.parallel_workers
        self._turns = [asyncio.Semaphore(most) for _ in targets.by_server]
        """The shards that are driven at once take turns: a shard begins where another one ends."""
        self._budgets = budgets
        self._shared = shared
        self._driving: dict[ShardLease, EvaluationDrive] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False
        self._changes: asyncio.Queue[LimitUpdate | None] = asyncio.Queue()
        targets.restore_limits(run.limits, self._changes.put_nowait)
        self._limits = asyncio.create_task(self._record_limits(), name="limits")

    @classmethod
    async def open(
        cls,
        store: Store,
        leases: ShardLeases,
        budgets: RunBudgets,
        shares: KeyShares,
        run_id: UUID,
        observe: Observe,
        say: Say,
        shared: SharedChecks | None = None,
        permissions: Permissions = Permissions(),  # noqa: B008 - it is frozen
        *,
        announces: bool = True,
    ) -> DrivenRun:
        """Check the run's needs on this host, and start its models.

        `shares` has the limits of provider keys, which all runs of the worker share. With
        `announces`, says which secrets go where, and which classes run. Raises `InvalidInput` if
        something is missing or not permitted. A model that cannot be reached or started is recorded
        as well.
        """
        run = await RetryingReader(store).read(read_run, run_id)
        require_plugins(run.started)
        configuration = configuration_from_resolved(run.started.configuration)
        scorers_of(run.started.configuration)  # raises if a scorer is broken by now
        targets = Targets(configuration, permissions)
        if announces:
            announce(configuration, say)
        try:
            await require_models(run_id, store, targets, run.started.dialect, say)
            await open_models(store, run_id, targets)
            await targets.share_limits(shares, with_others=True)
            await RetryingReader(store).read(restore_answering, run, targets)
        except BaseException:
            await targets.close()
            raise
        return cls(store, leases, run, configuration, targets, observe, budgets, shared)

    @property
    def active(self) -> int:
        """The number of shards that are driven now."""
        return len(self._driving)

    async def drive(self, lease: ShardLease, part: PlanPart) -> bool:
        """Drive the shard, which is `part` of the plan; return whether all its evaluations have
        ended. Ends early on a stop, when the lease is lost, and at an error, which is kept as
        `trouble`. Raises `psycopg.OperationalError`, `LeaseLost`, or `InvalidInput` only before it
        begins."""
        spending = None
        if self._budgets is not None:
            at_once = self.configuration.execution.parallel_workers
            spending = await self._budgets.slice_of(self.run, lease, part, at_once)
        drive = EvaluationDrive(
            self.run,
            self.configuration,
            self.targets,
            self.reader,
            LeasedJournal(self.journal, lease),
            Hooks(self.observe, check_begin=self.checks.begin, check_end=self.checks.end),
            asyncio.Event(),
            part=part,
            may_send=lambda: may_send(self._leases.remaining_s(lease)),
            turns=self._turns,
            spending=spending,
            reuse=await reuse_in(self.run, self.targets, self.reader),
        )
        if self._stopping:
            return False
        self._driving[lease] = drive
        self._idle.clear()
        done = False
        if spending is not None:
            spending.open()
        try:
            for drive_pass in passes_of(self.configuration):
                counts = (await drive.drive(drive_pass)).counts()
                done = counts.finished == counts.planned
                if drive.stop.is_set():
                    break
        finally:
            try:
                if spending is not None:
                    await spending.close()
                await self._wait_for_limits()
            finally:
                del self._driving[lease]
                if not self._driving:
                    self._idle.set()
        why = drive.why(requested=self._stopping)
        if why is not None and not isinstance(why, LeaseLost) and not done:
            self.trouble = self.trouble or why
        if done and self._shared is not None and (checked := self.checks.hand_over()) is not None:
            await asyncio.to_thread(self._shared.leave, checked)
        return done

    def lost(self, lease: ShardLease) -> None:
        """Stop driving the shard of a lease that another process has now: nothing of it can be
        recorded here."""
        if (drive := self._driving.get(lease)) is not None:
            drive.give_up(LeaseLost(f"shard {lease.shard} of run {lease.run_id} was taken over"))
            drive.cancel()

    async def stop(self) -> None:
        """Send no more, and wait until requests in flight have ended, for at most as long as one
        may take."""
        self._stopping = True
        for drive in self._driving.values():
            drive.stop.set()
        self.targets.close_limiters()
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s(self.configuration)):
                await self._idle.wait()
        for drive in self._driving.values():
            drive.cancel()

    def stream(self, lease: ShardLease, run: Run) -> RunStream:
        """The run's own stream, written under the lease of a shard.

        `run` is the run as read last. Other workers write to the stream, too.
        """
        return RunStream(run, LeasedJournal(self.journal, lease), self.observe, self._reread)

    async def close(self) -> None:
        """Stop, then close the journal and the models."""
        await self.stop()
        self._changes.put_nowait(None)
        await self._limits
        await self.journal.close()
        await self.targets.close()

    async def _reread(self) -> Run:
        return await self.reader.read(read_run, self.run.started.originator_id)

    async def _wait_for_limits(self) -> None:
        """Wait until every change of a limit so far is recorded, or the task that records them has
        ended."""
        recorded = asyncio.create_task(self._changes.join())
        try:
            await asyncio.wait((recorded, self._limits), return_when=asyncio.FIRST_COMPLETED)
        finally:
            recorded.cancel()

    async def _record_limits(self) -> None:
        """Record each change of a limit under the lease of a shard that is driven here.

        A hold that ends while no shard is driven has no record of its own: the record of its
        beginning says when it ends. Any other change comes of a request, so of a driven shard.
        """
        run = self.run
        while (change := await self._changes.get()) is not None:
            for lease in list(self._driving):
                stream = self.stream(lease, run)
                try:
                    await stream.record(LimitChanged, **asdict(change))
                except LeaseLost:
                    continue  # somebody else drives that shard
                except ImpossibleHistory:
                    pass  # the run was paused, or has ended
                except Exception as error:
                    self.trouble = self.trouble or error
                run = stream.run
                break
            self._changes.task_done()
