"""The spend ceiling of a run, kept by its workers together: each shard has a slice.

The process that claims a shard counts in the log what the shard has spent. So the budget reserved
for a dead worker counts until its shard is claimed; after that its recorded spending counts.
"""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal

from failproof_es.configuration.schema import Configuration
from failproof_es.core.run import Run
from failproof_es.core.sharding.shards import PlanPart
from failproof_es.core.spend import (
    Grant,
    SliceBudget,
    SpendReport,
    SpendState,
    ceiling_of,
    total_of,
)
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import RunStream
from failproof_es.engine.identity import current_host, current_user
from failproof_es.engine.limits.recorded_spending import shard_spending
from failproof_es.engine.limits.spend_limiter import require_ceiling_above
from failproof_es.engine.limits.spend_slice import SpendSlice
from failproof_es.engine.preflight.spend_checks import require_priced
from failproof_es.engine.workers.shard_queue import recorded_cut
from failproof_es.events import SpendCeilingChanged
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLease, ShardLeases
from failproof_es.store.writing.shared_state import (
    SharedState,
    ceiling_in,
    count_spending,
    reserve_spending,
    set_ceiling,
    shards_with_budget,
)

_FOR_NOW, _RECORDED = 1, 2
"""Numbers of a ceiling's changes under one lease: to the lower of old and new, then to the new."""


@dataclass(frozen=True, slots=True)
class RunBudgets:
    """Gives the shards that one worker drives their spend limiters."""

    store: Store
    leases: ShardLeases
    state: SharedState

    async def slice_of(
        self, run: Run, lease: ShardLease, part: PlanPart, at_once: int
    ) -> SpendSlice | None:
        """The spend limiter of a shard, not open yet; `None` if the run has no ceiling.

        `part` is the shard's part of the plan, `at_once` the number of requests that it may have in
        flight. This process holds the lease: the shard's spending is counted first. Raises
        `LeaseLost` if it no longer does, and `InvalidInput` if the run has a ceiling that the
        database does not know.
        """
        ceiling = await asyncio.to_thread(ceiling_in, self.state, lease.run_id)
        if ceiling is None:
            if ceiling_of(run) is not None:
                number = run.started.run_number
                raise InvalidInput.because(
                    "spend-ceiling-not-shared",
                    f"run {number} has a spend ceiling that its workers do not share yet",
                    remedy=f"`failproof-es resume {number} --detach` lets them",
                )
            return None
        spent = await RetryingReader(self.store).read(shard_spending, run, part)
        await asyncio.to_thread(count_spending, self.state, lease, {lease.shard: spent})
        budget = SliceBudget(ceiling, spent)
        shared = _ShardBudget(self, run, lease)
        return SpendSlice(budget, run.prices or {}, run.started.run_number, shared, at_once)


@dataclass(frozen=True, slots=True)
class _ShardBudget:
    """The `SharedBudget` of one shard: a row in the database."""

    budgets: RunBudgets
    run: Run
    lease: ShardLease

    def reserve(self, report: SpendReport) -> Grant:
        return reserve_spending(self.budgets.state, self.lease, report)

    def count_dead(self) -> None:
        """Claim each shard of the run that has budget reserved and no holder, and count its
        recorded spending instead."""
        budgets, run = self.budgets, self.run
        for shard in shards_with_budget(budgets.state, self.lease.run_id):
            dead = budgets.leases.claim(self.lease.run_id, shard)
            if dead is None:
                continue  # somebody holds it
            try:
                with budgets.store.connect() as connection:
                    part = recorded_cut(connection, run).part(shard)
                    counted = {shard: shard_spending(connection, run, part)}
                count_spending(budgets.state, dead, counted)
            finally:
                budgets.leases.release(dead)


@dataclass(frozen=True, slots=True)
class CeilingAgain:
    """Sets the spend ceiling of a run that is resumed for workers, under the lease on all of it.

    At no moment may the database know a higher ceiling than the log.
    """

    store: Store
    max_spend_usd: Decimal | None
    """The ceiling from now on; `None` to leave it as it is."""

    async def count(self, run: Run, configuration: Configuration, lease: ShardLease) -> None:
        """Count the run's spending by shard, and set the lower of the old and the new ceiling.

        Call it before anything is recorded. Raises `InvalidInput` if the new ceiling is below the
        spending, or cannot be kept because a price is unknown.
        """
        before, new = ceiling_of(run), self.max_spend_usd
        if new is not None:
            require_priced(configuration, run.started, run.prices or {})
        counted = await RetryingReader(self.store).read(_spending_by_shard, run)
        if new is not None:
            require_ceiling_above(total_of(counted), new)
        lowest = min(ceiling for ceiling in (before, new) if ceiling is not None)

        def tell() -> None:
            with closing(SharedState(self.store.url, self.store.outage)) as state:
                set_ceiling(state, lease, lowest, _FOR_NOW)
                count_spending(state, lease, counted)

        await asyncio.to_thread(tell)

    async def record(self, stream: RunStream, lease: ShardLease) -> None:
        """Record the new ceiling, if it differs from the old one, then let workers spend it."""
        new = self.max_spend_usd
        if new is None or new == ceiling_of(stream.run):
            return
        await stream.record(
            SpendCeilingChanged, max_spend_usd=new, who=current_user(), where=current_host()
        )

        def tell() -> None:
            with closing(SharedState(self.store.url, self.store.outage)) as state:
                set_ceiling(state, lease, new, _RECORDED)

        await asyncio.to_thread(tell)


def _spending_by_shard(connection: Connection, run: Run) -> dict[int, SpendState]:
    """The recorded spending of each shard of the run, by the shard's number.

    Nobody may drive the run meanwhile.
    """
    cut = recorded_cut(connection, run)
    return {shard: shard_spending(connection, run, cut.part(shard)) for shard in range(cut.shards)}
