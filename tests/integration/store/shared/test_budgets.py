"""The function that reserves below a ceiling does what the pure model says."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.core.spend import SpendReport, SpendState
from failproof_es.core.spend.slices import reserve
from failproof_es.store.errors import LateStatement
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLease, ShardLeases
from failproof_es.store.writing.recorder import LeaseLost, query
from failproof_es.store.writing.shared_state import (
    SharedState,
    ceiling_in,
    count_spending,
    reserve_spending,
    set_ceiling,
    shards_with_budget,
)

CEILING = Decimal("10.000001")
SHARDS = (0, 1, 2)


def begun(store: Store, run_id: UUID) -> SharedState:
    """The state of a database that knows the run's ceiling."""
    with store.connect() as connection:
        planned = {"run_id": run_id, "epoch": None, "number": 0, "ceiling": CEILING}
        connection.execute(query("begin_budget"), planned)
    return SharedState(store.url)


def claimed(leases: ShardLeases, run_id: UUID, shard: int) -> ShardLease:
    lease = leases.claim(run_id, shard)
    assert lease is not None
    return lease


@pytest.mark.parametrize("seed", range(3))
def test_the_database_reserves_what_the_model_does(store: Store, seed: int) -> None:
    random, run_id = Random(seed), uuid4()
    state, rows, wanted = begun(store, run_id), dict[int, SpendState](), False
    with ShardLeases(store.url, "a test") as leases:
        held = [claimed(leases, run_id, shard) for shard in SHARDS]
        for lease in held:
            count_spending(state, lease, {lease.shard: SpendState()})
            rows = {**rows, lease.shard: SpendState()}
        for number in range(1, 41):
            lease = random.choice(held)
            row = rows[lease.shard]
            charged = Decimal(random.randint(0, 10**6)) * row.reserved / 10**6
            known = Decimal(random.choice((0, 1, 1))) * charged
            unknown = row.unknown + charged - known
            spent = SpendState(row.known_usd + known, unknown, row.unknown_requests)
            keeps = Decimal(random.randint(0, 10**6)) * (row.reserved - charged) / 10**6
            needs = Decimal(random.choice(("0", "0.7", "0.0000001")))
            wants = Decimal(random.choice(("0", "1", "9.123456789")))
            report = SpendReport(spent, keeps, needs, wants, number)
            after, expected = reserve(CEILING, rows, lease.shard, report, is_wanted=wanted)
            answer = reserve_spending(state, lease, report)
            rows, wanted = dict(after), answer.is_wanted
            assert answer[:3] == expected[:3]
            assert answer.is_wanted or not expected.is_wanted
            assert answer.total.committed <= CEILING
    state.close()


def test_nobody_reserves_for_a_shard_that_was_taken_over(store: Store) -> None:
    run_id = uuid4()
    state = begun(store, run_id)
    nothing = SpendReport(SpendState(), Decimal(0), Decimal(1), Decimal(1))
    with ShardLeases(store.url, "first") as first, ShardLeases(store.url, "second") as second:
        old = claimed(first, run_id, 0)
        count_spending(state, old, {0: SpendState()})
        assert reserve_spending(state, old, nothing).more > 0
        assert shards_with_budget(state, run_id) == [0]
        with store.connect() as connection:
            connection.execute("SELECT failproof.release_lease(%s, 0, %s)", (run_id, old.epoch))
        new = claimed(second, run_id, 0)
        with pytest.raises(LeaseLost):
            reserve_spending(state, old, nothing)
        with pytest.raises(LeaseLost):
            count_spending(state, old, {0: SpendState()})
        count_spending(state, new, {0: SpendState(known_usd=Decimal(3))})
        assert shards_with_budget(state, run_id) == [], "what was reserved for the first is free"
        with pytest.raises(psycopg.Error, match="counts no other shard"):
            count_spending(state, new, {1: SpendState()})
    state.close()


def test_a_statement_that_arrives_late_takes_nothing_back(store: Store) -> None:
    """Its connection was cut, and its holder said more on another one since."""
    run_id = uuid4()
    state = begun(store, run_id)
    with ShardLeases(store.url, "a test") as leases:
        lease, other = claimed(leases, run_id, 0), claimed(leases, run_id, 1)
        for each in (lease, other):
            count_spending(state, each, {each.shard: SpendState()})
        first = SpendReport(SpendState(), Decimal(0), Decimal(1), Decimal(1), 1)
        assert reserve_spending(state, lease, first).more == 1
        spent = SpendReport(SpendState(known_usd=Decimal(1)), Decimal(0), Decimal(8), Decimal(8), 2)
        granted = reserve_spending(state, lease, spent)
        assert granted.more == 8
        assert reserve_spending(state, lease, spent) == granted, "told twice, answered as before"
        with pytest.raises(LateStatement, match="report 1 comes after report 2"):
            reserve_spending(state, lease, first)
        count_spending(state, lease, {0: SpendState()})
        asked = SpendReport(SpendState(), Decimal(0), Decimal(2), Decimal(2), 1)
        told = reserve_spending(state, other, asked)
        assert told.more == 0
        assert told.total == SpendState(known_usd=Decimal(1), reserved=Decimal(8))
    state.close()


