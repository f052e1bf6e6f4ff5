"""A thread whose task was cancelled may come after its worker has left: it opens nothing."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest

from failproof_es.store.errors import LateStatement
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import ShardLeases
from failproof_es.store.writing.shared_state import SharedState, ceiling_in

SESSIONS = (
    "SELECT pid FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


LONGEST_S = 10.0
"""For the end of a session whose connection was closed: the server takes note of it later."""


def sessions(store: Store) -> set[int]:
    with store.connect() as connection:
        return {pid for (pid,) in connection.execute(SESSIONS)}


def require_none_is_new(store: Store, before: set[int]) -> None:
    """None but those of `before`, of which one that was ending may have ended."""
    until = time.monotonic() + LONGEST_S
    while (new := sessions(store) - before) and time.monotonic() < until:
        time.sleep(0.05)
    assert not new


def test_what_is_said_after_the_end_opens_no_connection(store: Store) -> None:
    before = sessions(store)
    state = SharedState(store.url)
    assert ceiling_in(state, uuid4()) is None
    state.close()
    with pytest.raises(LateStatement):
        ceiling_in(state, uuid4())
    require_none_is_new(store, before)


def test_a_shard_is_not_claimed_after_the_end(store: Store) -> None:
    before = sessions(store)
    leases = ShardLeases(store.url, "me")
    leases.close()
    assert leases.claim(uuid4(), 0) is None
    require_none_is_new(store, before)
