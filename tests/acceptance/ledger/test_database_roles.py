"""The command line as the users of a database: an auditor, a writer, an administrator."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema import migration
from failproof_es.store.schema.installation import ARCHIVER, AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import asked, invoke, run, write_configuration, write_suite
from tests.acceptance.conftest import RecordedLog


def login_in(server: EmbeddedServer, role: str) -> Iterator[str]:
    """A login of somebody's own that has been granted the role."""
    name = f"somebody_{uuid4().hex}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN IN ROLE {}").format(
                sql.Identifier(name), sql.Identifier(role)
            )
        )
        yield name
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.fixture
def auditor(postgres_server: EmbeddedServer) -> Iterator[str]:
    yield from login_in(postgres_server, AUDITOR)


@pytest.fixture
def engineer(postgres_server: EmbeddedServer) -> Iterator[str]:
    yield from login_in(postgres_server, WRITER)


def as_user(url: str, name: str) -> str:
    return url.replace("//postgres@", f"//{name}@").replace(f"//{WRITER}@", f"//{name}@")


@pytest.mark.parametrize(
    "command",
    [
        ("runs", "--json"),
        ("show", "latest"),
        ("results", "1", "--format", "jsonl"),
        ("replay", "1", "--as-of", "12"),
        ("log", "1", "--format", "jsonl"),
        ("audit", "1"),
        ("projections", "status"),
    ],
    ids=" ".join,
)
def test_an_auditor_reads_what_the_administrator_reads(
    command: tuple[str, ...], recorded_log: RecordedLog, auditor: str, tmp_path: Path
) -> None:
    read = invoke(as_user(recorded_log.url, auditor), *command, cwd=tmp_path)
    assert read.exit_code == 0, read.output
    as_administrator = invoke(recorded_log.url, *command, cwd=tmp_path)
    assert told(read.stdout) == told(as_administrator.stdout)


def told(output: str) -> list[str]:
    """What is told, but for what the database enforces: on an administrator it is less."""
    return [" ".join(line.split()) for line in output.splitlines() if line[:9] != "database "]


