"""A PostgreSQL server of a test's own: it may be killed, cut off, and left without room."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Self

import psycopg
import pytest

from failproof_es.store.embedded import server as embedded
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER, install
from tests.conftest import create_database, database_url_as

_TEMPLATE = "migrated"


class ServerOfOurOwn(EmbeddedServer):
    """A server with an installed schema to copy. `with` it.

    With `listen` it is reached at that address, too, by everybody. Nobody waits for its disk: that
    matters only where the machine itself goes down.
    """

    def __init__(self, home: Path | None = None, *, listen: str = "") -> None:
        self._made = (
            None if home is not None else Path(tempfile.mkdtemp(prefix="failproof-es-chaos-"))
        )
        place = home or self._made
        assert place is not None
        place.chmod(0o755)
        super().__init__(place)
        self._listen = listen
        self._patched = pytest.MonkeyPatch()

    def database(self, name: str, user: str = WRITER) -> str:
        """The URL of a new database that has the schema and nothing in it."""
        create_database(self, name, _TEMPLATE)
        return database_url_as(self, name, user)

    def __enter__(self) -> Self:
        for name in ("fsync", "full_page_writes", "wal_compression"):
            self._patched.setitem(embedded._SETTINGS, name, "off")
        self._patched.setitem(embedded._SETTINGS, "listen_addresses", self._listen)
        self.ensure_running()
        if self._listen:
            with (self.data_dir / "pg_hba.conf").open("a") as file:
                file.write(f"host all all {self._listen}/24 trust\n")
            with psycopg.connect(self.url) as connection:
                connection.execute("SELECT pg_reload_conf()")
        create_database(self, _TEMPLATE)
        url = database_url_as(self, _TEMPLATE)
        with psycopg.connect(url, autocommit=True) as connection:
            install(connection, logins=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._patched.undo()
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)
