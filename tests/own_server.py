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

OLDEST_VERSION = 15
"""The oldest version of PostgreSQL that is supported (docs/reference/compatibility.md)."""


class InstalledServer(EmbeddedServer):
    """A server of the machine's own PostgreSQL, in the way of the embedded one."""

    def __init__(self, home: Path, binaries: Path) -> None:
        super().__init__(home)
        self.binaries = binaries

    def _binaries(self) -> Path:
        return self.binaries

    def _check_version(self) -> None:
        pass


def installed_binaries() -> list[Path]:
    """The programs of each supported PostgreSQL that Debian's packages installed, oldest first."""
    versions = Path("/usr/lib/postgresql").glob("[0-9]*")
    supported = [folder for folder in versions if int(folder.name) >= OLDEST_VERSION]
    return [folder / "bin" for folder in sorted(supported, key=lambda folder: int(folder.name))]


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
def own_server(binaries: Path | None = None) -> Iterator[EmbeddedServer]:
    """A server with one empty database, on which no role of ours exists yet.

    The embedded one, or that of other `binaries`.
    """
    home = _new_home()
    server = InstalledServer(home, binaries) if binaries else EmbeddedServer(home)
    try:
        if binaries is None:
            copy_data(server)
        server.ensure_running()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.home, ignore_errors=True)
