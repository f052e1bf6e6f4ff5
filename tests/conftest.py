"""A real PostgreSQL for the whole session, a fresh database for each test that asks."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg import sql

from failproof_es.assurance.signing.signing_key import folder as signing_folder
from failproof_es.assurance.signing.signing_key import own_file
from failproof_es.ledger.note import ED25519, SigningKey
from failproof_es.store import ledger
from failproof_es.store.embedded import server as embedded
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER, install
from failproof_es.store.store import Store
from failproof_es.support.bounded import untrusted_patterns
from failproof_es.support.bounded.process import BoundedPool
from projections.follower import Follower
from projections.runner import prepare
from tests.acceptance.sessions import connections_replaced, end_idle_sessions
from tests.acceptance.warm import FOLLOW_AT_THE_END
from tests.examples import register_profiles
from tests.selection import thin_variants
from tests.timing import pytest_terminal_summary as pytest_terminal_summary
from tests.timing import sort_tests

register_profiles()
_unfreeze = gc.unfreeze
gc.disable()  # until the tests are collected, see below


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the variants that a set leaves out, before pytest reads marks, and sort the files."""
    thin_variants(items)
    sort_tests(config, items)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collection: it lasts until the end.

    To look through it takes half a second each time, which a test that measures cannot tell from
    its own. A run that a test drives in this process freezes and unfreezes objects, too, which
    would undo it.
    """
    gc.freeze()
    gc.enable()
    gc.freeze = gc.unfreeze = lambda: None


def pytest_unconfigure() -> None:
    """Extension modules warn of objects that are still there when the interpreter ends."""
    _unfreeze()


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a whole session shares never touches this user's own keys and checkpoints."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FAILPROOF_ES_HOME", str(tmp_path_factory.mktemp(_SESSION_HOME)))
        yield


_SESSION_HOME = "session-home"


@pytest.fixture(scope="session", autouse=True)
def follows_at_the_end() -> Iterator[None]:
    """In this process, as in those of commands that are run to their end."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Follower.__init__, "__defaults__", FOLLOW_AT_THE_END)
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """`httpx.get` reads the certificates of all authorities for each call: 30 ms each."""
    with pytest.MonkeyPatch.context() as patched:
        once = cache(httpx.create_ssl_context)
        patched.setattr("httpx._transports.default.create_ssl_context", once)
        yield


@pytest.fixture(scope="session", autouse=True)
def sessions_handed_on() -> Iterator[None]:
    """From one command of this process to the next."""
    with connections_replaced():
        yield


@contextmanager
def home_of(folder: Path) -> Iterator[None]:
    """A home in this folder, for a database that several tests share."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FAILPROOF_ES_HOME", str(folder / "home"))
        give_log_key()
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for each test in turn.

    Not by `mktemp`, which reads the names of all folders before it makes one: of thousands of tests
    each would wait longer.
    """
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own: databases made from one template are one log to its keys."""
    folder = next(homes)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("FAILPROOF_ES_HOME", str(folder))
    return folder


@pytest.fixture
def soon_stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stop expressions after 0.1 s: in the second that users have `regex` takes a gigabyte."""
    limits = replace(untrusted_patterns.LIMITS, cpu_s=0.1)
    pool = BoundedPool(untrusted_patterns.list_spans, limits)
    monkeypatch.setattr(untrusted_patterns, "_pool", lambda: pool)
    untrusted_patterns._fault_of.cache_clear()
    yield
    untrusted_patterns._fault_of.cache_clear()
    pool.close()


_MEMORY = Path("/dev/shm")
_ROOM = 8 * 2**30
"""So much of the memory must be free before a server has its files there."""
_SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "wal_compression": "off",
    "autovacuum": "off", "min_wal_size": "64MB", "max_wal_size": "512MB",
    **({"file_copy_method": "clone"} if sys.platform == "linux" else {}),
}  # fmt: skip


def fast_folder() -> Path | None:
    """Where a server has its files in memory, `None` where there is no room.

    A database is made for each test that asks: some three hundred files, that a disk takes three
    times as long for.
    """
    try:
        room = shutil.disk_usage(_MEMORY).free
    except OSError:
        return None
    return _MEMORY if room > _ROOM else None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedServer]:
    """An embedded server of the test session's own, whose disk nobody waits for.

    That only matters where the machine itself goes down. A test that ends a server starts its own.
    """
    home = Path(tempfile.mkdtemp(prefix="failproof-es-tests-", dir=fast_folder()))
    home.chmod(0o755)
    server = EmbeddedServer(home)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in _SETTINGS.items():
            patched.setitem(embedded._SETTINGS, name, value)
        server.ensure_running()
    with psycopg.connect(database_url_as(server, "postgres"), autocommit=True) as kept:
        _KEPT[server.home] = kept
        yield server
        _KEPT.pop(server.home, None)
    server.stop()
    shutil.rmtree(home, ignore_errors=True)


