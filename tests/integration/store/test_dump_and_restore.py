"""A database after `pg_dump` and `pg_restore`, on each version of PostgreSQL that is there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from failproof_es.engine.projects import assign_login, define_project, grant_role
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.connecting import connect
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.access import narrow, read_grants, read_logins
from failproof_es.store.schema.definitions import Connection, differences
from failproof_es.store.schema.installation import WRITER, install
from failproof_es.store.store import Store
from projections.definitions import read_model_differences
from projections.runner import prepare, rebuild
from tests.acceptance.attacks.world import FAILED, PASSED, Author, cases
from tests.conftest import database_url_as
from tests.own_server import installed_binaries, own_server

SERVERS = [
    pytest.param(None, id="embedded"),
    *(pytest.param(binaries, id=binaries.parent.name) for binaries in installed_binaries()),
]
HIDE_CASES = """
ALTER EVENT TRIGGER failproof_definitions_stay DISABLE;
DO $$
BEGIN
    EXECUTE 'CREATE OR REPLACE VIEW promptguard.stored_cases AS '
        || replace(pg_get_viewdef('promptguard.stored_cases'::regclass),
                   '''PromptStored''', '''opened_events.PromptStored''');
END;
$$
"""
"""The literal contains the name of the only relation, which older servers write before columns."""


def _differences(connection: Connection) -> list[str]:
    found = [*differences(connection), *read_model_differences(connection)]
    return [difference.what for difference in found]


def _record_projects(url: str) -> None:
    """Two runs, of which Ann may see one."""
    with Store.open(url) as store:
        with store.connect() as connection:
            author = Author(store, SigningKey.generate(ledger.origin(connection)))
        author.start(FAILED, "clinic one", "c0", cases("asked"))
        author.start(PASSED, "another", "c1", cases("asked"))
        define_project(store, "clinic", run_names=("clinic *",))
        grant_role(store, "clinic", "ann", "reader")
        assign_login(store, "ann_sql", "ann")


def _seen_by_ann(connection: Connection) -> list[object]:
    """The runs that Ann sees in the log and in the read models, and what is recorded of her."""
    with connection.transaction():
        narrow(connection, "ann")
        rows = [
            connection.execute(f"SELECT DISTINCT run_id FROM {relation}".encode()).fetchall()
            for relation in ("failproof.stored_events", "projections.runs")
        ]
    return [*rows, read_grants(connection), read_logins(connection)]


def _restore_dump(server: EmbeddedServer, folder: Path) -> str:
    """Dump the server's database, restore it as another one of the server, and return its URL."""
    programs, file = Path(server.psql[0]).parent, str(folder / "log.dump")
    copy = database_url_as(server, "copy")
    with connect(server.url) as connection:
        connection.execute("CREATE DATABASE copy")
    for command in (
        ["pg_dump", "--format=custom", "--file", file, server.url],
        ["pg_restore", "--exit-on-error", "--dbname", copy, file],
    ):
        subprocess.run([programs / command[0], *command[1:]], check=True)
    return copy


@pytest.mark.parametrize("binaries", SERVERS)
def test_a_restored_database_is_as_it_was_installed_and_a_changed_view_is_found(
    binaries: Path | None, tmp_path: Path
) -> None:
    with own_server(binaries) as server:
        with connect(server.url) as connection:
            assert install(connection, logins=True).problems == []
            prepare(connection)
            assert _differences(connection) == []
        with connect(_restore_dump(server, tmp_path)) as connection:
            assert _differences(connection) == []
            connection.execute(HIDE_CASES)
            assert _differences(connection) == [
                "the view promptguard.stored_cases is not the one that was installed"
            ]


def test_a_restored_and_rebuilt_database_shows_a_reader_the_same_runs(tmp_path: Path) -> None:
    with own_server(None) as server:
        with connect(server.url) as connection:
            install(connection, logins=True)
        _record_projects(server.url_as(WRITER))
        with connect(server.url) as connection:
            prepare(connection)
            rebuild(connection)
            before = _seen_by_ann(connection)
        assert before[:2] == [[(FAILED,)]] * 2
        with connect(_restore_dump(server, tmp_path)) as connection:
            assert _seen_by_ann(connection) == before
            rebuild(connection)
            assert _seen_by_ann(connection) == before
