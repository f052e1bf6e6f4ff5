"""What the logins of auditors, of the projector and of the engine cannot stop."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from failproof_es.assurance.checking.findings import SIGNATURE
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing.integrator import LedgerBroken, integrate, sign_checkpoint
from failproof_es.assurance.tree import read_edge
from failproof_es.events import Scored
from failproof_es.ledger import merkle
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.leaf import leaf_hash
from failproof_es.ledger.note import SigningKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.schema import migration
from failproof_es.store.schema.installation import AUDITOR, PROJECTOR, WRITER, install
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import Lease, RunBusy
from failproof_es.store.writing.recorder import append_parameters, query

RUN = UUID(int=7)
IMPATIENT = "-c statement_timeout=5s"


@pytest.fixture
def connection(store: Store) -> Iterator[psycopg.Connection[Any]]:
    """The engine's, which gives up when it has to wait."""
    with store.connect(options=IMPATIENT) as connected:
        yield connected


@pytest.fixture
def key(connection: psycopg.Connection[Any]) -> SigningKey:
    return SigningKey.generate(ledger.origin(connection))


def scored(stream: UUID) -> Scored:
    return Scored(
        originator_id=stream, originator_version=1, run_id=RUN, timestamp=datetime.now(UTC),
        prompt_id=RUN, model_key="m", repetition=1, scores={"accuracy": 1.0},
        passed=True, reason="",
        scorer="s", scorer_version="1",
    )  # fmt: skip


def append(store: Store, connection: psycopg.Connection[Any], events: int = 1) -> None:
    entries = [store.log.mapper.to_stored_event(scored(uuid4())) for _ in range(events)]
    connection.execute(query("append"), append_parameters(entries)).fetchall()


def as_role(store: Store, role: str) -> psycopg.Connection[Any]:
    return psycopg.connect(store.url.replace(f"//{WRITER}@", f"//{role}@"))


# -- locks -----------------------------------------------------------------------------------

NAMES = ("failproof.append", "failproof.ledger", f"failproof.run.{RUN}")


def test_no_advisory_lock_of_an_auditor_stops_appending_signing_or_a_run(
    store: Store, connection: psycopg.Connection[Any], key: SigningKey
) -> None:
    with as_role(store, AUDITOR) as auditor:
        for name in NAMES:
            auditor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (name,))
        append(store, connection)
        assert connection.execute("SELECT failproof.number_run(%s)", (RUN,)).fetchone() == (1,)
        assert sign_checkpoint(connection, key, None)
        with Lease(store.url, RUN, "the engine") as lease:
            assert lease.acquire().epoch == 1


def test_a_driver_is_still_refused_while_another_one_drives(store: Store) -> None:
    with Lease(store.url, RUN, "the first") as lease:
        lease.acquire()
        with pytest.raises(RunBusy, match="the first"):
            Lease(store.url, RUN, "the second").acquire()


PREPARED = (
    "SELECT FROM failproof.{}",
    "SELECT FROM failproof.{} FOR UPDATE",
    "INSERT INTO failproof.{} DEFAULT VALUES",
    "DELETE FROM failproof.{}",
)
"""A statement that is prepared holds its table's lock before anybody asks for the right."""


@pytest.mark.parametrize("role", [AUDITOR, PROJECTOR])
def test_no_statement_that_an_outsider_prepares_holds_up_the_log(
    role: str, store: Store, connection: psycopg.Connection[Any], key: SigningKey
) -> None:
    with ExitStack() as held:
        for table in ("append_lock", "ledger_lock", "events", "ledger_tiles"):
            for number, statement in enumerate(PREPARED):
                outsider = held.enter_context(as_role(store, role))
                text = f"PREPARE held_{number} AS {statement.format(table)}"
                outsider.execute(text.encode())
        append(store, connection)
        assert sign_checkpoint(connection, key, None)


