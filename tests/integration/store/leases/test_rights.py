"""Who may have leases, who sees them, and what nobody may do to one."""

from __future__ import annotations

import psycopg
import pytest

from failproof_es.store.schema.installation import AUDITOR, MIGRATOR, PROJECTOR, WRITER
from failproof_es.store.store import Store
from projections import runner
from tests.integration.store.leases.test_functions import RUN, Connection, claim, lease
from tests.integration.store.leases.test_functions import connection as connection

CALLS = {
    "claim": "SELECT failproof.claim_lease(%s, 0, 'me', 600)",
    "renew": "SELECT failproof.renew_leases(ARRAY[%s::uuid], '{0}', '{1}', 600)",
    "release": "SELECT failproof.release_lease(%s, 0, 1)",
    "the end of a lease": "SELECT failproof.lease_end(600), %s",
    "the table": "UPDATE failproof.leases SET epoch = epoch + 1 WHERE run_id = %s",
}
NOT_EVEN_THE_WRITER = ("the end of a lease", "the table")


@pytest.mark.parametrize("role", [AUDITOR, PROJECTOR, WRITER])
def test_only_a_writer_has_leases(role: str, store: Store) -> None:
    url = store.url.replace(f"//{WRITER}@", f"//{role}@")
    with psycopg.connect(url, autocommit=True) as connection:
        for name, call in CALLS.items():
            refused = None
            try:
                connection.execute(call.encode(), (RUN,))
            except psycopg.errors.InsufficientPrivilege as error:
                refused = error
            may = role == WRITER and name not in NOT_EVEN_THE_WRITER
            assert may == (refused is None), (name, refused)


@pytest.mark.parametrize("role", [AUDITOR, WRITER])
def test_readers_see_who_holds_what(role: str, store: Store, connection: Connection) -> None:
    claim(connection, 4, holder="host 1, process 2")
    url = store.url.replace(f"//{WRITER}@", f"//{role}@")
    with psycopg.connect(url, autocommit=True) as reader:
        assert reader.execute(
            "SELECT run_id, epoch, holder, acquired_at < expires_at, shard, alone, finished "
            "FROM failproof.lease_list"
        ).fetchall() == [(RUN, 1, "host 1, process 2", True, 4, False, False)]


CHANGES = {
    "another holder": "holder = 'thief'",
    "another time": "acquired_at = now() - interval '1 day'",
    "a run that is held alone": "alone = NOT alone",
    "an epoch left out": "epoch = epoch + 2",
    "an epoch from before": "epoch = epoch - 1",
    "another shard": "shard = shard + 1",
    "another run": "run_id = '00000000-0000-0000-0000-000000000001'",
    "another run, by the next epoch": (
        "epoch = epoch + 1, run_id = '00000000-0000-0000-0000-000000000001'"
    ),
}


@pytest.mark.parametrize("role", [None, MIGRATOR], ids=["superuser", "migrator"])
def test_within_an_epoch_nobody_changes_whose_it_is(
    role: str | None, connection: Connection, administrator: Connection
) -> None:
    claim(connection, -1)
    for name, change in CHANGES.items():
        with pytest.raises(psycopg.DatabaseError) as refused, administrator.transaction():
            if role is not None:
                administrator.execute(f"SET LOCAL ROLE {role}".encode())
            administrator.execute(f"UPDATE failproof.leases SET {change}".encode())
        assert refused.value.sqlstate == "FP002", (name, refused.value)
        assert lease(connection, -1) == (1, "me", True, False)


def test_who_is_paused_while_others_wait_for_its_transaction_is_cut_off(
    connection: Connection,
) -> None:
    limit = "SELECT current_setting('idle_in_transaction_session_timeout')"
    for statement, after in (
        (f"SELECT failproof.number_run('{RUN}')", "10s"),
        ("SELECT failproof.append('{}', '{}', '{}', '{}', '{}', '{}')", "10s"),
        ("SELECT failproof.lock_ledger()", "1min"),
        (runner._LOCK, "1min"),
    ):
        with connection.transaction():
            connection.execute(statement.encode())
            assert connection.execute(limit).fetchall() == [(after,)], statement
        assert connection.execute(limit).fetchall() == [("1min",)]
