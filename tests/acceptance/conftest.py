"""What the acceptance tests share: a mock model, and a log that must stay as it is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import psycopg
import pytest

from failproof_es.events import EVENTS, OperationEvent
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.support.bounded import running_child
from failproof_es.support.machine import sidecar
from tests.acceptance.commands import (
    SIDECARS,
    fork_child,
    invoke,
    mock_server,
    write_configuration,
    write_suite,
)
from tests.conftest import create_database, home_of


@pytest.fixture(scope="package", autouse=True)
def children_are_forked() -> Iterator[None]:
    """The children of commands that run in this process start as commands in processes do."""
    forking = SimpleNamespace(
        Popen=fork_child, PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(running_child, "subprocess", forking)
        patched.setattr(sidecar, "subprocess", SIDECARS)
        yield


@pytest.fixture(scope="session")
def mock_url() -> Iterator[str]:
    """The base URL of a mock model; its counts are those of the whole session."""
    with mock_server(latency_ms=0) as url:
        yield url


@pytest.fixture(scope="session")
def judging_url() -> Iterator[str]:
    """The base URL of a model that also judges."""
    with mock_server(0, "tests.servers.judging_server") as url:
        yield url


@dataclass(frozen=True, slots=True)
class RecordedLog:
    """A database that holds one finished run, number 1."""

    url: str

    def fingerprint(self) -> tuple[int, str]:
        """How many events there are, and a digest of every byte of them.

        But for what is done about runs: that a validation failed is on record, too.
        """
        with psycopg.connect(self.url) as connection:
            row = connection.execute(
                "SELECT count(*), md5(string_agg(md5(e::text), '' ORDER BY notification_id)) "
                "FROM failproof.events e WHERE topic <> ALL (%s)",
                ([name for name, kind in EVENTS.items() if issubclass(kind, OperationEvent)],),
            ).fetchone()
        assert row is not None
        return row[0], row[1]


@pytest.fixture(scope="session")
def record_log(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[], RecordedLog]:
    """Makes a log with a finished run."""

    def record() -> RecordedLog:
        name = f"recorded_{uuid4().hex}"
        create_database(postgres_server, name, migrated_database)
        log = RecordedLog(postgres_server.url.replace("/failproof?", f"/{name}?"))
        folder: Path = tmp_path_factory.mktemp("recorded")
        write_suite(folder, 3)
        write_configuration(folder, mock_url)
        with home_of(folder):
            done = invoke(log.url, "start", "run.yaml", "--quiet", cwd=folder)
        assert done.exit_code == 0, done.output
        return log

    return record


@pytest.fixture(scope="session")
def recorded_log(record_log: Callable[[], RecordedLog]) -> RecordedLog:
    """A log with a finished run, for tests that may add nothing to it and lose nothing of it."""
    return record_log()
