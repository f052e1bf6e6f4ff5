"""Upgrading a log: every byte stays, and each change is recorded."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import psycopg
import pytest

from failproof_es.ledger.leaf import leaf_hash
from failproof_es.problems import InvalidInput
from failproof_es.store.embedded.server import HOME, EmbeddedServer
from failproof_es.store.reading.reader import read_after
from failproof_es.store.schema import installation, migration
from failproof_es.store.schema.installation import (
    MIGRATOR,
    WRITER,
    SchemaState,
    install,
    schema_state,
)
from failproof_es.store.schema.protection_layers import missing_layers
from failproof_es.store.store import Store
from projections.runner import prepare
from tests.integration.store.roles.databases import names
from tests.integration.store.roles.rights import EFFECTIVE, MAY

STATE = b'{"a": 1}'
NEXT = migration.Migration(9998, "next", "SELECT 1")
"""What a later version of this program ships beside today's migrations."""


def make_old_log(url: str) -> None:
    """A log as this version makes it: an event, a run."""
    with psycopg.connect(url, autocommit=True) as connection:
        install(connection, logins=True)
        stream = uuid4()
        connection.execute(
            "SELECT failproof.append(ARRAY[%s]::uuid[], '{1}', '{X}', ARRAY[%s]::bytea[], "
            "'{null}', ARRAY[%s]::bytea[])",
            (stream, STATE, leaf_hash(stream.bytes, 1, b"X", STATE)),
        )
        connection.execute("INSERT INTO failproof.run_numbers VALUES (1, %s)", (uuid4(),))
        prepare(connection)


@pytest.fixture
def old_log(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    make_old_log(database_url)
    shipped = migration.migrations()
    monkeypatch.setattr(migration, "migrations", lambda: [*shipped, NEXT])
    return database_url


EVERY_BYTE = (
    "SELECT notification_id, originator_id, originator_version, topic, state, run_id, recorded_at "
    "FROM failproof.events ORDER BY notification_id"
)


def test_an_old_log_is_not_upgraded_silently_and_then_with_every_byte_in_place(
    old_log: str,
) -> None:
    with pytest.raises(InvalidInput, match=r"\[schema-not-current\]"):
        Store.open(old_log)
    with psycopg.connect(old_log, autocommit=True) as connection:
        before = connection.execute(EVERY_BYTE).fetchall()
        assert schema_state(connection) is SchemaState.OUTDATED
        done = install(connection, logins=True)
        assert done.migrations == [NEXT]
        assert connection.execute(EVERY_BYTE).fetchall() == before
    with psycopg.connect(old_log.replace("//postgres@", f"//{WRITER}@")) as connection:
        connection.autocommit = True
        assert missing_layers(connection) == []
        assert connection.execute("SELECT failproof.number_run(%s)", (uuid4(),)).fetchone() == (2,)
        prepare(connection)
    Store.open(old_log).close()


LATER = migration.Migration(
    9999,
    "later",
    "CREATE TABLE failproof.notes (n integer); "
    "CREATE FUNCTION failproof.note() RETURNS void LANGUAGE sql AS 'SELECT'; "
    "ALTER TABLE failproof.leases ADD COLUMN note text",
)


@pytest.mark.parametrize("user", ["postgres", "a login with the migrator's role"])
def test_a_later_migration_passes_the_guard_as_the_migrator_and_is_recorded(
    user: str,
    database_url: str,
    login: Callable[[str], str],
    returned: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        install(connection)
    name = user if user == "postgres" else login(f"IN ROLE {MIGRATOR}")
    shipped = migration.migrations()
    monkeypatch.setattr(migration, "migrations", lambda: [*shipped, LATER])
    url = database_url.replace("//postgres@", f"//{name}@")
    with psycopg.connect(url, autocommit=True) as connection:
        assert install(connection).migrations == [LATER]
        # What this version does not know is not what it installed.
        assert names(connection) == ["least privilege", "nothing in between"]
        changes = connection.execute(
            "SELECT DISTINCT command, changed_by FROM failproof.schema_change_log "
            "WHERE object LIKE '%%note%%' OR object = 'table failproof.leases' ORDER BY 1"
        ).fetchall()
        assert set(changes) >= {
            ("ALTER TABLE", name), ("CREATE FUNCTION", name), ("CREATE TABLE", name)
        }  # fmt: skip
        may = {row[0] for row in connection.execute(EFFECTIVE, {"role": WRITER}).fetchall()}
        assert may <= MAY[WRITER]


def test_the_embedded_servers_old_log_is_upgraded_when_it_is_opened(
    other_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_old_log(other_server.url)
    shipped = migration.migrations()
    monkeypatch.setattr(migration, "migrations", lambda: [*shipped, NEXT])
    monkeypatch.setenv(HOME, str(other_server.home))
    monkeypatch.delenv("FAILPROOF_ES_DATABASE_URL", raising=False)
    with Store.open() as store, store.connect() as connection:
        assert connection.info.user == WRITER
        assert missing_layers(connection) == []
        [event] = read_after(connection, 0, 10)
        assert event.state == STATE


def test_roles_that_changed_without_a_migration_are_noticed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        install(connection)
        monkeypatch.setattr(installation, "_sha256", lambda: "another version's")
        assert schema_state(connection) is SchemaState.OUTDATED
        assert install(connection).migrations == []
        assert schema_state(connection) is SchemaState.CURRENT
