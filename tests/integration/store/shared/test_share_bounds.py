"""No login slows a server down for good: a share ends, is a live worker's, and can be cleared."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import inf, nan
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from failproof_es.core.limits import KeyLimits, ProviderKey, ShareClaim
from failproof_es.engine.workers.limit_waits import WAITS_S, LimitWaits
from failproof_es.engine.workers.presence import Presence, list_shares
from failproof_es.store.outage import LogUnavailable, Outage
from failproof_es.store.store import Store
from failproof_es.store.writing.shared_state import DatabaseShares, SharedState
from failproof_es.support import clock
from tests.acceptance.commands import invoke

KEY = ProviderKey("0123456789abcdef" * 4, "https://here/v1")
WANTED = ShareClaim(wants_concurrency=1, wants_requests=1)
BEGS = ShareClaim(wants_concurrency=1)
LIMITS = KeyLimits(1, 10)
DAY_S = 86_400.0


@pytest.fixture
def state(store: Store) -> Iterator[SharedState]:
    shared = SharedState(store.url)
    yield shared
    shared.close()


def a_worker(store: Store, holder: str) -> None:
    Presence(store, uuid4(), holder, {}).tell()


def test_a_share_lasts_a_minute_at_most(store: Store, state: SharedState) -> None:
    a_worker(store, "me")
    for seconds in (60.5, 1e9, inf, nan, -1.0):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="at most 60"):
            DatabaseShares(state, "me").exchange(KEY, LIMITS, uuid4(), WANTED, seconds)
    with store.connect() as connection:
        assert list_shares(connection) == []


def test_a_share_is_given_to_a_live_worker_alone(
    store: Store, state: SharedState, administrator: psycopg.Connection[tuple[int]]
) -> None:
    own = uuid4()
    with pytest.raises(LogUnavailable, match="no such worker"):
        DatabaseShares(state, "nobody").exchange(KEY, LIMITS, own, WANTED, 15.0)
    a_worker(store, "me")
    for told in ("heartbeat - interval '61 s'", "'infinity'"):
        administrator.execute(
            f"UPDATE failproof_queue.failproof_workers SET heartbeat = {told}".encode()
        )
        with pytest.raises(LogUnavailable):
            DatabaseShares(state, "me").exchange(KEY, LIMITS, own, WANTED, 15.0)
    a_worker(store, "me")
    assert DatabaseShares(state, "me").exchange(KEY, LIMITS, own, WANTED, 15.0).concurrency == 1
    administrator.execute("DELETE FROM failproof_queue.failproof_workers")
    again = WANTED._replace(number=2)
    renewed = DatabaseShares(state, "me").exchange(KEY, LIMITS, own, again, 15.0)
    assert renewed.concurrency == 1, "a worker whose word comes late keeps what it has"


def test_who_tells_of_itself_while_it_claims_is_a_live_worker(
    store: Store, administrator: psycopg.Connection[tuple[int]]
) -> None:
    table = "failproof_queue.failproof_workers"
    a_worker(store, "me")
    once = SharedState(store.url, Outage(longest_s=0.0))
    claim = partial(DatabaseShares(once, "me").exchange, KEY, LIMITS, uuid4(), WANTED, 15.0)
    with ThreadPoolExecutor(1) as pool:
        with administrator.transaction():
            administrator.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
            claimed = pool.submit(claim)
            while not administrator.execute("SELECT FROM pg_locks WHERE NOT granted").fetchall():
                assert not claimed.done()
            administrator.execute(f"UPDATE {table} SET heartbeat = clock_timestamp()".encode())
        assert claimed.result(30).concurrency == 1
    once.close()


def test_a_server_is_left_alone_for_a_day_at_most(store: Store, state: SharedState) -> None:
    a_worker(store, "me")
    hold = WANTED._replace(hold_s=30 * DAY_S, was_refused=True)
    answer = DatabaseShares(state, "me").exchange(KEY, LIMITS, uuid4(), hold, 15.0)
    assert DAY_S - 60 < answer.held_s <= DAY_S


def test_workers_clear_ends_the_shares_of_a_key_and_what_its_server_is_left_alone_for(
    store: Store, state: SharedState, tmp_path: Path
) -> None:
    a_worker(store, "me")
    hold = WANTED._replace(hold_s=DAY_S, was_refused=True)
    book = DatabaseShares(state, "me")
    book.exchange(KEY, LIMITS, uuid4(), hold, 15.0)
    listed = invoke(store.url, "workers", cwd=tmp_path).stdout
    assert "01234567" in listed and "left alone for" in listed
    for odd in ("0123", "nothing!", "fedcba98"):
        assert invoke(store.url, "workers", "--clear", odd, cwd=tmp_path).exit_code == 2
    done = invoke(store.url, "workers", "--clear", "01234567", cwd=tmp_path)
    assert done.exit_code == 0 and "https://here/v1: 1 share ended" in done.stderr
    with store.connect() as connection:
        assert list_shares(connection) == []
    answer = book.exchange(KEY, LIMITS, uuid4(), WANTED, 15.0)
    assert (answer.concurrency, answer.held_s) == (1, 0)


def test_a_worker_that_can_send_nothing_says_who_has_the_shares(
    store: Store, state: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_worker(store, "somebody else")
    DatabaseShares(state, "somebody else").exchange(KEY, LIMITS, uuid4(), WANTED, 15.0)
    a_worker(store, "a beggar")
    nothing = DatabaseShares(state, "a beggar").exchange(KEY, LIMITS, uuid4(), BEGS, 15.0)
    assert (nothing.concurrency, nothing.requests) == (0, 0)
    said: list[str] = []
    waits = LimitWaits("me", said.append)
    now = clock.monotonic_s()
    monkeypatch.setattr(clock, "monotonic_s", lambda: now)
    assert waits.overdue([KEY]) == []
    now += WAITS_S
    assert waits.overdue([]) == [], "it sent something meanwhile"
    assert waits.overdue([KEY]) == []
    now += WAITS_S
    overdue = waits.overdue([KEY])
    with store.connect() as connection:
        waits.tell(connection, overdue)
    [line] = said
    assert line.startswith(
        "waits for its share of the limits of https://here/v1: somebody else has"
    )
    assert "1 request at once" in line and "workers --clear 01234567" in line
    assert "a beggar" not in line, "it has nothing"
    assert waits.overdue([KEY]) == [], "once a minute"
