"""The decisions of a worker: the runs it takes, its next step for each, when it leaves. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from failproof_es.core.sharding.shards import ShardId, shard_count

LEASE_PARTS = 3
"""A lease is renewed after 1/`LEASE_PARTS` of its time: two renewals may fail before it ends."""

MOST_REPLACEMENTS = 5
"""Maximum number of consecutive replacements of a killed worker process."""
FIRST_REPLACEMENT_S = 1.0
"""Seconds before the first replacement; each further one waits twice as long."""
LIVED_S = 60.0
"""A worker process that lived for this many seconds begins a new count of consecutive deaths."""

OpenRunStage = Literal["running", "paused", "ended", "sealed"]
"""How far the run is by its own stream; `ended`, in whatever `RunStatus`, is not sealed yet."""
Step = Literal["drive", "finish", "close"]


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that workers may join. Its leases hint at its progress; the log decides.

    It is cut into shards of `shard_pieces` of its `pieces` (one case, one repetition).
    """

    run_id: UUID
    pieces: int
    shard_pieces: int
    stage: OpenRunStage
    finished: int
    """Shards whose last holder found nothing left."""

    @property
    def shards(self) -> int:
        """Number of shards."""
        return shard_count(self.pieces, self.shard_pieces)

    @property
    def step(self) -> Step:
        """The next step of a worker for this run.

        `drive`: work on its shards. `finish`: count the unfinished evaluations in the log, and end
        the run if there are none. `close`: close the run to workers, because it is paused or over.
        """
        if self.stage in ("paused", "sealed"):
            return "close"
        if self.stage == "ended" or self.finished >= self.shards:
            return "finish"
        return "drive"


@dataclass(frozen=True, slots=True)
class Choice:
    """The runs that a worker takes; without any condition, every run."""

    run_id: UUID | None = None
    """This run alone."""
    providers: frozenset[str] = frozenset()
    """Only runs that ask no other providers; any run if empty."""

    def takes(self, run_id: UUID, providers: Collection[str]) -> bool:
        """Whether the worker takes this run, whose models and judges are from these providers."""
        if self.run_id is not None and run_id != self.run_id:
            return False
        return not self.providers or self.providers.issuperset(providers)


def leaves(open_runs: Iterable[OpenRun], *, draining: bool, active: int) -> bool:
    """Whether a worker leaves now. `active` is the number of shards that it holds.

    Only a `draining` worker leaves. It stays while a run is open, even if every shard has a holder:
    a holder may die and its shard become free.
    """
    return draining and not active and not list(open_runs)


def died_between(
    before: Collection[tuple[ShardId, int]], now: Collection[tuple[ShardId, int]]
) -> list[ShardId]:
    """The shards whose holder died: (shard, epoch) without a session, found by two looks in a row.

    `before` and `now` are what the looks found. One look is not enough: a holder that was cut off
    begins a new session.
    """
    return sorted(shard for shard, epoch in now if (shard, epoch) in before)


def may_send(remaining_s: float) -> bool:
    """Whether a request may be sent under a lease that lasts at least for these seconds more."""
    return remaining_s > 0


def replacement_wait_s(deaths: int) -> float | None:
    """Seconds until a killed worker process is replaced. `deaths` is the number in a row, from 1.

    `None`: it is not replaced, because the next process would be killed, too.
    """
    if deaths > MOST_REPLACEMENTS:
        return None
    return float(FIRST_REPLACEMENT_S * 2 ** (deaths - 1))
