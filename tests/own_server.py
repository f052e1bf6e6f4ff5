"""A database server of a test's own, because roles and their rights belong to a server."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from failproof_es.store.embedded.server import EmbeddedServer
from tests.conftest import fast_folder


def _new_home() -> Path:
    home = Path(tempfile.mkdtemp(prefix="failproof-es-own-", dir=fast_folder()))
    home.chmod(0o755)
    return home


@cache
def _new_data() -> Path:
    """What a server that was started once has on its disk: it takes less to copy than to make."""
    server = EmbeddedServer(_new_home())
    atexit.register(shutil.rmtree, server.home, ignore_errors=True)
    server.ensure_running()
    server.stop()
    return server.data_dir


def copy_data(server: EmbeddedServer) -> None:
    """Give a server that never ran the data of one that ran and was stopped."""
    subprocess.run(["cp", "-a", _new_data(), server.data_dir], check=True)


@contextmanager
def own_server() -> Iterator[EmbeddedServer]:
    """A server with one empty database, on which no role of ours exists yet."""
    server = EmbeddedServer(_new_home())
    try:
        copy_data(server)
        server.ensure_running()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.home, ignore_errors=True)
