"""Attacks below the database: bytes of its files, changed while no server runs.

Whoever has the files can also make the pages' checksums fit: `pg_checksums` does it for them.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from failproof_es.assurance.checking.findings import (
    ROW_CHANGED,
    ROW_MISSING,
    Verification,
)
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.signing.integrator import sign_checkpoint
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import AUDITOR, WRITER, install
from failproof_es.store.store import Store
from tests.acceptance.attacks.conftest import first, found
from tests.acceptance.attacks.world import Author, begin
from tests.acceptance.commands import invoke
from tests.conftest import create_database, database_url_as, fast_folder

PAGE = 8192
LINE_POINTERS = 24
"""Where on a page they begin: four bytes each, of which two bits say what the tuple is."""
DEAD = 0b11 << 15


@dataclass(slots=True)
class Files:
    """A server of this module's own, with one database whose files are changed."""

    server: EmbeddedServer
    database: str
    key: SigningKey

    def change(self, edit: Callable[[bytes], bytes], *, checksums: bool) -> None:
        """Stop the server, edit the file that the events are in, start the server again."""
        with psycopg.connect(self.url("postgres")) as connection:
            row = connection.execute("SELECT pg_relation_filepath('failproof.events')").fetchone()
        assert row is not None
        self.server.stop()
        file = self.server.data_dir / str(row[0])
        before = file.read_bytes()
        after = edit(before)
        assert len(after) == len(before) and after != before
        with file.open("r+b") as opened:
            opened.write(after)
        if checksums:
            for what in ("--disable", "--enable"):
                self._pg_checksums(what)
        self.server.ensure_running()

    def _pg_checksums(self, what: str) -> None:
        program = Path(self.server.psql[0]).with_name("pg_checksums")
        command = [str(program), what, "--no-sync", "-D", str(self.server.data_dir)]
        subprocess.run(command, check=True, capture_output=True)

    def verify(self) -> Verification:
        with psycopg.connect(self.url(AUDITOR), autocommit=True) as connection:
            return verify_log(connection, self.key.public)

    def url(self, user: str) -> str:
        return database_url_as(self.server, self.database, user)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    home = Path(tempfile.mkdtemp(prefix="failproof-es-tests-", dir=fast_folder()))
    home.chmod(0o755)
    server = EmbeddedServer(home)
    server.ensure_running()
    yield server
    server.stop()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def template(server: EmbeddedServer) -> tuple[str, SigningKey]:
    """A database with one run, signed; and its key."""
    create_database(server, "template", "template0")
    with psycopg.connect(database_url_as(server, "template"), autocommit=True) as connection:
        install(connection, logins=True)
        key = SigningKey.generate(ledger.origin(connection))
    with Store(database_url_as(server, "template", WRITER)) as store:
        author = Author(store, key)
        begin(author)
        with store.connect() as connection:
            sign_checkpoint(connection, key, None)
    return "template", key


@pytest.fixture
def files(server: EmbeddedServer, template: tuple[str, SigningKey]) -> Files:
    name = f"files_{uuid4().hex}"
    create_database(server, name, template[0])
    return Files(server, name, template[1])


def forged(file: bytes) -> bytes:
    """Another answer to the eighth question."""
    at = file.index(b'"text":"no"', file.index(b"answered asked-7"))
    return file[:at] + b'"text":"ok"' + file[at + 11 :]


def without_ending(file: bytes) -> bytes:
    """The tuple of the event that says that the run failed is declared dead."""
    content = file.index(b"RunFailed")
    page = content // PAGE * PAGE
    (lower,) = struct.unpack_from("<H", file, page + 12)
    pointers = {
        at: struct.unpack_from("<I", file, at)[0]
        for at in range(page + LINE_POINTERS, page + lower, 4)
    }
    place = max(
        (at for at, pointer in pointers.items() if pointer & 0x7FFF <= content - page),
        key=lambda at: pointers[at] & 0x7FFF,
    )
    return file[:place] + struct.pack("<I", pointers[place] | DEAD) + file[place + 4 :]


def test_a_byte_flipped_in_a_data_file_stops_whoever_reads_it(files: Files) -> None:
    """The embedded server has checksums on its pages: nothing of the page is shown at all."""
    files.change(forged, checksums=False)
    with pytest.raises(psycopg.errors.DataCorrupted, match="invalid page"):
        files.verify()
    said = invoke(
        files.url(WRITER), "verify", "--key", str(files.key.public), cwd=files.server.home
    )
    assert (said.exit_code != 0, "invalid page" in said.output) == (True, True)


def test_a_byte_flipped_in_a_data_file_with_fitting_checksums_is_named(files: Files) -> None:
    files.change(forged, checksums=True)
    result = files.verify()
    named = first(result, ROW_CHANGED)
    assert (found(result), named.topic, named.version) == ({ROW_CHANGED}, "ResponseReceived", 2)
    assert named.index == 43 + 4 * 7 + 1


def test_a_row_made_dead_in_a_data_file_with_fitting_checksums_is_named(files: Files) -> None:
    files.change(without_ending, checksums=True)
    result = files.verify()
    assert found(result) == {ROW_MISSING}
    assert first(result, ROW_MISSING).index == 43 + 4 * 40
