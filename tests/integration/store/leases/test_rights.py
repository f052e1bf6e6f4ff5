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
    "the table": "SELECT epoch FROM failproof.leases WHERE run_id = %s",
}
NOT_EVEN_THE_WRITER = ("the end of a lease", "the table")


@pytest.mark.parametrize("role", [AUDITOR, PROJECTOR, WRITER])
@pytest.mark.parametrize("name", CALLS)
def test_only_a_writer_has_leases(name: str, role: str, store: Store) -> None:
    url = store.url.replace(f"//{WRITER}@", f"//{role}@")
    with psycopg.connect(url, autocommit=True) as connection:
        if role == WRITER and name not in NOT_EVEN_THE_WRITER:
            connection.execute(CALLS[name].encode(), (RUN,))
        else:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(CALLS[name].encode(), (RUN,))


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


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("role", [None, MIGRATOR], ids=["superuser", "migrator"])
def test_within_an_epoch_nobody_changes_whose_it_is(
    role: str | None, name: str, connection: Connection, administrator: Connection
) -> None:
    claim(connection, -1)
    with pytest.raises(psycopg.DatabaseError) as refused, administrator.transaction():
        if role is not None:
            administrator.execute(f"SET LOCAL ROLE {role}".encode())
        administrator.execute(f"UPDATE failproof.leases SET {CHANGES[name]}".encode())
    assert refused.value.sqlstate == "FP002", refused.value
    assert lease(connection, -1) == (1, "me", True, False)


@pytest.mark.parametrize(
    ("statement", "after"),
    [
        (f"SELECT failproof.number_run('{RUN}')", "10s"),
        ("SELECT failproof.append('{}', '{}', '{}', '{}', '{}', '{}')", "10s"),
        ("SELECT failproof.lock_ledger()", "1min"),
        (runner._LOCK, "1min"),
    ],
    ids=["who begins a run", "who appends", "who signs", "who follows"],
)
def test_who_is_paused_while_others_wait_for_its_transaction_is_cut_off(
    statement: str, after: str, connection: Connection
) -> None:
    limit = "SELECT current_setting('idle_in_transaction_session_timeout')"
    with connection.transaction():
        connection.execute(statement.encode())
        assert connection.execute(limit).fetchall() == [(after,)]
    assert connection.execute(limit).fetchall() == [("1min",)]