@pytest.mark.parametrize("role", [AUDITOR, PROJECTOR, WRITER])
def test_nobody_locks_the_lock_tables_directly(role: str, store: Store) -> None:
    with as_role(store, role) as outsider:
        for table, mode in product(
            ("append_lock", "ledger_lock"),
            ("ACCESS SHARE", "SHARE UPDATE EXCLUSIVE", "ACCESS EXCLUSIVE"),
        ):
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege, match=table),
                outsider.transaction(),
            ):
                outsider.execute(f"LOCK TABLE failproof.{table} IN {mode} MODE".encode())


def test_two_appends_still_take_turns(store: Store, connection: psycopg.Connection[Any]) -> None:
    with store.connect(autocommit=False) as first:
        append(store, first)
        connection.execute("SET statement_timeout = '300ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            append(store, connection)
        first.commit()
        append(store, connection)


# -- events ----------------------------------------------------------------------------------


def test_an_event_under_a_leaf_that_is_not_its_own_is_refused(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    for wrong in (bytes(32), b"", None):
        entry = store.log.mapper.to_stored_event(scored(uuid4()))
        parameters = list(append_parameters([entry]))
        parameters[5] = [wrong]
        with pytest.raises(psycopg.DatabaseError) as refused:
            connection.execute(query("append"), parameters)
        assert refused.value.sqlstate == "FP005"
    assert ledger.count_events(connection) == 0


BAD_EVENTS = {
    "a version below 0": (-1, "Scored"),
    "a topic of 64 KiB": (1, "S" * 65_536),
    "a topic of 129 characters": (1, "S" * 129),
    "a topic with a line break": (1, "Scored\n"),
    "an empty topic": (1, ""),
    "a topic with NUL's name": (1, "Scored\\u0000"),
}


def test_an_event_that_no_reader_could_hash_is_refused(
    connection: psycopg.Connection[Any],
) -> None:
    for what, (version, topic) in BAD_EVENTS.items():
        leaf = bytes(32)
        if version >= 0 and len(topic) < 65_536:
            leaf = leaf_hash(RUN.bytes, version, topic.encode(), b"{}")
        columns = ([RUN], [version], [topic], [b"{}"], [None], [leaf], None, None, None)
        with pytest.raises(psycopg.DatabaseError):
            connection.execute(query("append"), columns)
        assert ledger.count_events(connection) == 0, what


# -- tiles -----------------------------------------------------------------------------------


def add_tile(connection: psycopg.Connection[Any], tile: Tile) -> None:
    ledger.add_tiles(connection, [tile])


def leaves(connection: psycopg.Connection[Any]) -> tuple[list[bytes], list[int]]:
    rows = list(ledger.leaf_rows(connection))
    return [row.leaf_hash or b"" for row in rows], [row.position for row in rows]


def first_leaves(connection: psycopg.Connection[Any], count: int) -> Tile:
    hashes, positions = leaves(connection)
    return Tile(0, 0, count, b"".join(hashes[:count]), positions[:count])


def wrong_tiles(connection: psycopg.Connection[Any]) -> dict[str, Tile]:
    """Each of them would have stopped the ledger for good. 600 events, the first 300 signed."""
    hashes, positions = leaves(connection)

    def leaf_tile(number: int, chosen: list[int], width: int | None = None) -> Tile:
        joined = b"".join(hashes[n] for n in chosen)
        return Tile(0, number, width or len(chosen), joined, [positions[n] for n in chosen])

    after = list(range(256, 310))
    good = leaf_tile(1, after)
    root = merkle.perfect_root(hashes[:256])
    return {
        "of another hash": Tile(0, 1, 54, good.hashes[:-32] + bytes(32), good.positions),
        "that leaves an event out": leaf_tile(1, [*range(256, 300), *range(301, 311)]),
        "with an event twice": leaf_tile(1, [*after[:-1], after[-2]]),
        "that changes what was signed": leaf_tile(1, [256, *range(258, 311)]),
        "in another order": leaf_tile(1, [*after[:-2], after[-1], after[-2]]),
        "that begins the log again": leaf_tile(2, list(range(256))),
        "far behind the last": leaf_tile(5, list(range(300, 310))),
        "before the first": leaf_tile(-1, list(range(10))),
        "of events that are not there": Tile(0, 1, 54, good.hashes, [10**9] * 54),
        "without positions": Tile(0, 1, 54, good.hashes, None),
        "with a position that is null": Tile(0, 1, 54, good.hashes, [None] * 54),  # type: ignore[list-item]
        "wider than it is": leaf_tile(1, after, width=100),
        "of no width": Tile(0, 1, 0, b"", []),
        "wider than a tile": leaf_tile(1, list(range(256, 513)), width=257),
        "of another root": Tile(1, 0, 2, root + bytes(32)),
        "of a tile that is not full": Tile(1, 0, 2, root + merkle.node_hash(root, root)),
        "of a root far away": Tile(1, 1, 1, root),
        "of a level that has nothing below": Tile(2, 0, 1, root),
        "of a level that no tree has": Tile(9, 0, 1, root),
        "of a level below the leaves": Tile(-1, 0, 1, root),
        "of a root with positions": Tile(1, 0, 2, root + root, [1]),
    }


def test_no_tile_that_is_not_what_the_log_gives_is_taken(
    store: Store, connection: psycopg.Connection[Any], key: SigningKey
) -> None:
    append(store, connection, 300)
    sign_checkpoint(connection, key, None)
    append(store, connection, 300)
    for what, tile in wrong_tiles(connection).items():
        with pytest.raises(psycopg.DatabaseError) as refused:
            add_tile(connection, tile)
        assert refused.value.sqlstate in ("FP006", "23514"), (what, refused.value)
    sign_checkpoint(connection, key, None)
    rows, _ = leaves(connection)
    edge = read_edge(connection)
    assert (edge.size, edge.root()) == (600, naive_root(rows))
    assert verify_log(connection, key.public).genuine


def naive_root(leaf_hashes: list[bytes]) -> bytes:
    whole = merkle.Frontier()
    whole.extend(leaf_hashes)
    return whole.root()


def test_a_tile_that_stands_already_stays_as_it_is(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    append(store, connection, 10)
    good = first_leaves(connection, 8)
    add_tile(connection, good)
    add_tile(connection, good)
    add_tile(connection, Tile(0, 0, 3, bytes(96), [1, 2, 3]))
    assert list(ledger.tiles(connection, 0)) == [good]
    add_tile(connection, first_leaves(connection, 10))
    assert [tile.width for tile in ledger.tiles(connection, 0)] == [10]


# -- the database's own arithmetic -----------------------------------------------------------

SIZES = [0, 1, 2, 3, 255, 256, 257, 511, 512, 600, 700]


def test_the_database_computes_every_root_as_the_definition_does(
    store: Store, connection: psycopg.Connection[Any], administrator: psycopg.Connection[Any]
) -> None:
    key = SigningKey.generate(ledger.origin(connection))
    append(store, connection, 700)
    sign_checkpoint(connection, key, None)
    hashes, _ = leaves(connection)
    for size in SIZES:
        [(root,)] = administrator.execute("SELECT failproof.tree_root(%s)", (size,)).fetchall()
        assert root == naive_root(hashes[:size]), size
    for beyond in (701, 10**9, -1):
        row = administrator.execute("SELECT failproof.tree_root(%s)", (beyond,)).fetchone()
        assert row == (None,)


def test_the_database_computes_a_leaf_as_the_definition_does(
    administrator: psycopg.Connection[Any],
) -> None:
    for version, topic, state in ((1, "A", b""), (2**63 - 1, "T" * 128, b"\x00\xff" * 5000)):
        [(leaf,)] = administrator.execute(
            "SELECT failproof.leaf_of(%s, %s, %s, %s)", (RUN, version, topic, state)
        ).fetchall()
        assert leaf == leaf_hash(RUN.bytes, version, topic.encode(), state)


# -- checkpoints -----------------------------------------------------------------------------


def test_no_checkpoint_of_another_log_or_another_tree_is_taken(
    store: Store, connection: psycopg.Connection[Any], key: SigningKey
) -> None:
    append(store, connection, 300)
    sign_checkpoint(connection, key, None)
    hashes, _ = leaves(connection)
    origin, root = key.name, naive_root(hashes)
    thief = SigningKey.generate("failproof-es/another")
    wrong = {
        "another origin": (300, str(Checkpoint(thief.name, 300, root).signed(thief))),
        "another root": (300, str(Checkpoint(origin, 300, bytes(32)).signed(key))),
        "more events than there are": (900, str(Checkpoint(origin, 900, root).signed(key))),
        "another size than is said": (299, str(Checkpoint(origin, 300, root).signed(key))),
        "a size below zero": (-1, f"{origin}\n-1\n{base64.b64encode(root).decode()}\n\n- x\n"),
        "no note": (300, ""),
        "a note without end": (
            300,
            str(Checkpoint(origin, 300, root).signed(key)) + "x" * 600_000,
        ),
    }
    for what, (size, note) in wrong.items():
        with pytest.raises(psycopg.DatabaseError) as refused:
            ledger.add_checkpoint(connection, size, note)
        assert refused.value.sqlstate in ("FP006", "23514"), (what, refused.value)
    assert len(ledger.checkpoints(connection)) == 1
    earlier = Checkpoint(origin, 256, naive_root(hashes[:256])).signed(key)
    ledger.add_checkpoint(connection, 256, str(earlier))
    assert verify_log(connection, key.public).genuine


def test_a_checkpoint_with_a_bad_signature_is_named_and_signing_goes_on(
    store: Store, connection: psycopg.Connection[Any], key: SigningKey
) -> None:
    append(store, connection, 300)
    sign_checkpoint(connection, key, None)
    hashes, _ = leaves(connection)
    tree = Checkpoint(key.name, 300, naive_root(hashes))
    thief = SigningKey.generate(key.name)
    ledger.add_checkpoint(connection, 300, str(tree.signed(thief).signed(thief.sign("x\n"))))
    unsigned = f"{tree.text()}\n— {key.name} no signature {'é' * 500}\n"
    ledger.add_checkpoint(connection, 300, unsigned)
    append(store, connection, 10)
    integrate(connection)
    sign_checkpoint(connection, key, None)
    newest = ledger.newest_checkpoint(connection)
    assert newest is not None and newest.tree_size == 310
    result = verify_log(connection, key.public)
    assert [each.kind for each in result.findings] == [SIGNATURE, SIGNATURE]
    assert result.signed_size == 310


def test_a_log_of_which_this_key_signed_nothing_is_not_gone_on_with(
    store: Store, connection: psycopg.Connection[Any], key: SigningKey
) -> None:
    append(store, connection, 3)
    sign_checkpoint(connection, key, None)
    with pytest.raises(LedgerBroken, match="not of this key"):
        sign_checkpoint(connection, SigningKey.generate(key.name), None)


# -- upgrades --------------------------------------------------------------------------------


def test_an_upgrade_that_somebody_holds_up_says_who_it_is(
    store: Store, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "_LONGEST_WAIT_MS", 200)
    with as_role(store, AUDITOR) as auditor:
        auditor.execute("SELECT pg_advisory_lock(hashtextextended('failproof.migrate', 0))")
        holder = f"process {auditor.info.backend_pid} of user {AUDITOR}"
        with pytest.raises(InvalidInput, match=holder):
            install(administrator)
    assert install(administrator).migrations == []


# -- windows ---------------------------------------------------------------------------------


def test_window_a_statement_that_is_queued_before_its_rights_are_looked_at_holds_up_appends(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    """For as long as those sessions stand; docs/reference/roles.md says so."""
    with as_role(store, AUDITOR) as reading, as_role(store, AUDITOR) as queued:
        reading.execute("SELECT count(*) FROM failproof.stored_events")
        asked = threading.Thread(target=refused_rule, args=(queued,))
        asked.start()
        wait_until_blocked(store, queued.info.backend_pid)
        connection.execute("SET statement_timeout = '500ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            append(store, connection)
        reading.rollback()
        asked.join()
        append(store, connection)


def refused_rule(auditor: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        auditor.execute("CREATE RULE quiet AS ON INSERT TO failproof.events DO INSTEAD NOTHING")


def wait_until_blocked(store: Store, pid: int) -> None:
    with store.connect() as looking:
        while looking.execute("SELECT pg_blocking_pids(%s)", (pid,)).fetchone() == ([],):
            time.sleep(0.01)
