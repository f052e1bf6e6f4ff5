"""The protocol of leases: who may write for a run or one of its shards. Pure.

The functions in `store/functions/` (`claim_lease.sql`, `renew_leases.sql`, `release_lease.sql`,
`append.sql`) do the same, each behind a lock. This is what they are held to: a test does the same
to both, and another one explores every order in which a few workers can call them.

Only the epoch decides who may write, and only a lease's end who may take it over. Times are
seconds of one clock, the database's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import NamedTuple

RUN_ITSELF = -1
"""The number that stands for the run itself where another one stands for a shard."""


class LeaseRow(NamedTuple):
    """The lease on one shard, or on the run itself."""

    epoch: int
    """Grows by one with each holder. Whoever has an older one cannot append any more."""
    ends_at: float
    """From then on anybody may claim it; `-inf` where nobody holds this epoch."""
    alone: bool = False
    """Whether the run is held with all its shards."""
    session: int | None = None
    """A hint: without this session the holder is gone."""


Leases = Mapping[int, LeaseRow]
"""The leases of one run, by shard. What nobody ever claimed is not there."""


def _never(session: int) -> bool:
    return False


def claim(
    leases: Leases,
    shard: int,
    *,
    now: float,
    seconds: float,
    session: int | None = None,
    alone: bool = False,
    after_epoch: int | None = None,
    is_gone: Callable[[int], bool] = _never,
) -> tuple[Leases, int | None]:
    """The leases after a claim, and its epoch: `None`, and nothing changed, while it is held.

    With `alone` (only of `RUN_ITSELF`) the run is taken with all its shards. With `after_epoch`
    nothing is taken unless that is the present epoch. `is_gone` says whether a session is.
    """
    for number, row in leases.items():
        concerned = number == shard or alone or (row.alone and shard >= 0)
        if concerned and _is_held(row, now, session, is_gone):
            return leases, None
    own = leases.get(shard)
    if after_epoch is not None and (own is None or own.epoch != after_epoch):
        return leases, None
    after = {
        number: LeaseRow(row.epoch + 1, -inf)
        if number != shard and row.ends_at > -inf and (alone or (row.alone and shard >= 0))
        else row
        for number, row in leases.items()
    }
    epoch = 1 if own is None else own.epoch + 1
    after[shard] = LeaseRow(epoch, now + seconds, alone, session)
    return after, epoch


def _is_held(
    row: LeaseRow, now: float, session: int | None, is_gone: Callable[[int], bool]
) -> bool:
    if row.ends_at <= now:
        return False
    return row.session is None or row.session == session or not is_gone(row.session)


def renew(
    leases: Leases,
    shard: int,
    epoch: int,
    *,
    now: float,
    seconds: float,
    session: int | None = None,
) -> tuple[Leases, bool]:
    """The leases after a renewal, and whether there was one: never of an older epoch, never of a
    lease that has ended."""
    row = leases.get(shard)
    if row is None or row.epoch != epoch or row.ends_at <= now:
        return leases, False
    return {**leases, shard: row._replace(ends_at=now + seconds, session=session)}, True


def release(leases: Leases, shard: int, epoch: int, *, now: float) -> tuple[Leases, bool]:
    """The leases after a holder let go, and whether the epoch was still its own."""
    row = leases.get(shard)
    if row is None or row.epoch != epoch:
        return leases, False
    return {**leases, shard: row._replace(ends_at=min(row.ends_at, now), session=None)}, True


def may_append(leases: Leases, shard_epochs: Iterable[tuple[int, int]]) -> bool:
    """Whether every named (shard, epoch) is the present one.

    Whether it has ended does not matter: nobody has taken it over, so what its holder still has
    to say is worth keeping.
    """
    return all(
        (row := leases.get(shard)) is not None and row.epoch == epoch
        for shard, epoch in shard_epochs
    )
