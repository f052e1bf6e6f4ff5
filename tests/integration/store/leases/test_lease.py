"""Who drives a run alone: its lease, when connections break and servers change."""

from __future__ import annotations

import threading
import time
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.problems import InvalidInput
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.pooler import require_sessions
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import Lease, RunBusy, ShardLeases
from tests.servers.postgres_proxy import HalfOpenProxy, TransactionPooler


def epoch(store: Store, run_id: UUID) -> int:
    with store.connect() as connection:
        row = connection.execute(
            "SELECT epoch FROM failproof.lease_list WHERE run_id = %s", (run_id,)
        ).fetchone()
    assert row is not None
    return int(row[0])


def acquired_soon(url: str, run_id: UUID, holder: str) -> Lease:
    """The lease, once the server has noticed that the session of its holder is gone."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return Lease(url, run_id, holder).acquire()
        except RunBusy:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_half_open_connection_does_not_make_a_run_refuse_itself(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    """The client's end is gone, the server still believes in the session."""
    run_id = uuid4()
    with HalfOpenProxy(postgres_server) as proxy:
        lease = Lease(proxy.url_of(store.url), run_id, "this process").acquire()
        proxy.cut()
        with pytest.raises(RunBusy):  # the server indeed believes in the dead session
            Lease(store.url, run_id, "another process").acquire()
        lease.keep()
        lease.keep()
        assert lease.epoch == epoch(store, run_id) == 1
        with pytest.raises(RunBusy, match="this process"):
            Lease(store.url, run_id, "another process").acquire()
        lease.release()
    with Lease(store.url, run_id, "another process").acquire() as other:
        assert other.epoch == 2


def test_a_lease_that_another_process_took_meanwhile_is_lost(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    run_id = uuid4()
    with HalfOpenProxy(postgres_server) as proxy:
        lease = Lease(proxy.url_of(store.url), run_id, "first")
        lease._pause_s = 60.0  # its thread renews nothing meanwhile
        lease.acquire()
        proxy.cut(both_ends=True)
        with (
            acquired_soon(store.url, run_id, "second"),
            pytest.raises(RunBusy, match="second"),
        ):
            lease.keep()
        with pytest.raises(RunBusy, match="second"):  # which has ended by now
            lease.keep()
    with Lease(store.url, run_id, "third").acquire() as third:
        assert third.epoch == 3, "the first one left no lock behind"


LOCKS = (
    "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks "
    "WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)


def test_a_lock_that_a_stranger_took_stops_no_run_that_goes(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    """Without a lease of its own the stranger has taken nothing over; nor is it thrown out."""
    run_id = uuid4()
    with HalfOpenProxy(postgres_server) as proxy:
        lease = Lease(proxy.url_of(store.url), run_id, "this process").acquire()
        with psycopg.connect(store.url, autocommit=True) as stranger:
            [(lock,)] = stranger.execute(LOCKS).fetchall()
            proxy.cut(both_ends=True)
            stranger.execute("SELECT pg_advisory_lock(%s)", (lock,))
            lease.keep()
            assert stranger.execute("SELECT 1").fetchone() == (1,)
        lease.keep()
        with pytest.raises(RunBusy, match="this process"):
            Lease(store.url, run_id, "another process").acquire()
        lease.release()


def test_a_pooler_in_transaction_mode_is_recognised_and_refused(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    for sessions in (1, 2, 3):
        with TransactionPooler(postgres_server, store.url, sessions=sessions) as pooler:
            url = pooler.url_of(store.url)
            with pytest.raises(InvalidInput, match=r"\[unsupported-pooler\]") as refused:
                Store.open(url)
            assert "pool in session mode" in str(refused.value)
            run_id = uuid4()
            with pytest.raises(InvalidInput, match=r"\[unsupported-pooler\]"):
                Lease(url, run_id, "through the pooler").acquire()
        with Lease(store.url, run_id, "directly").acquire() as lease:
            assert lease.epoch == 1, "no lock was left behind"


def test_a_proxy_that_gives_each_client_a_session_of_its_own_passes(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    with HalfOpenProxy(postgres_server, made_up_pids=True) as proxy:
        url = proxy.url_of(store.url)
        with psycopg.connect(url, autocommit=True) as connection:
            row = connection.execute("SELECT pg_backend_pid()").fetchone()
            assert row is not None
            assert row[0] != connection.info.backend_pid
            require_sessions(connection, url)
        with Store.open(url), Lease(url, uuid4(), "through a proxy").acquire() as lease:
            assert lease.epoch == 1


def test_two_drivers_at_once_get_one_lease(store: Store) -> None:
    run_id = uuid4()
    held: list[Lease] = []
    refused: list[RunBusy] = []
    ready = threading.Barrier(8)

    def take(name: str) -> None:
        ready.wait()
        try:
            held.append(Lease(store.url, run_id, name).acquire())
        except RunBusy as busy:
            refused.append(busy)

    threads = [threading.Thread(target=take, args=(f"driver {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(held), len(refused)) == (1, 7)
    held[0].release()


def test_a_lease_lasts_whatever_its_process_does_meanwhile(store: Store) -> None:
    """Nobody calls `keep` while models are loaded, or at a run's end; another thread does."""
    run_id = uuid4()
    seconds = 4.0  # a busy machine may stall its thread for a second or two
    with Lease(store.url, run_id, "this process", seconds=seconds).acquire() as lease:
        time.sleep(1.5 * seconds)
        with pytest.raises(RunBusy, match="this process"):
            Lease(store.url, run_id, "another process").acquire()
        assert (lease.lost, lease.epoch) == (None, 1)


def test_a_lease_that_was_lost_is_known_to_be(store: Store) -> None:
    run_id = uuid4()
    with Lease(store.url, run_id, "first", seconds=0.6).acquire() as lease:
        with store.connect() as connection:
            connection.execute("SELECT failproof.release_lease(%s, -1, 1)", (run_id,))
            connection.execute("SELECT failproof.claim_lease(%s, 0, 'a worker', 60)", (run_id,))
        deadline = time.monotonic() + 5
        while lease.lost is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert lease.lost.holder == "a worker"
        with pytest.raises(RunBusy, match="a worker"):
            lease.keep()


def test_a_lease_is_known_to_be_lost_although_the_server_does_not_say_to_whom(
    store: Store, postgres_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise psycopg.OperationalError("the server is away again")

    run_id = uuid4()
    with HalfOpenProxy(postgres_server) as proxy:
        lease = Lease(proxy.url_of(store.url), run_id, "first")
        lease._pause_s = 60.0  # its thread renews nothing meanwhile
        lease.acquire()
        proxy.cut(both_ends=True)
        with acquired_soon(store.url, run_id, "second"):
            monkeypatch.setattr(ShardLeases, "holder_of", away)
            with pytest.raises(RunBusy):
                lease.keep()
            assert lease.lost is not None and lease.lost.holder is None


def test_a_drive_that_was_cut_off_for_longer_than_its_lease_goes_on(
    store: Store, postgres_server: EmbeddedServer
) -> None:
    """As after an outage of the database: it claims the run again, with the next epoch."""
    run_id = uuid4()
    with HalfOpenProxy(postgres_server) as proxy:
        lease = Lease(proxy.url_of(store.url), run_id, "this process", seconds=0.3)
        lease._pause_s = 60.0  # its thread stays out of this
        lease.acquire()
        proxy.cut(both_ends=True)
        time.sleep(0.4)
        lease.keep()
        assert lease.epoch == epoch(store, run_id) == 2
        lease.release()
