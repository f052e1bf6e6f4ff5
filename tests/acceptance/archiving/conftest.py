"""A log with finished runs, and a login that may archive them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import ARCHIVER, WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.acceptance.recording import Recording, recorded_once
from tests.conftest import as_administrator


@dataclass(frozen=True, slots=True)
class Archive:
    """A database, its files, and who may archive."""

    url: str
    folder: Path
    admin: str
    """The URL of a superuser, who looks at tables."""

    def does(self, *arguments: object, code: int = 0) -> str:
        """Run a command as who may archive; what it prints."""
        done = invoke(self.url, *arguments, cwd=self.folder)
        assert done.exit_code == code, (arguments, done.exit_code, done.output)
        return done.output

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows, as a superuser."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            return connection.execute(statement, values).fetchall()

    def rows(self, run: int = 1) -> list[tuple[Any, ...]]:
        """Every column of every row that is filed under the run."""
        return self.query(
            "SELECT e.* FROM failproof.events AS e JOIN failproof.run_list AS l USING (run_id) "
            "WHERE l.run_number = %s ORDER BY notification_id",
            run,
        )

    def run_id(self, run: int = 1) -> UUID:
        """The id of a run."""
        [(found,)] = self.query("SELECT run_id FROM failproof.run_list WHERE run_number = %s", run)
        assert isinstance(found, UUID)
        return found

    def file(self, run: int = 1, folder: str = "old") -> Path:
        """Where the run is archived."""
        return self.folder / folder / f"run-{run}-{self.run_id(run)}.evidence"


@pytest.fixture(scope="session")
def finished_runs(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """A log of two finished runs of three evaluations each, recorded once."""

    def record(url: str, folder: Path) -> None:
        write_suite(folder, 3)
        for name in ("acceptance", "another"):
            write_configuration(folder, mock_url, test_run={"name": name})
            done = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
            assert done.exit_code == 0, done.output

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(finished_runs: Recording) -> str:
    """What `store` is on a copy of."""
    return finished_runs.database


@pytest.fixture
def archive(
    store: Store,
    administrator: psycopg.Connection[Any],
    finished_runs: Recording,
    home: Path,
    tmp_path: Path,
) -> Iterator[Archive]:
    """A copy of that log, and of its files."""
    finished_runs.copy_files(home, tmp_path)
    login = f"archivist_{uuid4().hex}"
    name = sql.Identifier(login)
    administrator.execute(sql.SQL("CREATE ROLE {} LOGIN").format(name))
    roles = sql.SQL(", ").join([sql.Identifier(WRITER), sql.Identifier(ARCHIVER)])
    administrator.execute(sql.SQL("GRANT {} TO {}").format(roles, name))
    url = store.url.replace(f"//{WRITER}@", f"//{login}@")
    found = Archive(url, tmp_path, as_administrator(store.url))
    yield found
    store.close()
    with psycopg.connect(found.admin, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (login,)
        )
        connection.execute(sql.SQL("DROP OWNED BY {}").format(name))
        connection.execute(sql.SQL("DROP ROLE {}").format(name))
