"""The function that shares out limits does what the pure model says, whatever is asked when."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.core.limits import (
    GrantedShare,
    KeyLimits,
    KeyState,
    ProviderKey,
    ShareClaim,
    share,
)
from failproof_es.engine.workers.presence import Presence
from failproof_es.store.errors import LateStatement
from failproof_es.store.store import Store
from failproof_es.store.writing.shared_state import DatabaseShares, SharedState

KEY = ProviderKey("digest", "https://here/v1")
WORKERS = [UUID(int=n) for n in range(1, 4)]
SECONDS = 15.0
_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
_AGE = """
UPDATE failproof.provider_limits SET
    held_until = held_until - make_interval(secs => %(s)s),
    cut_at = cut_at - make_interval(secs => %(s)s),
    answered_at = answered_at - make_interval(secs => %(s)s);
UPDATE failproof.limit_shares SET expires_at = expires_at - make_interval(secs => %(s)s);
CREATE TEMPORARY TABLE older AS SELECT * FROM failproof.limit_uses;
DELETE FROM failproof.limit_uses;
INSERT INTO failproof.limit_uses
SELECT provider_key, counts_until - make_interval(secs => %(s)s), requests, tokens FROM older;
DROP TABLE older
"""


def aged(state: KeyState, seconds: float) -> KeyState:
    """The same when so much more time has passed."""
    return KeyState(
        state.held_until - seconds, state.cuts, state.cut_at - seconds, state.answered_at - seconds,
        {own: type(held)(held.concurrency, held.wanted_concurrency, held.requests, held.tokens,
                         held.waits, held.ends_at - seconds, held.claims, held.stated)
         for own, held in state.shares.items()},
        tuple((until - seconds, requests, tokens) for until, requests, tokens in state.uses),
    )  # fmt: skip


def rounded(answer: GrantedShare) -> GrantedShare:
    ago = answer.answered_s
    return answer._replace(
        held_s=round(float(answer.held_s), 3),
        answered_s=None if ago is None or ago > 10**9 else round(float(ago), 3),
    )


@pytest.fixture(autouse=True)
def a_live_worker(store: Store) -> None:
    """Only such a one gets a share."""
    Presence(store, uuid4(), "a test", {}).tell()


@pytest.mark.parametrize("seed", range(4))
def test_the_database_shares_out_what_the_model_does(
    store: Store, administrator: psycopg.Connection[Any], seed: int
) -> None:
    random = Random(seed)
    some = [KeyLimits(4, 20, 300), KeyLimits(1), KeyLimits(requests=7), KeyLimits(None, None, 100)][
        seed % 4
    ]
    database, state = SharedState(store.url), KeyState()
    book = DatabaseShares(database, "a test")
    for number in range(1, 61):
        if random.random() < 0.3:
            seconds = random.choice((1, 3, 8, 20, 50, 70))
            for statement in _AGE.split(";"):
                administrator.execute(statement.replace("%(s)s", str(seconds)))
            state = aged(state, seconds)
        own = random.choice(WORKERS)
        limits = random.choice((some, some, some, KeyLimits(3, 5, 50), KeyLimits()))
        held = state.shares.get(own)
        had = (held.concurrency, held.requests, held.tokens) if held else ()
        keeps = [each or 0 for each in had] or [0, 0, 0]
        claim = ShareClaim(
            random.randint(0, keeps[0]), random.randint(0, 6),
            random.randint(0, keeps[1]), random.randint(0, 9), random.randint(0, 3),
            random.randint(0, keeps[2]), random.randint(0, 99), random.randint(0, 20),
            waits=random.random() < 0.5, hold_s=random.choice((0.0, 0.0, 0.0, 5.0)),
            was_cut=random.random() < 0.2, was_refused=False, was_answered=random.random() < 0.2,
            number=number,
        )  # fmt: skip
        answer = book.exchange(KEY, limits, own, claim, SECONDS)
        noted = administrator.execute(
            "SELECT extract(epoch FROM expires_at)::float8 - 15 FROM failproof.limit_shares "
            "WHERE share_id = %s AND claims = %s",
            (own, number),
        ).fetchone()
        [now] = noted or administrator.execute(_NOW).fetchone() or [0.0]
        state, expected = share(state, limits, own, claim, now=now, seconds=SECONDS)
        found, modelled = rounded(answer), rounded(expected)
        assert [*found] == pytest.approx([*modelled], abs=0.002 if noted else 0.5), claim
    database.close()


def test_a_share_that_is_given_back_leaves_what_was_used(store: Store) -> None:
    database = SharedState(store.url)
    book, limits = DatabaseShares(database, "a test"), KeyLimits(2, 10)
    wanted = ShareClaim(wants_concurrency=2, wants_requests=10)
    assert book.exchange(KEY, limits, WORKERS[0], wanted, SECONDS)[:2] == (2, 10)
    assert book.exchange(KEY, limits, WORKERS[1], wanted, SECONDS)[:2] == (0, 0)
    book.exchange(KEY, limits, WORKERS[0], ShareClaim(used_requests=4, number=2), 0)
    again = wanted._replace(number=2)
    assert book.exchange(KEY, limits, WORKERS[1], again, SECONDS)[:2] == (2, 6)
    database.close()


def test_no_time_that_is_infinite_is_reckoned_with(store: Store) -> None:
    """Before PostgreSQL 17 that is an error, and nobody would ever get a share."""
    database = SharedState(store.url)
    book, wanted = DatabaseShares(database, "a test"), ShareClaim(wants_concurrency=1)
    answer = book.exchange(KEY, KeyLimits(1), WORKERS[0], wanted, SECONDS)
    assert (answer.concurrency, answer.held_s, answer.answered_s) == (1, 0, None)
    database.close()


def test_who_asks_about_a_calm_server_writes_nothing(store: Store) -> None:
    database = SharedState(store.url)
    answer = DatabaseShares(database, "a test").exchange(
        KEY, KeyLimits(), WORKERS[0], ShareClaim(), SECONDS
    )
    assert (answer.held_s, answer.cuts) == (0, 0)
    with store.connect() as connection:
        rows = connection.execute("SELECT count(*) FROM failproof.provider_limit_list").fetchone()
    assert rows == (0,)
    database.close()


def test_a_claim_that_arrives_late_takes_nothing_back(store: Store) -> None:
    """Its connection was cut, and its holder said more on another one since."""
    database = SharedState(store.url)
    book, limits = DatabaseShares(database, "a test"), KeyLimits(4, 10)
    small = ShareClaim(wants_concurrency=1, wants_requests=1)
    large = ShareClaim(wants_concurrency=4, wants_requests=10, used_requests=1, number=2)
    granted = book.exchange(KEY, limits, WORKERS[0], large, SECONDS)
    assert granted[:2] == (4, 9)
    with pytest.raises(LateStatement, match="claim 1 comes after claim 2"):
        book.exchange(KEY, limits, WORKERS[0], small, SECONDS)
    assert book.exchange(KEY, limits, WORKERS[0], large, SECONDS)[:4] == granted[:4], "told twice"
    wanted = ShareClaim(wants_concurrency=4, wants_requests=10)
    assert book.exchange(KEY, limits, WORKERS[1], wanted, SECONDS)[:2] == (0, 0)
    book.exchange(KEY, limits, WORKERS[0], ShareClaim(number=3), 0)
    wanted = wanted._replace(number=2)
    free = book.exchange(KEY, limits, WORKERS[1], wanted, SECONDS)
    assert free[:2] == (4, 9), "one request was used, not two"
    database.close()


def test_a_claim_that_arrives_late_revives_no_share(store: Store) -> None:
    database = SharedState(store.url)
    book, limits = DatabaseShares(database, "a test"), KeyLimits(4, 10)
    wanted = ShareClaim(wants_concurrency=4, wants_requests=10, hold_s=60)
    book.exchange(KEY, limits, WORKERS[0], ShareClaim(number=2), 0)
    with pytest.raises(LateStatement):
        book.exchange(KEY, limits, WORKERS[0], wanted, SECONDS)
    answer = book.exchange(KEY, limits, WORKERS[1], wanted._replace(hold_s=0), SECONDS)
    assert (answer.concurrency, answer.requests, answer.held_s) == (4, 10, 0)
    database.close()


def test_the_lowest_limits_that_somebody_states_hold_for_all(store: Store) -> None:
    database = SharedState(store.url)
    book, wanted = (
        DatabaseShares(database, "a test"),
        ShareClaim(wants_concurrency=9, wants_requests=9),
    )
    assert book.exchange(KEY, KeyLimits(9, 9), WORKERS[0], wanted, SECONDS).concurrency == 9
    low = book.exchange(KEY, KeyLimits(2), WORKERS[1], wanted, SECONDS)
    assert (low.concurrency, low.limits) == (0, KeyLimits(2, 9))
    kept = ShareClaim(9, 9, number=2)
    high = book.exchange(KEY, KeyLimits(9, 9), WORKERS[0], kept, SECONDS)
    assert (high.concurrency, high.fair, high.limits) == (2, 1, KeyLimits(2, 9))
    none = book.exchange(KEY, KeyLimits(), WORKERS[2], wanted, SECONDS)
    assert (none.concurrency, none.limits) == (0, KeyLimits(2, 9))
    book.exchange(KEY, KeyLimits(2), WORKERS[1], ShareClaim(number=2), 0)
    again = book.exchange(KEY, KeyLimits(9, 9), WORKERS[0], kept._replace(number=3), SECONDS)
    assert again.limits == KeyLimits(9, 9), "who stated it is gone"
    database.close()
