"""A long log is verified by several processes, and what is found is what one walk finds."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, Self
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from failproof_es.assurance.checking import ranges
from failproof_es.assurance.checking.findings import Verification
from failproof_es.assurance.checking.ranges import Sound, TileRange
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing.integrator import sign_checkpoint
from failproof_es.ledger.note import SigningKey
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from failproof_es.store.connecting import connect
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from failproof_es.support.machine.sidecar import Sidecar
from tests.conftest import create_database, database_url_as, drop_database
from tests.examples import stride
from tests.integration.store.ledger.test_ledger import append, tamper

SIZES = (300, 1024, 1034)
"""Sizes that are signed: inside a tile, at the end of a part, and behind the last full tile."""
TILES_AT_ONCE = 2
PLACES = (1, 256, 257, 512, 513, 768, 1024, 1025, 1034)
"""The first and the last event of tiles and of parts, and the last of all."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The name of a database with the log, to which nobody is connected, and its key."""

    database: str
    key: SigningKey


class InThisProcess:
    """Checks parts as the processes do; remembers how many were sound."""

    sound = 0

    def __init__(self, url: str, processes: int) -> None:
        self._url = url

    def __enter__(self) -> Self:
        type(self).sound = 0
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def check(self, asked: Iterator[TileRange]) -> Iterator[tuple[TileRange, Sound | None]]:
        with connect(self._url) as connection:
            for part in asked:
                found = ranges.check(connection, part)
                type(self).sound += found is not None
                yield part, found


@pytest.fixture(scope="module")
def recorded(postgres_server: EmbeddedServer, migrated_database: str) -> Iterator[Recorded]:
    """Written and signed once; a test has a copy of it."""
    name, before = f"ranges_{uuid4().hex}", 0
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name, WRITER)
    with Store.open(url) as store, store.connect() as connection:
        key = SigningKey.generate(ledger.origin(connection))
        for size in SIZES:
            append(store, before, size)
            before = size
            sign_checkpoint(connection, key, None)
    yield Recorded(name, key)
    drop_database(postgres_server, name)


@pytest.fixture
def store(postgres_server: EmbeddedServer, recorded: Recorded) -> Iterator[Store]:
    name = f"store_{uuid4().hex}"
    create_database(postgres_server, name, recorded.database)
    with Store.open(database_url_as(postgres_server, name, WRITER)) as opened:
        yield opened
    drop_database(postgres_server, name)


class Log:
    """A log of 1,034 events under three checkpoints."""

    def __init__(
        self, store: Store, administrator: psycopg.Connection[Any], key: SigningKey
    ) -> None:
        self.administrator = administrator
        self.key = key
        self.url = store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
        rows = administrator.execute("SELECT notification_id FROM failproof.events ORDER BY 1")
        self.positions = [position for (position,) in rows]

    def position(self, place: int) -> int:
        """The position of an event, counted from 1."""
        return int(self.positions[place - 1])

    def verify(self, url: str | None = None) -> Verification:
        with connect(self.url) as connection:
            return verify_log(connection, self.key.public, url=url)

    def both(self) -> Verification:
        """What one walk finds, which is also what is found part by part."""
        by_parts, walked = self.verify(self.url), self.verify()
        assert by_parts == walked
        return walked


@pytest.fixture
def whole(store: Store, administrator: psycopg.Connection[Any], recorded: Recorded) -> Log:
    """Checked in parts as it is without a test."""
    return Log(store, administrator, recorded.key)


@pytest.fixture
def log(whole: Log, monkeypatch: pytest.MonkeyPatch) -> Log:
    """Checked in parts of two tiles, in this process."""
    monkeypatch.setattr(ranges, "FEWEST_TILES", 1)
    monkeypatch.setattr(ranges, "TILES_AT_ONCE", TILES_AT_ONCE)
    monkeypatch.setattr(ranges, "Checkers", InThisProcess)
    return whole


