"""What the deployment's files run, run here: against a server of the test's own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.environment import DATABASE_URL, PASSWORD_FILE
from tests.acceptance.commands import (
    begin_with,
    completed,
    mock_server,
    programs_of,
    write_configuration,
    write_suite,
)
from tests.conftest import create_database, database_url_as
from tests.integration.deployment.files import EXAMPLES, compose, documents
from tests.own_server import own_server

NAME = "evaluations"


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """Logins belong to a whole server, so this one is no other test's."""
    with own_server() as own:
        create_database(own, NAME)
        yield own


@pytest.fixture
def secrets(tmp_path: Path) -> dict[str, Path]:
    """A file for each login's password."""
    files = {name: tmp_path / f"{name}_password" for name in ("postgres", "worker", "auditor")}
    for name, file in files.items():
        file.write_text(f"the password of '{name}'\n")
    return files


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where shells find the program."""
    return programs_of(tmp_path)


def variables(
    server: EmbeddedServer, secrets: dict[str, Path], login: str, path: str = os.environ["PATH"]
) -> dict[str, str]:
    return {
        "PATH": path,
        "HOME": os.environ["FAILPROOF_ES_HOME"],
        "FAILPROOF_ES_HOME": os.environ["FAILPROOF_ES_HOME"],
        DATABASE_URL: database_url_as(server, NAME, login),
        PASSWORD_FILE: str(secrets[login]),
        "WORKER_PASSWORD_FILE": str(secrets["worker"]),
        "AUDITOR_PASSWORD_FILE": str(secrets["auditor"]),
    }


def migrating(folder: Path) -> list[list[str]]:
    """The commands that make the schema and the logins, as Compose and Kubernetes run them."""
    service = compose(folder)["services"]["migrate"]
    [job] = documents(EXAMPLES / "kubernetes/migrate.yaml")
    [container] = job["spec"]["template"]["spec"]["containers"]
    script = str(EXAMPLES / "logins.sql")
    return [
        [part.replace("/etc/failproof-es/logins.sql", script) for part in command]
        for command in (
            [*service["entrypoint"], *service["command"]],
            [*container["command"], *container["args"]],
        )
    ]


def execute(
    command: list[str], environment: dict[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip


def ask(server: EmbeddedServer, statement: str) -> Any:
    with psycopg.connect(database_url_as(server, NAME), autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return None if row is None else row[0]


@pytest.mark.slow
def test_the_commands_make_the_logins_and_two_workers_drive_a_run(
    server: EmbeddedServer, secrets: dict[str, Path], tmp_path: Path, path: str
) -> None:
    as_administrator = variables(server, secrets, "postgres", path)
    for command in migrating(tmp_path):  # the second one finds everything there
        done = execute(command, as_administrator, tmp_path)
        assert done.returncode == 0, done.stderr
    passwords = ask(
        server,
        "SELECT count(*) FROM pg_authid WHERE rolname IN ('worker', 'auditor') "
        "AND rolcanlogin AND NOT rolsuper AND rolpassword LIKE 'SCRAM-SHA-256$%'",
    )
    assert passwords == 2

    as_worker = variables(server, secrets, "worker")
    alive = tmp_path / "alive"
    with mock_server(latency_ms=20) as url:
        write_suite(tmp_path, 16)
        write_configuration(tmp_path, url)
        planned = completed(["start", "run.yaml", "--detach"], as_worker, tmp_path)
        assert planned.returncode == 0, planned.stderr
        service = compose(tmp_path)["services"]["worker"]
        arguments = [part.replace("/tmp/alive", str(alive)) for part in service["command"]]
        running = [
            begin_with(as_worker, *arguments, cwd=tmp_path)
            for _ in range(service["deploy"]["replicas"])
        ]
        try:
            sealed = "SELECT count(*) FROM failproof.stored_events WHERE topic = 'RunSealed'"
            deadline = time.monotonic() + 90
            while not ask(server, sealed):
                assert time.monotonic() < deadline
                time.sleep(0.5)
            assert alive.exists()
            for process in running:
                process.send_signal(signal.SIGTERM)
            said = [process.communicate(timeout=60)[1].decode() for process in running]
        finally:
            for process in running:
                process.kill()
    assert [process.returncode for process in running] == [0, 0], said
    assert all("leaving after the requests in flight" in each for each in said)
    assert not any("warning" in each or "error" in each for each in said), said
    assert_the_console_serves(variables(server, secrets, "auditor"), tmp_path)
    refused = completed(["worker"], variables(server, secrets, "auditor"), tmp_path)
    assert (refused.returncode, "failproof_writer" in refused.stderr) == (2, True), refused.stderr


def assert_the_console_serves(as_auditor: dict[str, str], folder: Path) -> None:
    """The service `console` as Compose runs it, but for its port; and its probe."""
    service = compose(folder)["services"]["console"]
    token = folder / "console_token"
    token.write_text("0123456789abcdef0123456789abcdef\n")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    arguments = [
        part.replace("/run/secrets/console_token", str(token)).replace("0.0.0.0", "127.0.0.1")
        for part in service["command"]
    ]
    probe = [part.replace(":8321/", f":{port}/") for part in service["healthcheck"]["test"][3:]]
    url = f"http://127.0.0.1:{port}/runs/1.json"
    process = begin_with(as_auditor, *arguments, f"--port={port}", cwd=folder)
    assert process.stderr is not None
    with process, process.stderr:
        try:
            assert f"http://127.0.0.1:{port}" in process.stderr.readline().decode()
            # As often as Compose asks before it takes the service for ill.
            for _ in range(service["healthcheck"]["retries"]):
                healthy = execute([sys.executable, "-c", *probe], as_auditor, folder)
                if healthy.returncode == 0:
                    break
            assert healthy.returncode == 0, healthy.stderr
            assert httpx.get(url, timeout=60).status_code == 401
            shown = httpx.get(
                url, timeout=60, headers={"Authorization": f"Bearer {token.read_text().strip()}"}
            ).json()
            assert shown["counts"]["finished"] == 16
            assert shown["as_of"]["lag"] == 0 and shown["as_of"]["source"] == "projections"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    assert execute([sys.executable, "-c", *probe], as_auditor, folder).returncode != 0


def test_no_login_is_made_without_a_password(
    server: EmbeddedServer, secrets: dict[str, Path], tmp_path: Path, path: str
) -> None:
    secrets["auditor"].write_text("\n")
    script = ["failproof-es", "db", "shell", "--", f"--file={EXAMPLES / 'logins.sql'}"]
    refused = execute(script, variables(server, secrets, "postgres", path), tmp_path)
    assert refused.returncode == 3
    assert "AUDITOR_PASSWORD_FILE" in refused.stderr
