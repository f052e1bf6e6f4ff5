"""The protocol of leases: who may write for a run or one of its shards. Pure.

This is the model of the functions in `store/functions/` (`claim_lease.sql`, `renew_leases.sql`,
`release_lease.sql`, `append.sql`), each of which runs behind a lock. One test compares them,
another one explores every order in which a few workers can call them.

Only the epoch decides who may write, and only a lease's end who may take it over. Times are
seconds of the database's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import NamedTuple

RUN_ITSELF = -1
"""Shard number that means the whole run."""


class LeaseRow(NamedTuple):
    """The lease on one shard, or on the run itself."""

    epoch: int
    """Grows by one with each holder. A holder with an older epoch cannot append."""
    ends_at: float
    """The time from which anybody may claim it; `-inf` if nobody holds this epoch."""
    alone: bool = False
    """Whether the run is held with all its shards."""
    session: int | None = None
    """The holder's database session, as a hint: when it has ended, the holder is gone."""


Leases = Mapping[int, LeaseRow]
"""The leases of one run, by shard. A shard that was never claimed is missing."""


def _no_session_has_ended(session: int) -> bool:
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
    is_gone: Callable[[int], bool] = _no_session_has_ended,
) -> tuple[Leases, int | None]:
    """The leases after a claim of `shard`, and its epoch; unchanged, and `None`, if it fails.

    It fails while the lease is held, and with `after_epoch` unless that is the present epoch. The
    lease lasts for `seconds` from `now`. With `alone` (only of `RUN_ITSELF`) the run is taken with
    all its shards. `is_gone` tells whether a session has ended.
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
    """The leases after a renewal for `seconds` from `now`, and whether it succeeded.

    Neither an older epoch nor an ended lease is renewed. `session` is the database session that
    the holder has now; it replaces the stored one.
    """
    row = leases.get(shard)
    if row is None or row.epoch != epoch or row.ends_at <= now:
        return leases, False
    return {**leases, shard: row._replace(ends_at=now + seconds, session=session)}, True


def release(leases: Leases, shard: int, epoch: int, *, now: float) -> tuple[Leases, bool]:
    """The leases after a release of `shard`, and whether `epoch` was the present one.

    If it was not, nothing changes.
    """
    row = leases.get(shard)
    if row is None or row.epoch != epoch:
        return leases, False
    return {**leases, shard: row._replace(ends_at=min(row.ends_at, now), session=None)}, True


def may_append(leases: Leases, shard_epochs: Iterable[tuple[int, int]]) -> bool:
    """Whether the epoch in every (shard, epoch) is the present one.

    A lease that has ended may append as long as nobody has taken it over: the answers that its
    holder received are worth recording.
    """
    return all(
        (row := leases.get(shard)) is not None and row.epoch == epoch
        for shard, epoch in shard_epochs
    )