ROW = {
    "state": "UPDATE failproof.events SET state = state || ' ' WHERE notification_id = {at}",
    "topic": "UPDATE failproof.events SET topic = 'Forged' WHERE notification_id = {at}",
    "its writer's leaf": (
        "UPDATE failproof.events SET leaf_hash = sha256('') WHERE notification_id = {at}"
    ),
    "run": (
        "UPDATE failproof.events SET run_id = gen_random_uuid() WHERE notification_id = {at}"
    ),
    "removed": "DELETE FROM failproof.events WHERE notification_id = {at}",
    "moved": (
        "WITH gone AS (DELETE FROM failproof.events WHERE notification_id = {at} RETURNING *) "
        "INSERT INTO failproof.events (notification_id, originator_id, originator_version, topic, "
        "state, run_id, recorded_at, leaf_hash) OVERRIDING SYSTEM VALUE "
        "SELECT 1000000, originator_id, originator_version, topic, state, run_id, recorded_at, "
        "leaf_hash FROM gone"
    ),
    "at no time": (
        "UPDATE failproof.events SET recorded_at = 'infinity' WHERE notification_id = {at}"
    ),
    "early": (
        "UPDATE failproof.events SET recorded_at = recorded_at + interval '1 hour' "
        "WHERE notification_id = {at}"
    ),
    "late": (
        "UPDATE failproof.events SET recorded_at = recorded_at - interval '1 hour' "
        "WHERE notification_id = {at}"
    ),
}  # fmt: skip
COLUMNS = (
    "notification_id, originator_id, originator_version, topic, state, run_id, recorded_at, "
    "leaf_hash"
)
ACROSS = ((257, "early"), (512, "early"))
"""Later than the row behind it, which is in the same part, or in the next one."""
UNSEEN = {("early", SIZES[-1]), ("late", 1)}
"""Nothing comes after the last event, and nothing before the first."""


def test_a_log_as_it_was_recorded_is_genuine(log: Log) -> None:
    result = log.both()
    assert (result.genuine, result.events, result.signed_size) == (True, SIZES[-1], SIZES[-1])
    assert result.verified is not None
    assert InThisProcess.sound == 2


@contextmanager
def restored(log: Log, table: str, columns: str = "*") -> Iterator[None]:
    """Put the table's rows back at the end, whatever was changed."""
    log.administrator.execute(f"CREATE TABLE public.kept AS TABLE failproof.{table}".encode())
    yield
    named = "" if columns == "*" else f"({columns}) OVERRIDING SYSTEM VALUE"
    tamper(
        log.administrator,
        f"DELETE FROM failproof.{table}; "
        f"INSERT INTO failproof.{table} {named} SELECT {columns} FROM public.kept; "
        "DROP TABLE public.kept",
    )


def test_a_change_of_any_row_is_found_as_by_one_walk(log: Log) -> None:
    for place, change in (*list(product(PLACES, ROW))[:: stride(10)], *ACROSS):
        with restored(log, "events", COLUMNS):
            tamper(log.administrator, ROW[change].format(at=log.position(place)))
            result = log.both()
        assert bool(result.findings) == ((change, place) not in UNSEEN), (place, change)
        if change not in ("early", "late") and place <= 1024:
            assert InThisProcess.sound == (place - 1) // (256 * TILES_AT_ONCE), (place, change)
    assert log.both().genuine


def test_a_row_added_anywhere_is_found_as_by_one_walk(log: Log) -> None:
    free = sorted(set(range(1, log.positions[-1])) - set(log.positions))
    ends = [log.position(place) for place in (256, 512)]
    between = [min(each for each in free if each > end) for end in ends]
    for position in (0, *between, free[-1]):
        tamper(
            log.administrator,
            "INSERT INTO failproof.events (notification_id, originator_id, originator_version, "
            "topic, state, leaf_hash) OVERRIDING SYSTEM VALUE "
            f"VALUES ({position}, gen_random_uuid(), 1, 'Scored', '{{\"run_id\":null}}', "
            "sha256('none'))",
        )
        assert [each.position for each in log.both().findings] == [position]
        tamper(
            log.administrator, f"DELETE FROM failproof.events WHERE notification_id = {position}"
        )
    assert log.both().genuine


TILE = (
    "UPDATE failproof.ledger_tiles SET hashes = overlay(hashes PLACING sha256('') FROM {byte}) "
    "WHERE level = 0 AND tile = {tile} AND width >= {place}",
    "UPDATE failproof.ledger_tiles SET positions[{place}] = positions[{place}] + 1000000 "
    "WHERE level = 0 AND tile = {tile} AND width >= {place}",
    "DELETE FROM failproof.ledger_tiles WHERE level = 0 AND tile = {tile}",
    "UPDATE failproof.ledger_tiles SET positions = (SELECT array_agg(each ORDER BY each DESC) "
    "FROM unnest(positions) AS each) WHERE level = 0 AND tile = {tile}",
)


