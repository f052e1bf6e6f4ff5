"""The engine broken on purpose, one guarantee at a time: the simulation must notice each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from failproof_es.core.evaluation import Evaluation, fold
from failproof_es.core.limits import GrantedShare, LocalShare, ShareClaim, TokenQueue
from failproof_es.core.sharding import leases
from failproof_es.core.sharding.leases import Leases
from failproof_es.core.spend import RunBudget, SliceBudget, SpendReport, SpendState
from failproof_es.engine.drive import interpreter
from failproof_es.engine.drive.run_stream import RunStream
from failproof_es.engine.finish.final_pass import FinalScan
from failproof_es.engine.finish.finalize import finalize
from failproof_es.engine.limits.concurrency_limiter import ConcurrencyLimiter
from failproof_es.engine.limits.key_share import KeyShare, MemoryShares
from failproof_es.engine.workers import ending, shared_budget, worker
from failproof_es.engine.workers.driven_run import DrivenRun
from failproof_es.events import Counts, Event
from failproof_es.models import http_reply
from failproof_es.store.writing.journal import Journal
from failproof_es.store.writing.recorder import EventRecorder
from failproof_es.store.writing.shared_state import DatabaseShares
from failproof_es.support import clock
from tests.simulation.history import History
from tests.simulation.workers import WorkersHistory

Mutation = Callable[[pytest.MonkeyPatch], None]
Concerned = Callable[[History], bool]


def acknowledged_before_commit(patched: pytest.MonkeyPatch) -> None:
    """An append returns as soon as it waits to be committed."""
    append = Journal.append

    async def at_once(self: Journal, *events: Event, **given: Any) -> Sequence[int]:
        asyncio.ensure_future(append(self, *events, **given))  # noqa: RUF006
        await asyncio.sleep(0)
        return ()

    patched.setattr(Journal, "append", at_once)


def attempt_lost_not_recorded(patched: pytest.MonkeyPatch) -> None:
    """A request that was in flight when its process died is asked again, and nobody says so."""

    def forgetful(events: Sequence[Event], state: Evaluation | None = None) -> Evaluation:
        if state is not None:
            return fold(events, state)
        return fold(events)._replace(in_flight=None)

    patched.setattr(interpreter, "fold", forgetful)


def rate_limit_counted_as_failure(patched: pytest.MonkeyPatch) -> None:
    """A 429 uses up one of the attempts that an evaluation has."""
    patched.setitem(_statuses(), 429, ("rate_limited", "transient"))


def epoch_not_checked(patched: pytest.MonkeyPatch) -> None:
    """The log takes events of whoever drove the run once."""
    patched.setattr(leases, "may_append", lambda held, named: True)


def lease_renewed_after_its_end(patched: pytest.MonkeyPatch) -> None:
    """A holder that comes back late gets its lease again without a new epoch."""
    renew = leases.renew

    def late(held: Leases, shard: int, epoch: int, **given: Any) -> tuple[Leases, bool]:
        row = held.get(shard)
        if row is not None and row.epoch == epoch:
            held = {**held, shard: row._replace(ends_at=inf)}
        return renew(held, shard, epoch, **given)

    patched.setattr(leases, "renew", late)


def lost_acknowledgement_not_recognised(patched: pytest.MonkeyPatch) -> None:
    """A commit of one's own that was not acknowledged is taken for another writer's."""
    patched.setattr(EventRecorder, "insert_or_find", EventRecorder.insert_events)


def request_sent_during_outage(patched: pytest.MonkeyPatch) -> None:
    """A drive goes on though the log could not be written."""
    append = Journal.append

    async def careless(self: Journal, *events: Event, **given: Any) -> Sequence[int]:
        try:
            return await append(self, *events, **given)
        except Exception:
            return ()

    patched.setattr(Journal, "append", careless)


def slots_not_returned(patched: pytest.MonkeyPatch) -> None:
    """A request that a server turned away keeps its place for ever."""
    release = ConcurrencyLimiter.release

    def forgetful(self: ConcurrencyLimiter, **given: Any) -> None:
        if self._limit.refused_since is None:
            release(self, **given)

    patched.setattr(ConcurrencyLimiter, "release", forgetful)


def ceiling_checked_after_sending(patched: pytest.MonkeyPatch) -> None:
    """A request may be sent while the answers on record leave room, whatever is in flight."""

    def late(self: RunBudget, amount: Decimal) -> bool:
        if self.spending.spent >= self.ceiling:
            return False
        self.spending = self.spending.reserving(amount)
        return True

    patched.setattr(RunBudget, "reserve", late)


def slice_not_checked(patched: pytest.MonkeyPatch) -> None:
    """A worker sends what does not fit into what its shard has reserved."""
    patched.setattr(SliceBudget, "fits", lambda self, amount: True)


def slice_given_back_in_flight(patched: pytest.MonkeyPatch) -> None:
    """A worker lets others spend what its own requests in flight may cost."""
    report = SliceBudget.report

    def generous(self: SliceBudget, *asked: Any, **given: Any) -> SpendReport:
        told = report(self, *asked, **given)
        return told._replace(keeps=told.keeps - self.own.reserved)

    patched.setattr(SliceBudget, "report", generous)


def spending_of_a_dead_worker_forgotten(patched: pytest.MonkeyPatch) -> None:
    """Who takes a shard over begins at nothing, whatever it has spent."""
    patched.setattr(shared_budget, "shard_spending", lambda connection, run, part: SpendState())


def tokens_not_given_back(patched: pytest.MonkeyPatch) -> None:
    """Tokens that were reserved for a request are not free when it ends."""
    patched.setattr(TokenQueue, "settle", lambda self, permit, used: self.send(permit))


def tokens_not_counted(patched: pytest.MonkeyPatch) -> None:
    """A worker does not tell what it used of a limit of tokens."""
    claim = LocalShare.claim

    def silent(self: LocalShare, *now: Any, **given: Any) -> ShareClaim:
        return claim(self, *now, **given)._replace(used_tokens=0)

    patched.setattr(LocalShare, "claim", silent)


def limits_counted_per_worker(patched: pytest.MonkeyPatch) -> None:
    """Each worker has the whole limits of a provider key."""
    books: WeakKeyDictionary[DatabaseShares, MemoryShares] = WeakKeyDictionary()

    def alone(self: DatabaseShares, *claimed: Any) -> GrantedShare:
        book = books.setdefault(self, MemoryShares(clock.monotonic_s))
        return book.exchange(*claimed)

    patched.setattr(DatabaseShares, "exchange", alone)


def retry_after_not_shared(patched: pytest.MonkeyPatch) -> None:
    """A worker does not heed what a server told another one."""
    pass_on = KeyShare._pass_on

    def deaf(self: KeyShare, claim: ShareClaim, answer: GrantedShare) -> None:
        pass_on(self, claim, answer._replace(held_s=0.0))

    patched.setattr(KeyShare, "_pass_on", deaf)


def shards_not_reconciled(patched: pytest.MonkeyPatch) -> None:
    """Nobody looks for shards whose job was lost."""
    patched.setattr(worker, "enqueue_missing", lambda connection, runs, taken: [])


def finished_by_the_hints(patched: pytest.MonkeyPatch) -> None:
    """A run is ended because its shards were released as finished: the log is not asked."""

    async def hopeful(stream: RunStream, reader: Any, counts: Counts, *rest: Any) -> Any:
        scored = counts.planned - counts.abandoned
        counts = counts.model_copy(update={"scored": scored, "finished": counts.planned})
        return await finalize(stream, reader, counts, *rest)

    patched.setattr(FinalScan, "all_ended", True)
    patched.setattr(ending, "finalize", hopeful)
    patched.setattr(DrivenRun, "drive", _always_done(DrivenRun.drive))


def _always_done(drive: Any) -> Any:
    async def done(*given: Any) -> bool:
        await drive(*given)
        return True

    return done


def _statuses() -> dict[int, Any]:
    statuses: Any = http_reply._STATUS
    return statuses  # type: ignore[no-any-return]


def has_workers(history: History) -> bool:
    """Whether several workers share the run."""
    return isinstance(history, WorkersHistory)


def has_ceiling(history: History) -> bool:
    """Whether the run has a spend ceiling."""
    return history.shape.ceiling > 0


def has_tokens(history: History) -> bool:
    """Whether its servers limit the tokens of a minute."""
    return history.shape.tokens_per_minute is not None


def has_limits(history: History) -> bool:
    """Whether its servers limit anything."""
    shape = history.shape
    return has_tokens(history) or shape.at_once is not None or shape.per_minute is not None


CONCERNED: Mapping[Mutation, Concerned] = {
    lease_renewed_after_its_end: has_workers,
    ceiling_checked_after_sending: has_ceiling,
    slice_not_checked: lambda history: has_ceiling(history) and has_workers(history),
    slice_given_back_in_flight: lambda history: has_ceiling(history) and has_workers(history),
    spending_of_a_dead_worker_forgotten: lambda history: (
        has_ceiling(history) and has_workers(history)
    ),
    tokens_not_given_back: has_tokens,
    tokens_not_counted: has_tokens,
    limits_counted_per_worker: has_limits,
    retry_after_not_shared: has_limits,
    shards_not_reconciled: has_workers,
    finished_by_the_hints: has_workers,
}
"""Histories that a mutation concerns, where it does not concern all: the others need not run."""

MUTATIONS: Mapping[str, Mutation] = {
    mutation.__name__: mutation
    for mutation in (
        acknowledged_before_commit,
        attempt_lost_not_recorded,
        rate_limit_counted_as_failure,
        epoch_not_checked,
        lease_renewed_after_its_end,
        lost_acknowledgement_not_recognised,
        request_sent_during_outage,
        slots_not_returned,
        ceiling_checked_after_sending,
        slice_not_checked,
        slice_given_back_in_flight,
        spending_of_a_dead_worker_forgotten,
        tokens_not_given_back,
        tokens_not_counted,
        limits_counted_per_worker,
        retry_after_not_shared,
        shards_not_reconciled,
        finished_by_the_hints,
    )
}
