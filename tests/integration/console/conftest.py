"""A console over a log with four runs, and one over an empty log; both are only read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server, write_configuration, write_suite
from tests.conftest import as_administrator, create_database, database_url_as, drop_database
from tests.console import console, record_runs, settings_for


@pytest.fixture(scope="session")
def console_log(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """The URL of a database with the runs of `record_runs`."""
    name = f"console_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    with mock_server(latency_ms=0) as mock_url:
        record_runs(url, mock_url, tmp_path_factory.mktemp("console"))
    yield url
    drop_database(postgres_server, name)


@pytest.fixture(scope="session")
def console_url(console_log: str) -> Iterator[str]:
    """The base URL of a console over those runs."""
    with console(**settings_for(console_log)) as url:
        yield url


@pytest.fixture
def client(console_url: str) -> Iterator[httpx.Client]:
    """Asks that console. Redirects are not followed."""
    with httpx.Client(
        base_url=console_url, timeout=60, verify=False
    ) as opened:  # reads no certificates
        yield opened


@pytest.fixture
def mock_runs(store: Store, tmp_path: Path) -> None:
    """One small run in the log of `store`, whose projections nobody brought up."""
    write_suite(tmp_path, 3)
    with mock_server(latency_ms=0) as mock_url:
        write_configuration(tmp_path, mock_url)
        invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    with psycopg.connect(as_administrator(store.url), autocommit=True) as administrator:
        administrator.execute("DROP SCHEMA projections CASCADE")
        administrator.execute("CREATE SCHEMA projections AUTHORIZATION failproof_projector")
        administrator.execute("GRANT USAGE ON SCHEMA projections TO PUBLIC")
