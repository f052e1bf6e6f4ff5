"""An installation to measure: an interpreter, and an embedded server that its own code set up.

Everything is measured through the command line, so any version can stand beside this one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from failproof_es.store.embedded.server import HOME, EmbeddedServer

THIS = sys.executable


@dataclass(frozen=True)
class Installation:
    """An interpreter, and the embedded server that it has for itself."""

    python: str
    home: Path
    server: EmbeddedServer
    url: str
    """As the writer."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its commands: nothing of the caller's but where programs are."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            HOME: str(self.home),
            "FAILPROOF_ES_DATABASE_URL": self.url,
            "NO_COLOR": "1",
        }

    def command(self, *arguments: str) -> list[str]:
        """The program `failproof-es` of this installation, with these arguments."""
        return [self.python, "-m", "failproof_es.cli", *arguments]

    def run(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run a command to its end; return what it prints. Raises `CalledProcessError`."""
        done = subprocess.run(
            self.command(*arguments), env=self.environment, cwd=cwd or self.home, check=True,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    def ask(self, query: LiteralString) -> tuple[Any, ...]:
        """One row of the database, asked as the administrator."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return tuple(row)

    @property
    def server_pid(self) -> int:
        """The process that all of the server's processes are children of."""
        [file] = self.home.rglob("postmaster.pid")
        return int(file.read_text().splitlines()[0])


@contextlib.contextmanager
def installation(python: str = THIS) -> Iterator[Installation]:
    """The interpreter, with an empty log that its own code has made; gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="failproof-es-benchmark-"))
    home.chmod(0o755)
    server = EmbeddedServer(home)
    # An empty folder as the current one: no other code is found there.
    place = {"PATH": os.environ["PATH"], "HOME": str(home), HOME: str(home)}

    def db(*arguments: str) -> str:
        command = [python, "-m", "failproof_es.cli", "db", *arguments]
        done = subprocess.run(
            command, env=place, cwd=home, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    try:
        db("start")
        yield Installation(python, home, server, db("url", "--as", "writer"))
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)
