"""What a worker decides: which runs it takes, what it does about each, when it leaves. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from failproof_es.core.sharding.shards import ShardId, shard_count

LEASE_PARTS = 3
"""A lease is renewed after this part of its time: two renewals may fail before it ends."""

MOST_REPLACEMENTS = 5
"""So often in a row is a killed worker process replaced."""
FIRST_REPLACEMENT_S = 1.0
"""How long the first replacement waits; each further one waits twice as long."""
LIVED_S = 60.0
"""A worker process that lived so long did not die in a row with the one before."""

OpenRunStatus = Literal["running", "paused", "ended", "sealed"]
"""How the run's own stream says it stands; `ended` has no seal yet."""
Step = Literal["drive", "finish", "close"]


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is open for workers. Its leases tell how far it is; the log is the truth."""

    run_id: UUID
    pieces: int
    shard_pieces: int
    status: OpenRunStatus
    finished: int
    """Shards whose last holder found nothing left."""

    @property
    def shards(self) -> int:
        """How many it has."""
        return shard_count(self.pieces, self.shard_pieces)

    @property
    def step(self) -> Step:
        """What a worker does about it.

        `finish`: count in the log what is left, and if nothing is, end the run. `close`: it is open
        no more, because it is paused or over.
        """
        if self.status in ("paused", "sealed"):
            return "close"
        if self.status == "ended" or self.finished >= self.shards:
            return "finish"
        return "drive"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which runs a worker takes."""

    run_id: UUID | None = None
    """This one alone."""
    providers: frozenset[str] = frozenset()
    """Only runs that ask nobody else; any run where none is named."""

    def takes(self, run_id: UUID, providers: Collection[str]) -> bool:
        """Whether a run is taken whose models and judges are from these providers."""
        if self.run_id is not None and run_id != self.run_id:
            return False
        return not self.providers or self.providers.issuperset(providers)


def leaves(open_runs: Iterable[OpenRun], *, draining: bool, active: int) -> bool:
    """Whether a worker leaves now. `active` are the shards that it drives.

    One that drains stays while a run is open, even where every shard has a holder: one of them may
    become free because its holder died.
    """
    return draining and not active and not list(open_runs)


def died_between(
    before: Collection[tuple[ShardId, int]], now: Collection[tuple[ShardId, int]]
) -> list[ShardId]:
    """The shards whose holder died: two looks found the same lease, shard and epoch, without its
    session. One look is not enough: a holder that was cut off begins a new session."""
    return sorted(shard for shard, epoch in now if (shard, epoch) in before)


def may_send(remaining_s: float) -> bool:
    """Whether a request may be sent under a lease that surely lasts for so many seconds more."""
    return remaining_s > 0


def replacement_wait_s(deaths: int) -> float | None:
    """Seconds until a worker process is replaced that was killed, now so often in a row.

    `None`: it is replaced no more. What kills it would kill the next one, too.
    """
    if deaths > MOST_REPLACEMENTS:
        return None
    return float(FIRST_REPLACEMENT_S * 2 ** (deaths - 1))
