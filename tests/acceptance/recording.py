"""A log that is recorded once, and copied for each test that begins with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER
from tests.conftest import create_database, database_url_as, give_log_key

Record = Callable[[str, Path], None]
"""Records, in the database of this URL and in this folder."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded. A test changes its copy alone."""

    database: str
    """The name of a database that `store` can be on a copy of."""
    home: Path
    """With the log's key."""
    folder: Path
    """What stood in the current folder then: suite and configuration."""

    def copy_files(self, home: Path, folder: Path) -> None:
        """Put the files into the home and the folder of a test."""
        shutil.copytree(self.home, home, dirs_exist_ok=True)
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)


def recorded_once(
    server: EmbeddedServer, template: str, folders: pytest.TempPathFactory, record: Record
) -> Recording:
    """Record in a copy of the database `template`, with a home and a folder of its own."""
    name = f"recording_{uuid4().hex}"
    create_database(server, name, template)
    home, folder = folders.mktemp("recording-home"), folders.mktemp("recording")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FAILPROOF_ES_HOME", str(home))
        give_log_key()
        record(database_url_as(server, name, WRITER), folder)
    return Recording(name, home, folder)