@pytest.mark.parametrize(
    "command",
    [
        ("report", "1", "-o", "file"),
        ("results", "1", "--junit", "file"),
        ("review", "export", "1", "file"),
        ("evidence", "export", "1", "--no-checkpoint", "-o", "file"),
    ],
    ids=" ".join,
)
def test_an_auditor_has_every_file_and_is_told_that_it_is_not_on_record(
    command: tuple[str, ...], recorded_log: RecordedLog, auditor: str, tmp_path: Path
) -> None:
    before = recorded_log.fingerprint()
    done = invoke(as_user(recorded_log.url, auditor), *command, cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert "not on record: this database user may only read" in done.stderr
    assert (tmp_path / "file").stat().st_size > 0
    assert recorded_log.fingerprint() == before


def test_where_the_database_itself_is_read_only_files_are_written_all_the_same(
    recorded_log: RecordedLog, tmp_path: Path
) -> None:
    options = "-c default_transaction_read_only=on"
    url = f"{recorded_log.url}{'&' if '?' in recorded_log.url else '?'}options={quote(options)}"
    done = invoke(url, "results", "1", "--junit", "file", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert "not on record" in done.stderr and (tmp_path / "file").stat().st_size > 0


def test_an_auditor_starts_nothing(
    recorded_log: RecordedLog, auditor: str, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1, prompt="Never to be asked {n}.")
    write_configuration(tmp_path, mock_url)
    before = recorded_log.fingerprint()
    done = run(as_user(recorded_log.url, auditor), "start", "run.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "this database user may not do that: permission denied for function" in done.stderr
    assert "Traceback" not in done.stderr
    assert recorded_log.fingerprint() == before
    assert not [prompt for prompt in asked(mock_url) if prompt.startswith("Never")]


@pytest.mark.parametrize("command", [("resume", "1", "--at", "20"), ("review", "1")], ids=" ".join)
def test_an_auditor_is_told_who_may_branch_and_review(
    command: tuple[str, ...], recorded_log: RecordedLog, auditor: str, tmp_path: Path
) -> None:
    before = recorded_log.fingerprint()
    url = as_user(recorded_log.url, auditor)
    done = invoke(url, *command, cwd=tmp_path, answers="pass\n\n\n\nquit\n")
    assert done.exit_code == 2 and "was granted failproof_writer" in done.stderr, done.output
    assert recorded_log.fingerprint() == before


def test_a_login_that_was_granted_the_writers_role_runs_and_projects(
    store: Store, engineer: str, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)
    url = as_user(store.url, engineer)
    done = invoke(url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "warning" not in done.stderr
    with store.connect() as connection:
        row = connection.execute("SELECT count(*) FROM projections.run_results").fetchone()
    assert row == (3,)
    assert invoke(url, "projections", "rebuild", cwd=tmp_path).exit_code == 0


def status(url: str, cwd: Path) -> dict[str, Any]:
    done = invoke(url, "db", "status", "--json", cwd=cwd)
    assert done.exit_code == 0, done.output
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_a_status_that_this_user_may_not_read_is_no_success(store: Store, tmp_path: Path) -> None:
    done = invoke(as_user(store.url, ARCHIVER), "db", "status", cwd=tmp_path)
    assert done.exit_code == 1 and "permission denied for" in done.stdout, done.output


def test_the_status_says_which_layers_are_missing(
    store: Store, engineer: str, administrator: psycopg.Connection[Any], tmp_path: Path
) -> None:
    url = as_user(store.url, engineer)
    facts = status(url, tmp_path)
    assert (facts["schema"], facts["missing_layers"]) == ("current", [])
    administrator.execute("ALTER EVENT TRIGGER failproof_objects_stay DISABLE")
    [layer] = status(url, tmp_path)["missing_layers"]
    assert layer["name"] == "guarded schema"
    assert "superuser" in layer["remedy"]
    told = invoke(url, "db", "status", cwd=tmp_path)
    assert "missing: guarded schema, which stops ALTER, DROP" in told.stderr
    administrators = status(as_user(url, "postgres").replace(engineer, "postgres"), tmp_path)
    names = [layer["name"] for layer in administrators["missing_layers"]]
    assert names == ["least privilege", "guarded schema"]


def test_an_empty_database_has_no_layer_and_an_older_schema_stays_until_db_init(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = status(database_url, tmp_path)
    assert facts["schema"] == "absent"
    assert len(facts["missing_layers"]) == 6
    done = invoke(database_url, "db", "init", "--json", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["migrations"][0] == "0001_baseline"
    assert told["problems"] == []
    assert told["schema"] == "current"
    shipped = migration.migrations()
    later = migration.Migration(9999, "later", "SELECT 1")
    monkeypatch.setattr(migration, "migrations", lambda: [*shipped, later])
    refused = invoke(database_url, "runs", cwd=tmp_path)
    assert refused.exit_code == 2
    assert "older version" in refused.stderr and "db init" in refused.stderr
    assert "[schema-not-current]" in refused.stderr
    assert status(database_url, tmp_path)["schema"] == "outdated"
    for _ in range(2):  # the second one finds everything there
        assert invoke(database_url, "db", "init", cwd=tmp_path).exit_code == 0
    assert invoke(database_url, "runs", cwd=tmp_path).exit_code == 0


def test_the_embedded_server_is_used_as_one_role_or_another(
    postgres_server: EmbeddedServer, tmp_path: Path
) -> None:
    more = {"FAILPROOF_ES_HOME": str(postgres_server.home)}
    urls = {
        role: run("", "db", "url", *(("--as", role) if role else ()), cwd=tmp_path, **more)
        for role in ("", "auditor", "writer", "administrator")
    }
    assert "//failproof_writer@" in urls["writer"].stdout
    assert "//failproof_auditor@" in urls[""].stdout, "unless asked otherwise"
    assert "//failproof_auditor@" in urls["auditor"].stdout
    assert "//postgres@" in urls["administrator"].stdout
    facts = json.loads(run("", "db", "status", "--json", cwd=tmp_path, **more).stdout)
    assert (facts["server"], facts["schema"]) == ("embedded", "current")
    assert facts["missing_layers"] == []
    shell = run(
        "", "db", "shell", "--", "-Atc", "SELECT current_user", cwd=tmp_path,
        PATH=os.environ["PATH"], **more,
    )  # fmt: skip
    assert shell.stdout.strip() == AUDITOR
    as_administrator = ("db", "shell", "--as", "administrator")
    who = ("--", "-Atc", "SELECT current_user")
    more["PATH"] = os.environ["PATH"]
    shell = run("", *as_administrator, *who, cwd=tmp_path, **more)
    assert shell.stdout.strip() == AUDITOR and "add --insist" in shell.stderr
    shell = run("", *as_administrator, "--insist", *who, cwd=tmp_path, **more)
    assert shell.stdout.strip() == "postgres" and "warning: you are the server" in shell.stderr
    assert run("", "db", "shell", "--insist", *who, cwd=tmp_path, **more).returncode == 2
    refused = run(urls["writer"].stdout.strip(), "db", "url", "--as", "auditor", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--as is for the embedded server" in refused.stderr
