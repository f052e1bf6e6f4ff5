"""A claim waits behind appends. What its process holds already is renewed meanwhile."""

from __future__ import annotations

import threading
import time
from uuid import uuid4

import psycopg
import pytest

from failproof_es.store.store import Store
from failproof_es.store.writing.lease import RUN_ITSELF, ShardLease, ShardLeases


@pytest.mark.parametrize("claimed_number", [1, RUN_ITSELF])
def test_a_claim_that_has_to_wait_costs_no_lease_that_is_held(
    store: Store, claimed_number: int
) -> None:
    run_id, seconds = uuid4(), 1.5
    claimed: list[ShardLease | None] = []
    with ShardLeases(store.url, "worker", seconds) as leases:
        held = leases.claim(run_id, 0)
        assert held is not None
        with psycopg.connect(store.url) as planning:  # others wait until it commits
            planning.execute("SELECT failproof.number_run(%s)", (uuid4(),))
            claiming = threading.Thread(
                target=lambda: claimed.append(leases.claim(run_id, claimed_number))
            )
            claiming.start()
            for _ in range(5):
                time.sleep(seconds / 3)
                assert leases.renew() == []
                assert leases.remaining_s(held) > 0
            claiming.join()
            assert claimed == [None]
            assert held.epoch == 1
        assert leases.claim(run_id, claimed_number) is not None, "on the same session"
        connection = leases._connection
        assert connection is not None
        assert connection.execute("SHOW lock_timeout").fetchone() == ("0",), "it waits as before"