def test_a_change_of_any_tile_is_found_as_by_one_walk(log: Log) -> None:
    """Without its last tile the tree is shorter, and the rows behind it are what was signed."""
    variants = [
        each for each in product(range(5), TILE, (1, 256)) if each[0] < 4 or each[2] == 1
    ]  # the last tile has ten leaves
    for tile, statement, place in variants[:: stride(5)]:
        changed = statement.format(byte=32 * (place - 1) + 1, place=place, tile=tile)
        with restored(log, "ledger_tiles"):
            tamper(log.administrator, changed)
            result = log.both()
        unseen = tile == 4 and statement.startswith("DELETE")
        assert bool(result.findings) == (not unseen), changed
    assert log.both().genuine


def test_a_checkpoint_that_signs_another_root_is_found_inside_of_a_part(log: Log) -> None:
    """The tree was made to fit a change, and the checkpoint was not."""
    tamper(log.administrator, ROW["state"].format(at=log.position(2)))
    tamper(
        log.administrator,
        "UPDATE failproof.events SET leaf_hash = failproof.leaf_of(originator_id, "
        f"originator_version, topic, state) WHERE notification_id = {log.position(2)}; "
        "UPDATE failproof.ledger_tiles AS t SET hashes = overlay(hashes PLACING e.leaf_hash "
        "FROM 33) FROM failproof.events AS e WHERE t.level = 0 AND t.tile = 0 "
        f"AND e.notification_id = {log.position(2)}",
    )
    result = log.both()
    assert InThisProcess.sound == 2
    assert [each.kind for each in result.findings][:3] == ["tree rebuilt"] * 3


def test_what_was_verified_before_is_not_read_again(log: Log, store: Store) -> None:
    before = log.verify(log.url).verified
    append(store, SIZES[-1], 2048)
    with store.connect() as connection:
        sign_checkpoint(connection, log.key, None)
    with connect(log.url) as connection:
        results = [
            verify_log(connection, log.key.public, (), before, url) for url in (None, log.url)
        ]
    assert results[0] == results[1]
    assert (results[0].genuine, results[0].events) == (True, 1024)


# -- processes -----------------------------------------------------------------------------------


def test_processes_find_what_one_walk_finds(whole: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "FEWEST_TILES", 1)
    monkeypatch.setattr(ranges, "TILES_AT_ONCE", 1)
    assert whole.both().genuine
    tamper(whole.administrator, ROW["state"].format(at=whole.position(600)))
    assert [each.kind for each in whole.both().findings] == ["row changed"]


class Killed(ranges.Checkers):
    """Processes, one of which is killed when the first part was answered: it has one to check."""

    def check(self, asked: Iterator[TileRange]) -> Iterator[tuple[TileRange, Sound | None]]:
        for number, answered in enumerate(super().check(asked)):
            if number == 0:
                os.kill(self._running[-1].pid, signal.SIGKILL)
                self._running[-1].wait()
            yield answered


def test_a_killed_process_verifies_nothing(whole: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "FEWEST_TILES", 1)
    monkeypatch.setattr(ranges, "TILES_AT_ONCE", 1)
    monkeypatch.setattr(ranges, "processes", lambda: 2)
    monkeypatch.setattr(ranges, "Checkers", Killed)
    with pytest.raises(InvalidInput, match=r"signal 9.*\[process-ended\]"):
        whole.verify(whole.url)


def test_a_process_ends_with_the_one_that_it_works_for(store: Store) -> None:
    process = Sidecar(ranges.CHECKER, pickle.dumps(store.url), answers=True)
    with process.output:
        assert not process.has_ended
        assert process.stop(60) == 0


def test_without_more_connections_one_process_verifies(
    whole: Log, administrator: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "FEWEST_TILES", 1)
    limit = sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}")
    with connect(whole.url) as connection:
        administrator.execute(limit.format(sql.Identifier(AUDITOR), 1))
        try:
            assert verify_log(connection, whole.key.public, url=whole.url).genuine
        finally:
            administrator.execute(limit.format(sql.Identifier(AUDITOR), -1))
