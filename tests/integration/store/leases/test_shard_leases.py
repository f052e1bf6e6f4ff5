"""The leases of one process: what it holds, loses, and claims again."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.engine.workers.presence import undriven_runs
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import RUN_ITSELF, Lease, RunBusy, ShardLease, ShardLeases
from tests.servers.postgres_proxy import HalfOpenProxy

RUN = UUID(int=21)
LONG_S = 600.0
SHORT_S = 0.2


@pytest.fixture
def own(store: Store) -> Iterator[Callable[..., ShardLeases]]:
    """Makes the leases of a process; all are closed at the end."""
    made: list[ShardLeases] = []

    def make(holder: str = "me", seconds: float = LONG_S, **options: Any) -> ShardLeases:
        made.append(ShardLeases(options.pop("url", store.url), holder, seconds, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def expect(lease: ShardLease | None) -> ShardLease:
    assert lease is not None
    return lease


def row(store: Store, shard: int) -> tuple[Any, ...]:
    with store.connect() as connection:
        [found] = connection.execute(
            "SELECT epoch, holder, expires_at > clock_timestamp(), finished "
            "FROM failproof.lease_list WHERE run_id = %s AND shard = %s",
            (RUN, shard),
        ).fetchall()
    return tuple(found)


def test_a_process_holds_leases_until_it_lets_go(
    store: Store, own: Callable[..., ShardLeases]
) -> None:
    first, second = own("first"), own("second")
    zero, one = expect(first.claim(RUN, 0)), expect(first.claim(RUN, 1))
    assert (zero.run_id, zero.shard, zero.epoch) == (RUN, 0, 1)
    assert second.claim(RUN, 0) is None
    assert first.claim(RUN, 0) is None, "it holds it already"
    assert second.holder_of(RUN)[0] == "first"
    assert first.renew() == []
    first.release(zero, finished=True)
    assert row(store, 0) == (1, "first", False, True)
    again = expect(second.claim(RUN, 0))
    assert again.epoch == 2
    first.release(zero)
    first.release(again)
    assert row(store, 0)[:3] == (2, "second", True), "not what it does not hold"
    first.close()
    assert expect(second.claim(RUN, 1)).epoch == one.epoch + 1
    first.close()


def test_a_run_whose_leases_have_all_ended_is_driven_by_nobody(
    store: Store, own: Callable[..., ShardLeases]
) -> None:
    def undriven() -> str | None:
        with store.connect() as connection:
            found = undriven_runs(connection, [RUN, uuid4()])
        return found[RUN].describe(7) if found else None

    assert undriven() is None, "nobody ever drove it"
    leases = own("one")
    zero, one = expect(leases.claim(RUN, 0)), expect(leases.claim(RUN, 1))
    leases.release(zero)
    assert undriven() is None
    leases.release(one)
    said = undriven()
    assert said is not None and re.fullmatch(
        r"its process is gone since 20\S+Z; resume it: `failproof-es resume 7`", said
    )
    with store.connect() as connection:
        connection.execute("SELECT failproof.open_shards(%s, 2, 1)", (RUN,))
    said = undriven()
    assert said is not None and re.fullmatch(
        r"no worker drives it since 20\S+Z; start one: `failproof-es worker`", said
    )


def test_what_ended_and_was_taken_over_is_lost_and_the_rest_is_kept(
    store: Store, own: Callable[..., ShardLeases]
) -> None:
    first, second = own("first", SHORT_S), own("second")
    zero, one = expect(first.claim(RUN, 0)), expect(first.claim(RUN, 1))
    time.sleep(SHORT_S + 0.05)
    assert expect(second.claim(RUN, 1)).epoch == 2
    assert first.renew() == [one]
    assert (zero.epoch, one.epoch) == (2, 1), "nobody had shard 0, so it was claimed again"
    assert row(store, 0)[:3] == (2, "first", True)
    assert row(store, 1)[:3] == (2, "second", True)
    assert first.renew() == [], "told once"
    assert first.claim(RUN, 1) is None


def test_what_a_process_has_left_to_send(own: Callable[..., ShardLeases]) -> None:
    """By its own clock, counted from before it asked: it stops no later than the lease ends."""
    now = 1_000.0
    leases = own(clock=lambda: now)
    lease = expect(leases.claim(RUN, 0))
    assert leases.remaining_s(lease) == LONG_S
    now += 250
    assert leases.remaining_s(lease) == LONG_S - 250
    leases.renew()
    assert leases.remaining_s(lease) == LONG_S
    now += LONG_S + 1
    assert leases.remaining_s(lease) == -1


@pytest.mark.parametrize("clock", [0.0, -1e9, 1e12], ids=["stopped", "behind", "ahead"])
def test_no_clock_of_a_process_moves_the_end_of_its_lease(
    clock: float, store: Store, own: Callable[..., ShardLeases]
) -> None:
    first = own("first", SHORT_S, clock=lambda: clock)
    began = time.monotonic()
    expect(first.claim(RUN, 0))
    took_s = time.monotonic() - began
    with store.connect() as connection:
        [(left_s,)] = connection.execute(
            "SELECT extract(epoch FROM expires_at - acquired_at)::float8 FROM failproof.lease_list"
        ).fetchall()
    assert 0 <= left_s - SHORT_S + 1e-6 < took_s, "the server reads its own clock twice"
    time.sleep(SHORT_S + 0.05)
    assert expect(own("second").claim(RUN, 0)).epoch == 2


def test_a_session_that_was_cut_off_is_replaced_and_keeps_its_leases(
    store: Store, postgres_server: EmbeddedServer, own: Callable[..., ShardLeases]
) -> None:
    with HalfOpenProxy(postgres_server) as proxy:
        first, second = own("first", url=proxy.url_of(store.url)), own("second")
        lease = expect(first.claim(RUN, 0))
        proxy.cut(both_ends=True)
        assert first.renew() == []
        assert lease.epoch == 1
        assert second.claim(RUN, 0) is None, "the new session is as good as the old one"
        proxy.cut()
        assert expect(first.claim(RUN, 1)).epoch == 1
        first.release(lease)
        assert expect(second.claim(RUN, 0)).epoch == 2
        first.close()


def test_while_the_server_is_away_nothing_is_known(
    store: Store, postgres_server: EmbeddedServer, own: Callable[..., ShardLeases]
) -> None:
    with HalfOpenProxy(postgres_server) as proxy:
        first = own("first", SHORT_S, url=proxy.url_of(store.url))
        lease = expect(first.claim(RUN, 0))
    with pytest.raises(psycopg.OperationalError):
        first.renew()
    time.sleep(SHORT_S)
    assert first.remaining_s(lease) < 0
    first.release(lease)
    first.close()
    assert expect(own("second").claim(RUN, 0)).epoch == 2


def test_a_stranger_who_takes_a_dead_sessions_lock_holds_nothing_up_for_long(
    store: Store, own: Callable[..., ShardLeases]
) -> None:
    first, second = own("first", 1.0), own("second")
    expect(first.claim(RUN, 0))
    with psycopg.connect(store.url, autocommit=True) as stranger:
        [(lock,)] = stranger.execute(
            "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE granted "
            "AND locktype = 'advisory' AND objsubid = 1 AND database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchall()
        waiting = threading.Thread(
            target=lambda: stranger.execute("SELECT pg_advisory_lock(%s)", (lock,))
        )
        waiting.start()
        assert first._connection is not None
        first._connection.close()  # it dies
        waiting.join()
        assert second.claim(RUN, 0) is None
        deadline = time.monotonic() + 5
        while (taken := second.claim(RUN, 0)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert taken.epoch == 2


def test_a_driver_and_workers_keep_each_other_out(
    store: Store, own: Callable[..., ShardLeases]
) -> None:
    workers = own("worker on host 2")
    shard = expect(workers.claim(RUN, 5))
    with pytest.raises(RunBusy, match=r"being driven by worker on host 2.*try again in 600 s"):
        Lease(store.url, RUN, "driver").acquire()
    coordinator = expect(workers.claim(RUN))
    assert coordinator.shard == RUN_ITSELF
    workers.release(shard)
    with pytest.raises(RunBusy, match="worker on host 2"):
        Lease(store.url, RUN, "driver").acquire()
    workers.release(coordinator)
    with Lease(store.url, RUN, "driver") as lease:
        assert lease.acquire().epoch == 2
        assert workers.claim(RUN, 5) is None
        assert workers.claim(RUN) is None
        assert expect(workers.claim(uuid4(), 5)).epoch == 1
    assert expect(workers.claim(RUN, 5)).epoch == 3, "who drove it alone took this shard over, too"


def test_what_others_had_in_between_is_lost_though_it_is_free_again(
    store: Store, own: Callable[..., ShardLeases]
) -> None:
    first, second = own("first", SHORT_S), own("second")
    lease = expect(first.claim(RUN, 0))
    time.sleep(SHORT_S + 0.05)
    second.release(expect(second.claim(RUN, 0)))
    assert first.renew() == [lease]
    assert lease.epoch == 1
    assert expect(first.claim(RUN, 0)).epoch == 3, "as anybody may, who then reads what it holds"


def cut(store: Store, leases: ShardLeases) -> None:
    """The server ends the session of these leases."""
    connection = leases._connection
    assert connection is not None
    with store.connect() as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", (connection.info.backend_pid,))


def dead(store: Store) -> list[tuple[int, int]]:
    """The shards whose holder has no session, with their epochs."""
    with store.connect() as connection:
        rows = connection.execute("SELECT * FROM failproof.dead_leases(%s)", ([RUN],))
        return [(shard, epoch) for run_id, shard, epoch in rows if run_id == RUN]


def test_a_holder_learns_without_asking_that_its_session_was_ended(
    store: Store, own: Callable[..., ShardLeases]
) -> None:
    leases = own()
    assert not leases.was_cut_off(), "it has none"
    held = expect(leases.claim(RUN, 0))
    assert not leases.was_cut_off()
    cut(store, leases)
    assert leases.was_cut_off()
    assert leases.was_cut_off(), "until it has another"
    assert leases.renew() == []
    assert not leases.was_cut_off()
    assert held.epoch == 1, "nobody had it meanwhile"


def test_leases_without_a_session_are_those_of_dead_holders(
    store: Store, own: Callable[..., ShardLeases]
) -> None:
    lives, cut_off, released = own("lives"), own("cut off"), own("released")
    for shard, holder in enumerate((lives, cut_off, released)):
        expect(holder.claim(RUN, shard))
    expect(cut_off.claim(RUN))  # the run itself has no job
    released.close()
    assert dead(store) == []
    cut(store, cut_off)
    assert dead(store) == [(1, 1)]
    cut_off.renew()
    assert dead(store) == [], "it showed its new session"
    brief = own("brief", SHORT_S)
    expect(brief.claim(RUN, 5))
    cut(store, brief)
    time.sleep(SHORT_S)
    assert dead(store) == [], "what has ended is free anyway"
