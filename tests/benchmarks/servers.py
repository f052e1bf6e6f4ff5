"""A database for a benchmark: an embedded server of its own, gone afterwards."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from failproof_es.store.embedded import EmbeddedServer


@contextlib.contextmanager
def benchmark_store() -> Iterator[str]:
    """The URL of an empty database."""
    home = Path(tempfile.mkdtemp(prefix="failproof-es-benchmark-"))
    home.chmod(0o755)
    server = EmbeddedServer(home)
    try:
        yield server.ensure_running()
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)
