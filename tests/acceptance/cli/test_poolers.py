"""A pooler that shares sessions between the program and the server: refused by each command."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import orjson
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import connect
from failproof_es.store.embedded.account import account_for
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.pooler import require_sessions
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    invoke,
    mock_server,
    run,
    write_configuration,
    write_suite,
)
from tests.acceptance.conftest import RecordedLog
from tests.conftest import as_administrator
from tests.servers.postgres_proxy import TransactionPooler

COMMANDS = [
    ("start", "run.yaml"),
    ("start", "run.yaml", "--detach"),
    ("start", "run.yaml", "--workers", "2"),
    ("validate", "run.yaml"),
    ("resume", "1"),
    ("resume", "1", "--detach"),
    ("worker", "--drain"),
    ("worker", "--run", "1"),
    ("workers",),
    ("runs",),
    ("show", "1"),
    ("replay", "1"),
    ("verify",),
    ("ledger", "checkpoint"),
    ("projections", "rebuild"),
    ("evidence", "export", "1", "-o", "evidence"),
    ("db", "init"),
    ("db", "status"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_works_through_a_pooler_in_transaction_mode(
    command: tuple[str, ...],
    recorded_log: RecordedLog,
    postgres_server: EmbeddedServer,
    mock_url: str,
    tmp_path: Path,
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    before = recorded_log.fingerprint()
    with TransactionPooler(postgres_server, recorded_log.url, sessions=2) as pooler:
        refused = invoke(pooler.url_of(recorded_log.url), *command, cwd=tmp_path)
    assert refused.exit_code == 2, refused.output
    assert "pooler in transaction or statement mode" in refused.output
    assert "pool_mode = session" in refused.output
    assert recorded_log.fingerprint() == before


@contextmanager
def pgbouncer(server: EmbeddedServer, mode: str) -> Iterator[str]:
    """A real PgBouncer before the server, in this mode; yields the folder of its socket."""
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        pytest.skip("NOT TESTED WITH PGBOUNCER: it is not installed on this machine")
    account = account_for(os.geteuid())
    with tempfile.TemporaryDirectory(prefix="failproof-es-pooler-") as named:
        folder = Path(named)
        folder.chmod(0o755)
        (folder / "users").write_text('"failproof_writer" ""\n"postgres" ""\n')
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(
            f"[databases]\n* = host={conninfo_to_dict(server.url)['host']}\n"
            f"[pgbouncer]\npool_mode = {mode}\nauth_type = trust\n"
            f"auth_file = {folder / 'users'}\nunix_socket_dir = {folder}\nlisten_port = 5432\n"
            "default_pool_size = 48\nserver_round_robin = 1\n"
        )
        account.own(folder)
        process = subprocess.Popen(
            [program, "-q", configuration], stderr=subprocess.DEVNULL, **account.run_as()
        )
        try:
            deadline = time.monotonic() + 20
            while not (folder / ".s.PGSQL.5432").exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield named
        finally:
            process.kill()
            process.wait()


def through(url: str, folder: str) -> str:
    """The same database and user, by the socket in `folder`."""
    host = str(conninfo_to_dict(url)["host"])
    return url.replace(quote(host, safe="/"), quote(folder, safe="/"))


@contextmanager
def traffic(url: str, clients: int) -> Iterator[None]:
    """Clients of the pool that keep its sessions busy."""
    stop = threading.Event()

    def ask() -> None:
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
            while not stop.is_set():
                connection.execute("SELECT pg_sleep(0.002)")

    with ThreadPoolExecutor(clients) as pool:
        for _ in range(clients):
            pool.submit(ask)
        try:
            yield
        finally:
            stop.set()


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_real_pooler_is_refused_while_others_use_it_too(
    mode: str, store: Store, postgres_server: EmbeddedServer, tmp_path: Path
) -> None:
    with pgbouncer(postgres_server, mode) as folder:
        url = through(store.url, folder)
        for command in (("worker", "--drain"), ("db", "status")):
            refused = run(url, *command, cwd=tmp_path)
            assert (refused.returncode, "transaction or statement" in refused.stderr) == (2, True)
        refused = run(as_administrator(url), "db", "init", cwd=tmp_path)
        assert (refused.returncode, "transaction or statement" in refused.stderr) == (2, True)
        with traffic(url, 4):
            for _ in range(40):
                with connect(url) as connection, pytest.raises(InvalidInput, match="pooler"):
                    require_sessions(connection, url)


def test_two_workers_drive_a_run_through_a_real_pooler_in_session_mode(
    store: Store, postgres_server: EmbeddedServer, tmp_path: Path
) -> None:
    with pgbouncer(postgres_server, "session") as folder, mock_server(latency_ms=20) as mock:
        url = through(store.url, folder)
        write_suite(tmp_path, 40)
        write_configuration(tmp_path, mock)
        done = run(url, "start", "run.yaml", "--workers", "2", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert orjson.loads(done.stdout)["counts"]["scored"] == 40
    verified = run(store.url, "verify", "1", cwd=tmp_path)
    assert verified.returncode == 0, verified.stderr
