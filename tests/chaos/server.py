"""A PostgreSQL server of a test's own: it may be killed, cut off, and left without room."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import psycopg

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER, install
from failproof_es.store.store import Store
from tests.acceptance.commands import run
from tests.conftest import as_administrator, create_database, database_url_as, fast_folder

_TEMPLATE = "migrated"
_SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "wal_compression": "off",
    "min_wal_size": "32MB", "max_wal_size": "64MB",
}  # fmt: skip


class ServerOfOurOwn(EmbeddedServer):
    """A server with an installed schema to copy. `with` it.

    With `listen` it is reached at that address, too, by everybody. Nobody waits for its disk: that
    matters only where the machine itself goes down.
    """

    def __init__(self, home: Path | None = None, *, listen: str = "") -> None:
        self._made: Path | None = None
        if home is None:
            home = self._made = Path(
                tempfile.mkdtemp(prefix="failproof-es-chaos-", dir=fast_folder())
            )
        home.chmod(0o755)
        super().__init__(home)
        self._listen = listen

    def _settings(self) -> Mapping[str, str]:
        return {**super()._settings(), **_SETTINGS, "listen_addresses": self._listen}

    def database(self, name: str, user: str = WRITER) -> str:
        """The URL of a new database that has the schema and nothing in it."""
        create_database(self, name, _TEMPLATE)
        return database_url_as(self, name, user)

    def __enter__(self) -> Self:
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
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)


def make_log_key(store: Store, home: Path) -> None:
    """Make the key of the store's log in this home, as an administrator does on the host of it."""
    administrator, cwd = as_administrator(store.url), home.parent
    done = run(administrator, "db", "init", cwd=cwd, FAILPROOF_ES_HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert len(list(home.rglob("*.key"))) == 1, done.stderr


class NoSmallDisk(Exception):
    """A small disk cannot be mounted here; the message says why."""


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A folder on a disk of its own that holds so much. Raises `NoSmallDisk`.

    Whoever has a file open in it must be gone before it is left.
    """
    folder = Path(tempfile.mkdtemp(prefix="failproof-es-small-disk-"))
    try:
        folder.chmod(0o755)
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoSmallDisk(done.stderr.strip())
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        folder.rmdir()


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """There is no room left on the folder's disk meanwhile."""
    ballast = folder / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            with suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(folder).free)
            with suppress(OSError):
                file.seek(0, os.SEEK_END)
                while True:
                    file.write(b"\0" * 4096)
        yield
    finally:
        ballast.unlink()
