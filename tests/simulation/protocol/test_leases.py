"""The protocol of leases, explored whole for a few workers and shards; and broken on purpose."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from failproof_es.core.sharding import leases as rules
from failproof_es.core.sharding.leases import LeaseRow, Leases
from tests.simulation.protocol.lease_explorer import Explorer, Rules, Unsafe

EXPLORERS = {
    "two workers, two shards, two epochs": Explorer(2, 2, 2),
    "three workers, one shard, four epochs": Explorer(3, 1, 4),
    "runs that are held alone": Explorer(3, 1, 2, runs_alone=True),
}


@pytest.mark.slow
@pytest.mark.wide
def test_no_order_of_events_of_three_workers_and_two_shards_is_unsafe() -> None:
    explored = Explorer(3, 2, 2).explore()
    assert explored.states > 40_000, explored


@pytest.mark.parametrize("name", EXPLORERS)
@pytest.mark.slow
def test_no_order_of_events_is_unsafe(name: str) -> None:
    """At most one epoch of a shard writes, and nobody asks again what is on record. From every
    state an unfinished shard can be claimed."""
    explored = EXPLORERS[name].explore()
    assert explored.states > 3_000, explored


def _without_epoch_check(leases: Leases, named: object) -> bool:
    """An append that asks for no epoch."""
    return True


def _renewed_after_its_end(
    leases: Leases, shard: int, epoch: int, **given: Any
) -> tuple[Leases, bool]:
    """A renewal that brings back a lease that has ended."""
    row = leases.get(shard)
    if row is not None and row.epoch == epoch:
        leases = {**leases, shard: row._replace(ends_at=inf)}
    return rules.renew(leases, shard, epoch, **given)


def _released_by_anybody(
    leases: Leases, shard: int, epoch: int, *, now: float
) -> tuple[Leases, bool]:
    """A release that does not ask whose lease it is."""
    row = leases.get(shard)
    return rules.release(leases, shard, epoch if row is None else row.epoch, now=now)


def _claimed_under_the_same_epoch(
    leases: Leases, shard: int, **given: Any
) -> tuple[Leases, int | None]:
    """A claim that keeps the epoch of the holder before."""
    claimed, epoch = rules.claim(leases, shard, **given)
    old = leases.get(shard)
    if epoch is None or old is None:
        return claimed, epoch
    return {**claimed, shard: claimed[shard]._replace(epoch=old.epoch)}, old.epoch


def _claimed_from_a_holder(leases: Leases, shard: int, **given: Any) -> tuple[Leases, int | None]:
    """A claim that does not wait for the lease to end."""
    ended = {number: row._replace(ends_at=min(row.ends_at, 0.0)) for number, row in leases.items()}
    return rules.claim(ended, shard, **given)


def _claimed_again_after_another(
    leases: Leases, shard: int, **given: Any
) -> tuple[Leases, int | None]:
    """A holder that comes back, and goes on though another one had the shard meanwhile."""
    return rules.claim(leases, shard, **{**given, "after_epoch": None})


def _never_ending(leases: Leases, shard: int, **given: Any) -> tuple[Leases, int | None]:
    """A lease that its end does not free."""
    if shard in leases:
        return leases, None
    return rules.claim(leases, shard, **given)


BROKEN = {
    "the epoch is not checked": Rules(may_append=_without_epoch_check),
    "a lease is renewed after its end": Rules(renew=_renewed_after_its_end),
    "a lease is released by another": Rules(release=_released_by_anybody),
    "a claim keeps the epoch": Rules(claim=_claimed_under_the_same_epoch),
    "a claim takes what is held": Rules(claim=_claimed_from_a_holder),
    "a holder comes back after another": Rules(claim=_claimed_again_after_another),
    "a lease never ends": Rules(claim=_never_ending),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(name: str) -> None:
    with pytest.raises(Unsafe) as found:
        Explorer(3, 1, 4, rules=BROKEN[name]).explore()
    print(f"{name}: {found.value}")


def test_a_run_that_is_held_alone_fences_the_shards() -> None:
    """What it takes over gets a new epoch: who had a shard can not append any more."""
    leases, epoch = rules.claim({}, 0, now=0, seconds=15)
    assert epoch == 1
    assert rules.claim(leases, rules.RUN_ITSELF, now=1, seconds=15, alone=True) == (leases, None)
    leases, epoch = rules.claim(leases, rules.RUN_ITSELF, now=16, seconds=15, alone=True)
    assert epoch == 1
    assert not rules.may_append(leases, [(0, 1)])
    assert rules.claim(leases, 1, now=17, seconds=15) == (leases, None)


def test_a_lease_that_has_ended_still_writes_until_it_is_taken_over() -> None:
    leases: Leases = {0: LeaseRow(3, ends_at=10.0)}
    assert rules.may_append(leases, [(0, 3)])
    assert rules.renew(leases, 0, 3, now=10.0, seconds=15) == (leases, False)
    leases, epoch = rules.claim(leases, 0, now=10.0, seconds=15, after_epoch=3)
    assert epoch == 4
    assert rules.claim(leases, 0, now=30.0, seconds=15, after_epoch=3) == (leases, None)
