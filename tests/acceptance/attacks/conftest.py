"""A log to be attacked, fresh for each attack, and those who attack and who verify it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import click.testing
import psycopg
import pytest

from failproof_es.assurance.checking.findings import Verification, VerificationFinding
from failproof_es.assurance.checking.verification import verify_log
from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.assurance.run_proof import prove_run
from failproof_es.assurance.signing.signing_key import log_key, public_path
from failproof_es.ledger import bundle
from failproof_es.ledger import checkpoint as checkpoints
from failproof_es.ledger.bundle import BundleProof, LogProof
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.note import Note, SigningKey
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.store import ledger
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.attacks.world import Author, Sizes, begin, go_on
from tests.acceptance.commands import invoke
from tests.conftest import create_database, database_url_as, drop_database

Prove = Callable[[psycopg.Connection[Any]], BundleProof | LogProof]

GUARDED = (
    *("events", "run_numbers"),
    *("ledger_identity", "ledger_tiles", "ledger_checkpoints"),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The log as it was recorded, in databases that are copied and never changed."""

    database: str
    backup: str
    """The same log when only the first run was there."""
    home: Path
    """Where the log's key is."""
    key: SigningKey
    first: Note
    """The checkpoint of the backup."""
    kept: Note
    """The checkpoint that somebody keeps elsewhere."""
    sizes: Sizes


@dataclass(slots=True)
class Attacked:
    """A copy of the log, the superuser who attacks it, and those who look afterwards."""

    url: str
    """As the engine."""
    recorded: Recorded
    folder: Path
    superuser: psycopg.Connection[Any]
    outside: list[Checkpoint] = field(default_factory=list)
    """What is kept outside the database."""

    # -- who attacks -----------------------------------------------------------------------

    def tamper(self, *statements: str) -> None:
        """Take every guard down, change something, put every guard up again."""
        tamper(self.superuser, *statements)

    def fetch(self, statement: str) -> list[tuple[Any, ...]]:
        return self.superuser.execute(statement.encode()).fetchall()

    def event(self, topic: str, run: UUID | None = None, nth: int = 0) -> ledger.LeafRow:
        """The run's n-th event of that topic, as it stands now."""
        rows = [row for row in self.rows() if row.topic == topic.encode()]
        if run is not None:
            rows = [row for row in rows if row.run_id == run.bytes]
        return rows[nth]

    def index(self, position: int) -> int:
        """Where in the log, from 0, the event at a position stands now."""
        return [row.position for row in self.rows()].index(position)

    def rows(self) -> list[ledger.LeafRow]:
        return list(ledger.leaf_rows(self.superuser))

    @contextlib.contextmanager
    def engine(self) -> Iterator[Store]:
        """The engine, or whoever has its login."""
        with Store(self.url) as store:
            yield store

    # -- who verifies ----------------------------------------------------------------------

    def verify(self, *, outside: bool = False, key: bool = True) -> Verification:
        """Verify as an auditor, with what is kept outside or without."""
        public = self.recorded.key.public if key else None
        with self.auditor() as connection:
            return verify_log(connection, public, self.outside if outside else ())

    @contextlib.contextmanager
    def auditor(self) -> Iterator[psycopg.Connection[Any]]:
        url = self.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection

    def evidence(self, run: UUID, key: SigningKey | None = None) -> BundleProof:
        """Export a run and judge the file as a stranger would.

        What the log itself says of the run has to be the same, also where it is refused.
        """
        public = (key or self.recorded.key).public

        def by_file(connection: psycopg.Connection[Any]) -> BundleProof:
            made = bundle.read(b"".join(evidence_lines(connection, run)))
            return bundle.verify(made, Policy.of(public))

        def by_log(connection: psycopg.Connection[Any]) -> LogProof:
            return prove_run(connection, run, public)

        with self.auditor() as connection:
            assert _told(by_log, connection) == _told(by_file, connection)
            return by_file(connection)

    def command(self, *arguments: object, url: str = "", **more: str) -> click.testing.Result:
        """Run the program as this user, who has the log's key: as an auditor, or with `url`."""
        url = url or self.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
        environment = {"FAILPROOF_ES_HOME": str(self.recorded.home), **more}
        return invoke(url, *arguments, cwd=self.folder, **environment)

    @property
    def public_key(self) -> Path:
        return public_path(next((self.recorded.home / "ledger").glob("*.key")))

    @property
    def kept_file(self) -> Path:
        """The checkpoint kept outside, in a file of this test's own."""
        file = self.folder / "kept.checkpoint"
        if not file.exists():
            file.write_text(str(self.recorded.kept), "utf-8")
        return file


def tamper(superuser: psycopg.Connection[Any], *statements: str) -> None:
    """Take every guard down, change something, put every guard up again."""
    execute = superuser.execute
    with superuser.transaction():
        execute("SET LOCAL event_triggers = off")
        for table in GUARDED:
            execute(f"ALTER TABLE failproof.{table} DISABLE TRIGGER ALL".encode())
        for statement in statements:
            execute(statement.encode())
        for table in GUARDED:
            for trigger in ("statements_change_nothing", "rows_never_change"):
                execute(f"ALTER TABLE failproof.{table} ENABLE ALWAYS TRIGGER {trigger}".encode())


def found(result: Verification) -> set[str]:
    """The kinds of what was found."""
    return {each.kind for each in result.findings}


def first(result: Verification, kind: str) -> VerificationFinding:
    """The first finding of a kind."""
    return next(each for each in result.findings if each.kind == kind)


@pytest.fixture(scope="session")
def recorded(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recorded:
    """The log, recorded and signed once."""
    name, backup, home = f"world_{uuid4().hex}", f"backup_{uuid4().hex}", tmp_path_factory
    folder = home.mktemp("home")
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name, WRITER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAILPROOF_ES_HOME", str(folder))
        with psycopg.connect(url) as connection:
            key = log_key(ledger.origin(connection), create=True)
    with Store(url) as store:
        author = Author(store, key)
        signed = begin(author)
        store.close()
        create_database(postgres_server, backup, name)
        kept = go_on(author)
        with store.connect() as connection:
            failed, passed, other = (each.tree_size for each in ledger.checkpoints(connection))
            events = sum(1 for _ in ledger.leaf_rows(connection))
    return Recorded(name, backup, folder, key, signed, kept, Sizes(failed, passed, other, events))


@pytest.fixture
def copy(postgres_server: EmbeddedServer, recorded: Recorded, tmp_path: Path) -> Iterator[Any]:
    """Copies a database of the recorded log to be attacked."""
    names = []
    with contextlib.ExitStack() as connections:

        def make(database: str) -> Attacked:
            name = f"attacked_{uuid4().hex}"
            create_database(postgres_server, name, database)
            names.append(name)
            superuser = connections.enter_context(
                psycopg.connect(database_url_as(postgres_server, name), autocommit=True)
            )
            kept = checkpoints.opened(recorded.kept, recorded.key.public)
            url = database_url_as(postgres_server, name, WRITER)
            return Attacked(url, recorded, tmp_path, superuser, [kept])

        yield make
    for name in names:
        drop_database(postgres_server, name)


@pytest.fixture
def log(copy: Any, recorded: Recorded) -> Attacked:
    """The whole log, to be attacked."""
    attacked: Attacked = copy(recorded.database)
    return attacked


def _told(prove: Prove, connection: psycopg.Connection[Any]) -> object:
    """What a proof says of a run: its contents and checkpoint, or why it is none."""
    try:
        proven = prove(connection)
    except EvidenceError as error:
        return type(error), str(error)
    return proven.contents, proven.checkpoint
