"""A database after `pg_dump` and `pg_restore`, on each version of PostgreSQL that is there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from failproof_es.store.connecting import connect
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.definitions import Connection, differences
from failproof_es.store.schema.installation import install
from projections.definitions import read_model_differences
from projections.runner import prepare
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