_KEPT: dict[Path, psycopg.Connection[Any]] = {}
"""By a server's home the connection that makes its databases: to make one takes a third as long
again with a connection of its own."""


_LOG_KEY: dict[str, bytes] = {}
"""The key of the log that the databases of the tests are copies of, and its public half, by the
file's name. `db init` makes them; here they are made once."""


def _make_log_key(connection: psycopg.Connection[Any]) -> None:
    origin = ledger.origin(connection)
    key = SigningKey.generate(origin, ED25519)
    _LOG_KEY[own_file(origin, "key").name] = f"{key.dump()}\n".encode()
    _LOG_KEY[own_file(origin, "key.pub").name] = f"{key.public}\n".encode()


def give_log_key() -> None:
    """Put the key into the present home, as if that were the host of `db init`."""
    for name, content in _LOG_KEY.items():
        path = signing_folder() / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
            path.write_bytes(content)


def _execute(server: EmbeddedServer, statement: LiteralString, *names: str) -> None:
    composed = sql.SQL(statement).format(*(sql.Identifier(name) for name in names))
    if (kept := _KEPT.get(server.home)) is not None:
        try:
            kept.execute(composed)
            return
        except psycopg.OperationalError:
            if not kept.closed:
                raise
            del _KEPT[server.home]  # a test killed the server
    with psycopg.connect(database_url_as(server, "postgres"), autocommit=True) as connection:
        connection.execute(composed)


def create_database(server: EmbeddedServer, name: str, template: str = "template1") -> None:
    """A copy of another database of the server, to which nobody is connected.

    By copying its files: that takes less than half of what writing each page to the log takes.
    """
    end_idle_sessions()
    _execute(server, "CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY", name, template)
    if not template.startswith("template"):
        give_log_key()
        _forget_checkpoints()


def _forget_checkpoints() -> None:
    """In the home that modules share: to its key every copy is one log, which began anew."""
    if _SESSION_HOME in os.environ["FAILPROOF_ES_HOME"]:
        for kept in signing_folder().glob("*checkpoint*"):
            kept.unlink()


def drop_database(server: EmbeddedServer, name: str) -> None:
    """Whoever is connected to it."""
    end_idle_sessions()
    _execute(server, "DROP DATABASE {} WITH (FORCE)", name)


def database_url_as(server: EmbeddedServer, database: str, user: str = "postgres") -> str:
    """The URL of one of the server's databases, as one of its users."""
    return server.url_as(user).replace("/failproof?", f"/{database}?")


def as_administrator(url: str) -> str:
    """The URL of the same database, as the server's superuser."""
    return url.replace(f"//{WRITER}@", "//postgres@")


@pytest.fixture
def database_url(postgres_server: EmbeddedServer) -> Iterator[str]:
    """The URL of an empty database."""
    name = f"empty_{uuid4().hex}"
    create_database(postgres_server, name)
    yield database_url_as(postgres_server, name)
    drop_database(postgres_server, name)


@pytest.fixture(scope="session")
def bare_database(postgres_server: EmbeddedServer) -> str:
    """The name of a database as `db init` leaves it: a template."""
    name = "bare"
    create_database(postgres_server, name)
    with psycopg.connect(database_url_as(postgres_server, name), autocommit=True) as connection:
        install(connection, logins=True)
        _make_log_key(connection)
    return name


@pytest.fixture(scope="session")
def migrated_database(postgres_server: EmbeddedServer, bare_database: str) -> str:
    """The name of a database that has the tables of the projections as well: a template."""
    name = "migrated"
    create_database(postgres_server, name, bare_database)
    with psycopg.connect(database_url_as(postgres_server, name), autocommit=True) as connection:
        prepare(connection)
    return name


@pytest.fixture
def template(migrated_database: str) -> str:
    """The name of the database that `store` is on a copy of."""
    return migrated_database


@contextmanager
def open_copy(server: EmbeddedServer, template: str) -> Iterator[Store]:
    """A store on a copy of the database `template`, as the writer; the copy is gone after it."""
    name = f"store_{uuid4().hex}"
    create_database(server, name, template)
    with Store.open(database_url_as(server, name, WRITER)) as opened:
        yield opened
    drop_database(server, name)


@pytest.fixture
def store(postgres_server: EmbeddedServer, template: str) -> Iterator[Store]:
    """A store on a fresh database with the schema, as the engine has it: as the writer."""
    with open_copy(postgres_server, template) as opened:
        yield opened


@pytest.fixture
def administrator(store: Store) -> Iterator[psycopg.Connection[Any]]:
    """A superuser's connection to the database of `store`."""
    with psycopg.connect(as_administrator(store.url), autocommit=True) as connection:
        yield connection
