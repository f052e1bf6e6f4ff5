"""The functions of leases in the database: claim, renew, release, and what an append makes of them.

Time is the database's: a lease of milliseconds ends while a statement sleeps.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.events import Scored
from failproof_es.store.store import Store
from failproof_es.store.writing.recorder import append_parameters, query
from tests.integration.store.roles.test_append_only import scored

RUN = UUID(int=17)
OTHER = UUID(int=18)
Connection = psycopg.Connection[Any]


@pytest.fixture
def connection(store: Store) -> Iterator[Connection]:
    with store.connect() as connected:
        yield connected


def claim(
    connection: Connection,
    shard: int = 0,
    holder: str = "me",
    seconds: float = 600,
    *,
    run_id: UUID = RUN,
    session: int | None = None,
    alone: bool = False,
    after: int | None = None,
) -> int | None:
    row = connection.execute(
        "SELECT failproof.claim_lease(%s, %s, %s, %s, %s, %s, %s)",
        (run_id, shard, holder, seconds, session, alone, after),
    ).fetchone()
    assert row is not None
    epoch: int | None = row[0]
    return epoch


def renew(connection: Connection, *named: tuple[int, int], seconds: float = 600) -> list[int]:
    """The shards of the run that were renewed, of these with their epochs."""
    rows = connection.execute(
        "SELECT renewed_shard FROM failproof.renew_leases(%s, %s, %s, %s) ORDER BY 1",
        ([RUN] * len(named), [n[0] for n in named], [n[1] for n in named], seconds),
    )
    return [shard for (shard,) in rows]


def release(connection: Connection, shard: int, epoch: int, *, finished: bool = False) -> bool:
    [(held,)] = connection.execute(
        "SELECT failproof.release_lease(%s, %s, %s, %s)", (RUN, shard, epoch, finished)
    ).fetchall()
    return bool(held)


def append(
    store: Store, connection: Connection, *named: tuple[UUID, int, int], event: Scored | None = None
) -> None:
    entries = [store.log.mapper.to_stored_event(event or scored(uuid4()))]
    connection.execute(query("append"), append_parameters(entries, named)).fetchall()


def events(connection: Connection) -> int:
    [(count,)] = connection.execute("SELECT count(*) FROM failproof.stored_events").fetchall()
    return int(count)


def pass_ms(connection: Connection, milliseconds: int) -> None:
    connection.execute("SELECT pg_sleep(%s)", (milliseconds / 1000,))


def lease(connection: Connection, shard: int = 0) -> tuple[Any, ...]:
    """Epoch, holder, whether it lasts, whether it is finished."""
    [row] = connection.execute(
        "SELECT epoch, holder, expires_at > clock_timestamp(), finished "
        "FROM failproof.lease_list WHERE run_id = %s AND shard = %s",
        (RUN, shard),
    ).fetchall()
    return tuple(row)


# -- who holds a lease -----------------------------------------------------------------------


def test_a_lease_has_one_holder_at_a_time_and_the_next_epoch_with_each(
    connection: Connection,
) -> None:
    assert claim(connection, holder="first") == 1
    assert claim(connection, holder="second") is None
    assert lease(connection) == (1, "first", True, False)
    assert claim(connection, 1, holder="second") == 1, "another shard"
    assert claim(connection, run_id=OTHER) == 1, "another run"
    assert release(connection, 0, 1)
    assert claim(connection, holder="second") == 2
    assert lease(connection) == (2, "second", True, False)


def claimed_at_once(store: Store, claimers: int = 8) -> list[int]:
    """The epochs that so many sessions got, who asked for one lease at one moment."""
    got: list[int | None] = []
    ready = threading.Barrier(claimers)

    def take() -> None:
        with store.connect() as own:
            ready.wait()
            got.append(claim(own))

    threads = [threading.Thread(target=take) for _ in range(claimers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == claimers
    return [epoch for epoch in got if epoch is not None]


def test_of_those_who_claim_at_once_one_gets_it(store: Store, connection: Connection) -> None:
    assert claimed_at_once(store) == [1]
    assert claimed_at_once(store) == []
    release(connection, 0, 1)
    assert claimed_at_once(store) == [2]


def test_a_lease_ends_by_the_databases_clock(connection: Connection) -> None:
    assert claim(connection, holder="first", seconds=0.3) == 1
    assert claim(connection, holder="second") is None
    pass_ms(connection, 350)
    assert lease(connection) == (1, "first", False, False)
    assert claim(connection, holder="second") == 2


def test_a_lease_is_renewed_as_long_as_it_is_held(connection: Connection) -> None:
    claim(connection, 0, seconds=0.3)
    claim(connection, 1, seconds=0.3)
    claim(connection, 2, seconds=0.3)
    assert renew(connection, (0, 1), (2, 1), (1, 7), (5, 1)) == [0, 2]
    pass_ms(connection, 350)
    assert [lease(connection, shard)[2] for shard in range(3)] == [True, False, True]


def test_a_lease_that_has_ended_is_not_renewed_whoever_asks(
    connection: Connection, administrator: Connection
) -> None:
    """Not by the function, and not by the owner or a superuser around it."""
    claim(connection, seconds=0.001)
    pass_ms(connection, 10)
    assert renew(connection, (0, 1)) == []
    assert lease(connection) == (1, "me", False, False)
    awaken = "UPDATE failproof.leases SET expires_at = clock_timestamp() + interval '1 day'"
    with pytest.raises(psycopg.DatabaseError, match="has ended") as refused:
        administrator.execute(awaken)
    assert refused.value.sqlstate == "FP002"
    administrator.execute("SET session_replication_role = replica")
    with pytest.raises(psycopg.DatabaseError, match="has ended"):
        administrator.execute(awaken)


def test_a_lease_that_was_taken_over_is_neither_renewed_nor_released(
    connection: Connection,
) -> None:
    claim(connection, holder="first", seconds=0.001)
    pass_ms(connection, 10)
    claim(connection, holder="second")
    assert renew(connection, (0, 1)) == []
    assert not release(connection, 0, 1, finished=True)
    assert lease(connection) == (2, "second", True, False)


def test_a_lease_that_was_released_is_over_and_may_be_finished(connection: Connection) -> None:
    claim(connection)
    assert release(connection, 0, 1, finished=True)
    assert lease(connection) == (1, "me", False, True)
    assert renew(connection, (0, 1)) == []
    assert claim(connection) == 2
    assert lease(connection) == (2, "me", True, True), "a hint, whoever looks at the shard again"


def test_a_lease_is_claimed_again_only_where_nobody_had_it_since(connection: Connection) -> None:
    claim(connection, holder="first", seconds=0.001)
    pass_ms(connection, 10)
    assert claim(connection, holder="first", seconds=0.001, after=1) == 2
    pass_ms(connection, 10)
    assert claim(connection, holder="second", seconds=0.001) == 3
    pass_ms(connection, 10)
    assert claim(connection, holder="first", after=2) is None
    assert lease(connection) == (3, "second", False, False)


def test_a_lease_does_not_outlast_its_end_by_the_session_that_holds_it(
    store: Store, connection: Connection
) -> None:
    with store.connect() as session:
        session.execute("SELECT pg_advisory_lock(99)")
        claim(session, holder="first", seconds=0.3, session=99)
        assert claim(connection, holder="second", session=98) is None
        pass_ms(connection, 350)
        assert claim(connection, holder="second", session=98) == 2


def test_a_lease_whose_session_is_gone_is_free_at_once(
    store: Store, connection: Connection
) -> None:
    with store.connect() as session:
        session.execute("SELECT pg_advisory_lock(99)")
        assert claim(session, holder="first", session=99) == 1
        assert claim(session, holder="first again", session=99) is None, "its own is no free one"
        assert claim(connection, holder="second", session=98) is None
        session.execute("SELECT pg_advisory_unlock_all()")
        assert claim(connection, holder="second", session=98) == 2
        assert lease(connection) == (2, "second", True, False)


def test_a_lease_moves_to_another_session_of_its_holder_when_it_is_renewed(
    connection: Connection, store: Store
) -> None:
    claim(connection, session=99)  # which no session has
    with store.connect() as session:
        session.execute("SELECT pg_advisory_lock(98)")
        session.execute("SELECT failproof.renew_leases(%s, '{0}', '{1}', 600, 98)", ([RUN],))
        assert claim(connection, holder="second") is None
        session.execute("SELECT pg_advisory_unlock_all()")  # a session that ends may take a moment
    assert claim(connection, holder="second") == 2


WRONG: dict[str, tuple[tuple[object, ...], str]] = {
    "no time": ((RUN, 0, "me", 0.0), "22023"),
    "a time below zero": ((RUN, 0, "me", -1.0), "22023"),
    "more than a day": ((RUN, 0, "me", 86_401.0), "22023"),
    "a time that is no number": ((RUN, 0, "me", float("nan")), "22023"),
    "for ever": ((RUN, 0, "me", float("inf")), "22023"),
    "NULL as a time": ((RUN, 0, "me", None), "22023"),
    "no run": ((None, 0, "me", 1.0), "23502"),
    "no shard": ((RUN, None, "me", 1.0), "23502"),
    "no holder": ((RUN, 0, None, 1.0), "23502"),
    "a shard that there cannot be": ((RUN, -2, "me", 1.0), "23514"),
}


def test_no_lease_that_makes_no_sense_is_given(connection: Connection) -> None:
    for name, (given, state) in WRONG.items():
        with pytest.raises(psycopg.DatabaseError) as refused:
            connection.execute("SELECT failproof.claim_lease(%s, %s, %s, %s)", given)
        assert refused.value.sqlstate == state, (name, refused.value)
    assert connection.execute("SELECT FROM failproof.lease_list").fetchall() == []


def test_no_shard_is_held_alone(connection: Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="only_a_run_is_held_alone"):
        claim(connection, 0, alone=True)


# -- a run that is held with all its shards --------------------------------------------------


def test_a_run_that_is_held_alone_has_no_other_holders(connection: Connection) -> None:
    assert claim(connection, -1, alone=True) == 1
    assert claim(connection, 0) is None
    assert claim(connection, -1) is None
    assert claim(connection, 0, run_id=OTHER) == 1
    release(connection, -1, 1)
    assert claim(connection, 0) == 1


def test_a_run_is_not_held_alone_while_one_of_its_shards_is_held(connection: Connection) -> None:
    assert claim(connection, 3) == 1
    assert claim(connection, -1, alone=True) is None
    assert claim(connection, -1) == 1, "who coordinates the run is no driver of its own"
    assert claim(connection, 4) == 1
    release(connection, -1, 1)
    release(connection, 3, 1)
    assert claim(connection, -1, alone=True) is None
    release(connection, 4, 1)
    assert claim(connection, -1, alone=True) == 2


def test_who_takes_a_run_alone_shuts_out_whoever_had_a_shard(
    store: Store, connection: Connection
) -> None:
    """Its lease has ended; nobody else has claimed that shard, and nobody has to."""
    claim(connection, 3, holder="worker", seconds=0.001)
    pass_ms(connection, 10)
    append(store, connection, (RUN, 3, 1))
    assert claim(connection, -1, holder="driver", alone=True) == 1
    assert lost(store, connection, (RUN, 3, 1))
    assert renew(connection, (3, 1)) == []
    assert claim(connection, 3, holder="worker", after=1) is None
    assert lease(connection, 3) == (2, "driver", False, False)
    release(connection, -1, 1)
    assert claim(connection, -1, alone=True) == 2
    assert lease(connection, 3)[0] == 2, "once is enough"


def test_who_takes_a_shard_shuts_out_whoever_had_the_run_alone(
    store: Store, connection: Connection
) -> None:
    claim(connection, -1, holder="driver", seconds=0.001, alone=True)
    pass_ms(connection, 10)
    append(store, connection, (RUN, -1, 1))
    assert claim(connection, 3, holder="worker") == 1
    assert lost(store, connection, (RUN, -1, 1))
    assert claim(connection, -1, holder="driver", alone=True, after=1) is None
    assert claim(connection, -1, holder="coordinator") == 3
    append(store, connection, (RUN, 3, 1), (RUN, -1, 3))
    assert claim(connection, 4, holder="worker") == 1
    append(store, connection, (RUN, -1, 3))


# -- appends ---------------------------------------------------------------------------------


def lost(store: Store, connection: Connection, *named: tuple[UUID, int, int]) -> str:
    """What an append under these leases is told. It writes nothing."""
    before = events(connection)
    with pytest.raises(psycopg.DatabaseError) as refused:
        append(store, connection, *named)
    assert refused.value.sqlstate == "FP001", refused.value
    assert events(connection) == before
    return str(refused.value.diag.message_primary)


def test_an_append_names_leases_that_are_held(store: Store, connection: Connection) -> None:
    for shard in range(3):
        claim(connection, shard)
    append(store, connection, (RUN, 0, 1))
    append(store, connection, (RUN, 2, 1), (RUN, 0, 1), (RUN, 1, 1))
    append(store, connection, (RUN, 1, 1), (RUN, 1, 1))
    assert events(connection) == 3
    assert "shard 1 lost: this process holds epoch 2, the log is at epoch 1" in lost(
        store, connection, (RUN, 0, 1), (RUN, 1, 2), (RUN, 2, 1)
    )
    lost(store, connection, (RUN, 3, 1))
    lost(store, connection, (OTHER, 0, 1))
    lost(store, connection, (RUN, -1, 1))


def test_a_batch_under_one_lease_of_an_old_epoch_writes_nothing(
    store: Store, connection: Connection
) -> None:
    claim(connection, 0)
    claim(connection, 1, seconds=0.001)
    pass_ms(connection, 10)
    append(store, connection, (RUN, 0, 1), (RUN, 1, 1))
    claim(connection, 1)
    lost(store, connection, (RUN, 0, 1), (RUN, 1, 1))
    append(store, connection, (RUN, 0, 1), (RUN, 1, 2))


def test_a_claim_waits_for_an_append_that_is_under_way(
    store: Store, connection: Connection
) -> None:
    """Whoever claims a lease reads all that was written under it before."""
    claim(connection, seconds=0.001)
    pass_ms(connection, 10)
    claimed: list[int | None] = []

    def take() -> None:
        with store.connect() as own:
            claimed.append(claim(own))

    taking = threading.Thread(target=take)
    with connection.transaction():
        append(store, connection, (RUN, 0, 1))
        taking.start()
        taking.join(0.3)
        assert claimed == []
    taking.join()
    assert claimed == [2]


def test_a_renewal_waits_for_no_append(store: Store, connection: Connection) -> None:
    claim(connection)
    with connection.transaction(), store.connect(options="-c lock_timeout=2s") as own:
        append(store, connection, (RUN, 0, 1))
        assert renew(own, (0, 1)) == [0]


def test_an_append_under_256_leases(store: Store, connection: Connection) -> None:
    for shard in range(256):
        claim(connection, shard)
    named = [(RUN, shard, 1) for shard in range(256)]
    append(store, connection, *named)
    lost(store, connection, *named[:200], (RUN, 200, 2), *named[201:])


ODD = {
    "empty arrays": "'{}'::uuid[], '{}'::int[], '{}'::bigint[]",
    "more runs than shards": "ARRAY[%(run)s, %(run)s], '{0}', '{1}'",
    "more shards than runs": "ARRAY[%(run)s], '{0,1}', '{1}'",
    "more epochs than runs": "ARRAY[%(run)s], '{0}', '{1,1}'",
    "fewer epochs than runs": "ARRAY[%(run)s, %(run)s], '{0,1}', '{1}'",
    "no epochs": "ARRAY[%(run)s], '{0}', NULL",
    "no shards": "ARRAY[%(run)s], NULL, '{1}'",
    "no runs": "NULL, '{0}', '{1}'",
    "epochs alone": "NULL, NULL, '{1}'",
}
NULLS = {
    "NULL as a run": "ARRAY[NULL::uuid], '{0}', '{1}'",
    "NULL as a shard": "ARRAY[%(run)s], '{NULL}', '{1}'",
    "NULL as an epoch": "ARRAY[%(run)s], '{0}', '{NULL}'",
    "NULL as the epoch of none": "ARRAY[%(run)s], '{9}', '{NULL}'",
    "NULL after one that is held": "ARRAY[%(run)s, NULL], '{0,NULL}', '{1,NULL}'",
}


def test_no_append_gets_by_with_leases_that_name_nothing(
    store: Store, connection: Connection
) -> None:
    claim(connection)
    entry = store.log.mapper.to_stored_event(scored(uuid4()))
    columns = append_parameters([entry])[:6]
    for name, arguments in (ODD | NULLS).items():
        leases = arguments.replace("%(run)s", f"'{RUN}'::uuid")
        with pytest.raises(psycopg.DatabaseError) as refused:
            connection.execute(
                f"SELECT failproof.append(%b, %b, %b, %b, %b, %b, {leases})".encode(), columns
            )
        state = "22023" if name in ODD else "FP001"
        assert refused.value.sqlstate == state, (name, refused.value)
    assert events(connection) == 0


def test_an_append_of_nobodys_leases_is_checked_against_none(
    store: Store, connection: Connection
) -> None:
    append(store, connection)
    assert events(connection) == 1
