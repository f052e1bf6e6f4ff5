"""A thread whose task was cancelled may come after its worker has left: it opens nothing."""

from __future__ import annotations

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


def sessions(store: Store) -> set[int]:
    with store.connect() as connection:
        return {pid for (pid,) in connection.execute(SESSIONS)}


def test_what_is_said_after_the_end_opens_no_connection(store: Store) -> None:
    before = sessions(store)
    state = SharedState(store.url)
    assert ceiling_in(state, uuid4()) is None
    state.close()
    with pytest.raises(LateStatement):
        ceiling_in(state, uuid4())
    assert sessions(store) <= before, "one that was ending may have ended"


def test_a_shard_is_not_claimed_after_the_end(store: Store) -> None:
    before = sessions(store)
    leases = ShardLeases(store.url, "me")
    leases.close()
    assert leases.claim(uuid4(), 0) is None
    assert sessions(store) <= before, "one that was ending may have ended"
