"""The tree over the log: integrated after the commit, signed, continued, never over a change."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing.checkpoint_signer import (
    CheckpointSigner,
    own_key,
    sign_and_keep_checkpoint,
)
from failproof_es.assurance.signing.integrator import LedgerBroken, integrate, sign_checkpoint
from failproof_es.assurance.signing.kept_checkpoints import (
    Forked,
    check_and_keep,
    default_place,
    read_kept,
)
from failproof_es.assurance.signing.signing_key import key_path, log_key
from failproof_es.assurance.tree import read_edge, stored_tree
from failproof_es.events import Scored
from failproof_es.ledger import merkle
from failproof_es.ledger.note import NoteError, SigningKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.store import Store
from tests.unit.ledger import naive


@pytest.fixture
def connection(store: Store) -> Iterator[psycopg.Connection[Any]]:
    with store.connect() as connected:
        yield connected


def scored(number: int) -> Scored:
    return Scored(
        originator_id=UUID(int=number + 1), originator_version=1, run_id=RUN, prompt_id=RUN,
        timestamp=datetime.now(UTC), model_key="m", repetition=1, scores={"accuracy": 1.0},
        passed=True,
        reason=f"event {number} é", scorer="s", scorer_version="1",
    )  # fmt: skip


RUN = uuid4()


def append(store: Store, first: int, last: int) -> None:
    """Append events first to last (exclusive), among them appends that fail and leave gaps."""
    for start in range(first, last, 100):
        store.log.events.put([scored(n) for n in range(start, min(start + 100, last))])
        with pytest.raises(Exception, match="is at version"):
            store.log.events.put([scored(start)])


def leaf_data(row: ledger.LeafRow) -> bytes:
    """A leaf by the page that describes it."""
    import hashlib
    import struct

    return (
        b"failproof-es/event/1\n"
        + row.stream_id
        + struct.pack(">QH", row.version, len(row.topic))
        + row.topic
        + struct.pack(">Q", len(row.state))
        + hashlib.sha256(row.state).digest()
    )


@pytest.mark.parametrize("sizes", [[1], [255, 256, 257], [600, 601]])
def test_the_tree_is_that_of_the_definition_however_it_was_integrated(
    store: Store, connection: psycopg.Connection[Any], sizes: list[int]
) -> None:
    key = SigningKey.generate(ledger.origin(connection))
    before = 0
    for size in sizes:
        append(store, before, size)
        before = size
        sign_checkpoint(connection, key, None)
        leaves = [leaf_data(row) for row in ledger.leaf_rows(connection)]
        edge = read_edge(connection)
        assert edge.size == size == len(leaves)
        assert edge.root() == naive.root(leaves)
        assert merkle.tree_root(stored_tree(connection).subtree, size) == naive.root(leaves)
        result = verify_log(connection, key.public)
        assert (result.findings, result.signed_size) == ([], size)


def test_the_writer_and_the_row_give_the_same_leaf(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    append(store, 0, 3)
    for row in ledger.leaf_rows(connection):
        assert row.leaf_hash == naive.leaf_hash(leaf_data(row))


def test_a_tree_without_new_events_is_not_signed_twice(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    append(store, 0, 5)
    key = SigningKey.generate(ledger.origin(connection))
    assert sign_checkpoint(connection, key, None) == sign_checkpoint(connection, key, None)
    assert len(ledger.checkpoints(connection)) == 1


def test_nothing_is_integrated_over_an_event_that_its_writer_did_not_record(
    store: Store,
    connection: psycopg.Connection[Any],
    administrator: psycopg.Connection[Any],
) -> None:
    append(store, 0, 5)
    tamper(administrator, "UPDATE failproof.events SET topic = 'Forged' WHERE notification_id = 3")
    with pytest.raises(LedgerBroken, match=r"position 3 .*Forged"):
        integrate(connection)


def tamper(administrator: psycopg.Connection[Any], statement: str) -> None:
    """What a superuser can do who takes the guards down first and puts them up again."""
    with administrator.transaction():
        administrator.execute("SET LOCAL session_replication_role = replica")
        for trigger in ("statements_change_nothing", "rows_never_change"):
            administrator.execute("SET LOCAL event_triggers = off")
            for table in ("events", "ledger_tiles"):
                administrator.execute(
                    f"ALTER TABLE failproof.{table} DISABLE TRIGGER {trigger}".encode()
                )
        administrator.execute(statement.encode())


def test_a_tree_that_does_not_continue_its_checkpoint_is_not_signed(
    store: Store,
    connection: psycopg.Connection[Any],
    administrator: psycopg.Connection[Any],
) -> None:
    append(store, 0, 300)
    key = SigningKey.generate(ledger.origin(connection))
    sign_checkpoint(connection, key, None)
    tamper(
        administrator,
        "UPDATE failproof.ledger_tiles SET hashes = overlay(hashes placing '\\x00'::bytea from 9) "
        "WHERE tile = 0 AND level = 0",
    )
    append(store, 300, 310)
    with pytest.raises(LedgerBroken, match="does not continue"):
        sign_checkpoint(connection, key, None)
    with pytest.raises(LedgerBroken, match="not of this key"):
        sign_checkpoint(connection, SigningKey.generate(ledger.origin(connection)), None)


def test_a_log_that_was_cut_does_not_continue_the_checkpoint_kept_outside(
    store: Store, connection: psycopg.Connection[Any], administrator: psycopg.Connection[Any]
) -> None:
    append(store, 0, 20)
    assert sign_and_keep_checkpoint(connection).size == 20
    tamper(administrator, "DELETE FROM failproof.events WHERE notification_id > 15")
    administrator.execute("SET session_replication_role = replica")
    for table in ("ledger_tiles", "ledger_checkpoints"):
        administrator.execute("SET event_triggers = off")
        administrator.execute(f"ALTER TABLE failproof.{table} DISABLE TRIGGER USER".encode())
        administrator.execute(f"DELETE FROM failproof.{table}".encode())
    with pytest.raises(Forked, match="tail was cut"):
        sign_and_keep_checkpoint(connection)


def test_signers_and_watchers_at_once_never_take_each_other_for_an_attack(store: Store) -> None:
    """What is kept always had been signed before, and never goes back."""
    with store.connect() as connection:
        key = own_key(connection).public
        place = str(default_place(key.name))
        append(store, 0, 1)
        sign_and_keep_checkpoint(connection)

    def sign(signer: int) -> list[int]:
        sizes = []
        for n in range(8):
            store.log.events.put([scored(1_000 * signer + n)])
            with store.connect() as connection:
                sizes.append(sign_and_keep_checkpoint(connection).size)
        return sizes

    def watch(_: int) -> list[int]:
        with store.connect() as connection:
            return [check_and_keep(connection, place, key)[0].size for _ in range(24)]

    with ThreadPoolExecutor(6) as pool:
        seen = [*pool.map(sign, (1, 2, 3)), *pool.map(watch, (1, 2, 3))]
    assert all(sizes == sorted(sizes) for sizes in seen)
    kept = read_kept(place, key)
    assert kept is not None
    assert kept.size == 25


def test_the_key_is_the_users_alone(connection: psycopg.Connection[Any]) -> None:
    origin = ledger.origin(connection)
    made = log_key(origin, create=True)
    path = key_path(origin)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert log_key(origin).public == made.public
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match=r"\[signing-key-exposed\]"):
        log_key(origin)


def test_a_key_of_another_log_signs_nothing(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    append(store, 0, 2)
    with pytest.raises(NoteError, match="does not sign for"):
        sign_checkpoint(connection, SigningKey.generate("failproof-es/another"), None)


def test_the_keeper_signs_what_is_committed_when_it_ends(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    with CheckpointSigner(store) as keeper:
        append(store, 0, 30)
    assert keeper.trouble is None
    origin = ledger.origin(connection)
    kept = read_kept(str(default_place(origin)), log_key(origin).public)
    assert kept is not None
    assert kept.size == 30
    assert verify_log(connection, log_key(origin).public, [kept]).anchored_size == 30


def test_a_log_is_verified_on_from_where_it_was_verified_before(
    store: Store, connection: psycopg.Connection[Any], administrator: psycopg.Connection[Any]
) -> None:
    key = SigningKey.generate(ledger.origin(connection))
    append(store, 0, 600)
    sign_checkpoint(connection, key, None)
    first = verify_log(connection, key.public)
    assert first.verified is not None
    assert first.verified.size == 512
    append(store, 600, 900)
    sign_checkpoint(connection, key, None)
    later = verify_log(connection, key.public, before=first.verified)
    assert (later.findings, later.events, later.tree_size) == ([], 388, 900)
    assert later.root == verify_log(connection, key.public).root
    tamper(
        administrator,
        "UPDATE failproof.events SET topic = 'Forged' WHERE originator_id::text LIKE '%258'",
    )
    [found] = verify_log(connection, key.public, before=first.verified).findings
    assert (found.kind, found.index, found.topic) == ("row changed", 599, "Forged")
