"""The function that shares out limits does what the pure model says, whatever is asked when."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pytest

from failproof_es.core.limits import Answer, Claim, KeyState, Limits, ProviderKey, share
from failproof_es.store.store import Store
from failproof_es.store.writing.shared_state import DatabaseBook, SharedState

KEY = ProviderKey("digest", "https://here/v1")
WORKERS = [UUID(int=n) for n in range(1, 4)]
SECONDS = 15.0
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
        {own: type(held)(held.concurrency, held.wanted, held.requests, held.tokens, held.waits,
                         held.ends_at - seconds) for own, held in state.shares.items()},
        tuple((until - seconds, requests, tokens) for until, requests, tokens in state.uses),
    )  # fmt: skip


def rounded(answer: Answer) -> Answer:
    ago = answer.answered_s
    return answer._replace(
        held_s=round(float(answer.held_s), 3),
        answered_s=None if ago is None or ago > 10**9 else round(float(ago), 3),
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_database_shares_out_what_the_model_does(
    store: Store, administrator: psycopg.Connection[Any], seed: int
) -> None:
    random = Random(seed)
    some = [Limits(4, 20, 300), Limits(1), Limits(requests=7), Limits(None, None, 100)][seed % 4]
    database, state = SharedState(store.url), KeyState()
    book = DatabaseBook(database, "a test")
    for _ in range(60):
        if random.random() < 0.3:
            seconds = random.choice((1, 3, 8, 20, 50, 70))
            for statement in _AGE.split(";"):
                administrator.execute(statement.replace("%(s)s", str(seconds)))
            state = aged(state, seconds)
        own = random.choice(WORKERS)
        limits = random.choice((some, some, some, Limits(3, 5, 50)))
        held = state.shares.get(own)
        had = (held.concurrency, held.requests, held.tokens) if held else ()
        keeps = [each or 0 for each in had] or [0, 0, 0]
        claim = Claim(
            random.randint(0, keeps[0]), random.randint(0, 6),
            random.randint(0, keeps[1]), random.randint(0, 9), random.randint(0, 3),
            random.randint(0, keeps[2]), random.randint(0, 99), random.randint(0, 20),
            waits=random.random() < 0.5, hold_s=random.choice((0.0, 0.0, 0.0, 5.0)),
            was_cut=random.random() < 0.2, was_refused=False, was_answered=random.random() < 0.2,
        )  # fmt: skip
        answer = book.exchange(KEY, limits, own, claim, SECONDS)
        [(now,)] = administrator.execute(
            "SELECT extract(epoch FROM expires_at)::float8 - 15 FROM failproof.limit_shares "
            "WHERE share_id = %s",
            (own,),
        ).fetchall()
        state, expected = share(state, limits, own, claim, now=now, seconds=SECONDS)
        assert rounded(answer) == pytest.approx(rounded(expected), abs=0.002), claim
    database.close()


def test_a_share_that_is_given_back_leaves_what_was_used(store: Store) -> None:
    database = SharedState(store.url)
    book, limits = DatabaseBook(database, "a test"), Limits(2, 10)
    wanted = Claim(wants_concurrency=2, wants_requests=10)
    assert book.exchange(KEY, limits, WORKERS[0], wanted, SECONDS)[:2] == (2, 10)
    assert book.exchange(KEY, limits, WORKERS[1], wanted, SECONDS)[:2] == (0, 0)
    book.exchange(KEY, limits, WORKERS[0], Claim(used_requests=4), 0)
    assert book.exchange(KEY, limits, WORKERS[1], wanted, SECONDS)[:2] == (2, 6)
    database.close()


def test_no_time_that_is_infinite_is_reckoned_with(store: Store) -> None:
    """Before PostgreSQL 17 that is an error, and nobody would ever get a share."""
    database = SharedState(store.url)
    book, wanted = DatabaseBook(database, "a test"), Claim(wants_concurrency=1)
    answer = book.exchange(KEY, Limits(1), WORKERS[0], wanted, SECONDS)
    assert (answer.concurrency, answer.held_s, answer.answered_s) == (1, 0, None)
    database.close()


def test_who_asks_about_a_calm_server_writes_nothing(store: Store) -> None:
    database = SharedState(store.url)
    answer = DatabaseBook(database, "a test").exchange(KEY, Limits(), WORKERS[0], Claim(), SECONDS)
    assert (answer.held_s, answer.cuts) == (0, 0)
    with store.connect() as connection:
        rows = connection.execute("SELECT count(*) FROM failproof.provider_limit_list").fetchone()
    assert rows == (0,)
    database.close()
