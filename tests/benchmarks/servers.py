"""A database for a benchmark: an embedded server of its own, gone afterwards."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER, install


@contextlib.contextmanager
def benchmark_store() -> Iterator[str]:
    """The URL of a database with an empty log, as the engine has it: as the writer."""
    with benchmark_server() as server:
        yield server.url_as(WRITER)


@contextlib.contextmanager
def benchmark_server() -> Iterator[EmbeddedServer]:
    """The server of a database with an empty log."""
    home = Path(tempfile.mkdtemp(prefix="failproof-es-benchmark-"))
    home.chmod(0o755)
    server = EmbeddedServer(home)
    try:
        with psycopg.connect(server.ensure_running(), autocommit=True) as connection:
            install(connection, logins=True)
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)