def test_only_who_has_the_whole_run_counts_all_of_its_shards(store: Store) -> None:
    run_id = uuid4()
    state = begun(store, run_id)
    counted = {
        0: SpendState(known_usd=Decimal(1)),
        1: SpendState(unknown=Decimal(2), unknown_requests=1),
    }
    with ShardLeases(store.url, "a test") as leases:
        beside = leases.claim(run_id)
        assert beside is not None
        with pytest.raises(LeaseLost):
            count_spending(state, beside, counted)
        leases.release(beside)
        alone = leases.claim(run_id, alone=True)
        assert alone is not None
        count_spending(state, alone, counted)
        leases.release(alone)
        shard = claimed(leases, run_id, 1)
        row = SpendReport(counted[1], Decimal(0), Decimal(0), Decimal(0))
        total = reserve_spending(state, shard, row).total
        assert total == SpendState(Decimal(1), Decimal(2), 1, Decimal(0))
    assert ceiling_in(state, run_id) == CEILING
    assert ceiling_in(state, uuid4()) is None
    state.close()


def test_only_who_has_the_whole_run_changes_its_ceiling_and_in_its_order(store: Store) -> None:
    run_id = uuid4()
    state = begun(store, run_id)
    with pytest.raises(psycopg.Error, match="under the lease on the whole run"):
        begun(store, run_id)
    with ShardLeases(store.url, "a test") as leases:
        shard = claimed(leases, run_id, 0)
        count_spending(state, shard, {0: SpendState()})
        with pytest.raises(LeaseLost):
            set_ceiling(state, shard, Decimal(99), 1)
        leases.release(shard)
        beside = leases.claim(run_id)
        assert beside is not None
        with pytest.raises(LeaseLost):
            set_ceiling(state, beside, Decimal(99), 1)
        leases.release(beside)
        alone = leases.claim(run_id, alone=True)
        assert alone is not None
        set_ceiling(state, alone, Decimal(5), 1)
        set_ceiling(state, alone, Decimal(50), 2)
        set_ceiling(state, alone, Decimal(50), 2)
        with pytest.raises(LateStatement, match="change 1 of its spend ceiling comes after"):
            set_ceiling(state, alone, Decimal(5), 1)
        leases.release(alone)
        claimed(leases, run_id, 0)
        with pytest.raises(LeaseLost):
            set_ceiling(state, alone, Decimal(500), 3)
    assert ceiling_in(state, run_id) == 50
    state.close()


def test_nobody_begins_a_budget_in_a_run_that_somebody_had(store: Store) -> None:
    run_id = uuid4()
    with ShardLeases(store.url, "a test") as leases:
        claimed(leases, run_id, 0)
        with pytest.raises(psycopg.Error, match="under the lease on the whole run"):
            begun(store, run_id)


def test_who_needs_nothing_gets_nothing_while_somebody_waits(store: Store) -> None:
    run_id = uuid4()
    state = begun(store, run_id)
    with ShardLeases(store.url, "a test") as leases:
        first, second = claimed(leases, run_id, 0), claimed(leases, run_id, 1)
        for each in (first, second):
            count_spending(state, each, {each.shard: SpendState()})
        nothing = Decimal(0)
        assert (
            reserve_spending(state, first, SpendReport(SpendState(), nothing, Decimal(6))).more == 6
        )
        waits = SpendReport(SpendState(), nothing, Decimal(5))
        assert reserve_spending(state, second, waits).more == 0
        more = SpendReport(SpendState(), Decimal(3), wants=Decimal(3), number=2)
        answer = reserve_spending(state, first, more)
        assert answer.more == 0
        assert answer.is_wanted
        assert reserve_spending(state, second, waits._replace(number=2)).more == 5
    state.close()


def test_no_amount_is_less_than_a_number(
    store: Store, administrator: psycopg.Connection[Any]
) -> None:
    run_id = uuid4()
    state = begun(store, run_id)
    with ShardLeases(store.url, "a test") as leases:
        lease = claimed(leases, run_id, 0)
        count_spending(state, lease, {0: SpendState()})
    for table, column in (
        ("run_budgets", "ceiling_usd"),
        ("shard_budgets", "known_usd"),
        ("shard_budgets", "unknown_usd"),
        ("shard_budgets", "reserved_usd"),
    ):
        for amount in ("NaN", "Infinity"):
            with pytest.raises(psycopg.errors.CheckViolation):
                administrator.execute(f"UPDATE failproof.{table} SET {column} = %s", (amount,))
    state.close()
