"""A log of two runs whose tree is hurt, and the program as its keeper runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest

from failproof_es.assurance.signing.signing_key import (
    log_key,
    own_file,
)
from failproof_es.assurance.tree import read_edge
from failproof_es.ledger import note
from failproof_es.ledger.checkpoint import Checkpoint
from failproof_es.ledger.edge import Tile
from failproof_es.ledger.merkle import Frontier, perfect_root
from failproof_es.ledger.note import SigningKey
from failproof_es.store import ledger
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.attacks.conftest import tamper
from tests.acceptance.attacks.world import Author, begin, cases, go_on
from tests.acceptance.commands import invoke
from tests.acceptance.recording import Recording, recorded_once
from tests.conftest import as_administrator

REPAIR = ("ledger", "repair", "--reason", "integrated twice by an old version")


@dataclass
class Log:
    """A log of two runs whose tree somebody hurt, and the program as its keeper runs it."""

    store: Store
    administrator: psycopg.Connection[Any]
    folder: Path
    key: SigningKey
    origin: str
    kept: Path = field(default=Path())
    """The last checkpoint of the old tree, kept outside the database."""

    def does(self, *arguments: object, code: int = 0, url: str | None = None, **env: str) -> str:
        done = invoke(url or self.store.url, *arguments, cwd=self.folder, **env)
        assert done.exit_code == code, (arguments, done.output)
        return done.output

    def auditor(self, *arguments: object, code: int = 0) -> str:
        """The same as somebody who has no key of this log at home."""
        url = self.store.url.replace(f"//{WRITER}@", f"//{AUDITOR}@")
        home = str(self.folder / "auditor")
        return self.does(*arguments, code=code, url=url, FAILPROOF_ES_HOME=home)

    def verified(self, *arguments: object, code: int = 0) -> dict[str, Any]:
        document = orjson.loads(self.auditor("verify", *arguments, "--format", "json", code=code))
        assert isinstance(document, dict)
        return document

    @property
    def old_pub(self) -> Path:
        return self.folder / "old.pub"

    @property
    def new_pub(self) -> Path:
        with self.store.connect() as connection:
            return own_file(ledger.origin(connection), "key.pub")

    def tamper(self, *statements: str) -> None:
        tamper(self.administrator, *statements)

    def add(self, tiles: Iterable[Tile]) -> None:
        """Put tiles beside those that are there, whatever they hold."""
        for each in tiles:
            self.administrator.execute(
                "INSERT INTO failproof.ledger_tiles (level, tile, width, hashes, positions) "
                "VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (each.level, each.tile, each.width, each.hashes, each.positions),
            )

    def add_checkpoint(self, size: int, text: str) -> None:
        self.administrator.execute(
            "INSERT INTO failproof.ledger_checkpoints (tree_size, note) VALUES (%s, %s)",
            (size, text),
        )


def record_whole(log: Log) -> None:
    """Two runs; 256 events are signed, the others are not in the tree yet."""
    author = Author(log.store, log.key)
    begin(author)
    with log.store.connect() as connection:
        left = 256 - ledger.count_events(connection)
    author.store_prompts([*cases("filler"), *cases("more")][:left])
    author.sign()
    with log.store.connect() as connection:
        assert read_edge(connection).size == 256
        author.sign = lambda: signed_first  # type: ignore[method-assign]
        stored = ledger.newest_checkpoint(connection)
        assert stored is not None
        signed_first = note.parse(stored.note)
    go_on(author)
    author.flush()


def record_hurt(log: Log) -> None:
    """The tree holds the log again from its event 256 on, as old versions made it at 65,536."""
    record_whole(log)
    with log.store.connect() as connection:
        rows = list(ledger.leaf_rows(connection))
    entries = [(row.position, row.leaf_hash or b"") for row in [*rows[:256], *rows]]
    for size in (300, 400, 512, 600, len(entries)):
        sign_over(log, entries[:size])


def record_repaired(log: Log) -> None:
    """A whole log with a new tree all the same."""
    record_whole(log)
    log.does("ledger", "checkpoint")
    log.does(*REPAIR, "--force")
    assert "genuine" in log.does("verify")


RECORD = {"repaired": record_repaired, "hurt": record_hurt, "log": record_whole}


def log_of(store: Store, administrator: psycopg.Connection[Any], folder: Path) -> Log:
    """The log of `store`, whose first origin and public key are in the folder."""
    origin = (folder / "origin").read_text()
    key = log_key(origin, create=True)
    return Log(store, administrator, folder, key, origin, folder / "kept")


@pytest.fixture(scope="session")
def recordings(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Recording]:
    """The recording of the log that the fixture of this name begins with, made once."""

    @cache
    def recorded(name: str) -> Recording:
        def record(url: str, folder: Path) -> None:
            administrator = psycopg.connect(as_administrator(url), autocommit=True)
            with administrator, Store(url) as store:
                with store.connect() as connection:
                    (folder / "origin").write_text(ledger.origin(connection))
                log = log_of(store, administrator, folder)
                log.old_pub.write_text(f"{log.key.public}\n")
                RECORD[name](log)

        return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)

    return recorded


@pytest.fixture
def template(
    request: pytest.FixtureRequest,
    migrated_database: str,
    recordings: Callable[[str], Recording],
    home: Path,
    tmp_path: Path,
) -> str:
    """The database of a recording, whose files are in the home and the folder of the test."""
    name = next((name for name in RECORD if name in request.fixturenames), None)
    if name is None:
        return migrated_database
    recording = recordings(name)
    recording.copy_files(home, tmp_path)
    return recording.database


@pytest.fixture
def log(store: Store, administrator: psycopg.Connection[Any], tmp_path: Path) -> Log:
    """As `record_whole` leaves it; for `hurt` and `repaired` as theirs does."""
    return log_of(store, administrator, tmp_path)


@pytest.fixture
def hurt(log: Log) -> Log:
    return log


@pytest.fixture
def repaired(log: Log) -> Log:
    return log


def sign_over(log: Log, entries: Sequence[tuple[int, bytes]]) -> None:
    """Store and sign a tree of these leaves, in whatever order they are."""
    leaves = [leaf for _, leaf in entries]
    for number, begin_at in enumerate(range(0, len(entries), 256)):
        block = entries[begin_at : begin_at + 256]
        hashes = b"".join(leaf for _, leaf in block)
        log.add([Tile(0, number, len(block), hashes, [position for position, _ in block])])
    full = [perfect_root(leaves[at : at + 256]) for at in range(0, len(leaves) - 255, 256)]
    log.add([Tile(1, 0, len(full), b"".join(full))])
    tree = Frontier()
    tree.extend(leaves)
    signed = Checkpoint(log.origin, tree.size, tree.root()).signed(log.key)
    log.add_checkpoint(tree.size, str(signed))
    log.kept.write_text(str(signed))
