"""The key of the log is made by `db init`, aloud. A host without it records; a service signs."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from failproof_es.library.opened_run import OpenedRun
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from tests.acceptance.commands import (
    begin,
    invoke,
    kill_group,
    mock_server,
    write_configuration,
    write_suite,
)
from tests.acceptance.runs.test_bad_inputs import check_paragraph
from tests.conftest import as_administrator

_PATIENCE_S = 120.0
MADE = "made the key that signs this log"


@pytest.fixture
def url() -> Iterator[str]:
    with mock_server(latency_ms=0) as server:
        yield server


def without_key(home: Path) -> None:
    for key in home.rglob("*.key*"):
        key.unlink()


def test_whoever_plans_first_makes_no_key_and_says_that_the_run_stays_unsigned(
    store: Store, tmp_path: Path, home: Path, url: str
) -> None:
    without_key(home)
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, url)
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 0 and "has no key of the log, so it signs nothing" in done.stderr
    assert MADE not in done.output and not list(home.rglob("*.key"))
    administrator = as_administrator(store.url)
    init = invoke(administrator, "db", "init", cwd=tmp_path)
    [key] = home.rglob("*.key")
    assert MADE in init.stderr and str(key) in init.stderr
    assert MADE not in invoke(administrator, "db", "init", cwd=tmp_path).stderr
    assert invoke(store.url, "ledger", "sign", cwd=tmp_path).exit_code == 0
    assert invoke(store.url, "verify", "1", cwd=tmp_path).exit_code == 0


def test_no_command_but_db_init_makes_the_schema_or_the_key_on_a_server_of_ones_own(
    database_url: str, tmp_path: Path, home: Path
) -> None:
    for command in (("runs",), ("verify",), ("start", "quickstart")):
        check_paragraph(invoke(database_url, *command, cwd=tmp_path), 2, "no schema", "db init")
    with pytest.raises(InvalidInput, match=r"\[schema-not-current\]"):
        OpenedRun.open("1", database_url=database_url)
    assert list(home.rglob("*.key")) == []
    with psycopg.connect(database_url, autocommit=True) as connection:
        ours = "SELECT nspname FROM pg_namespace WHERE nspname ~ 'failproof|projections'"
        assert connection.execute(ours).fetchall() == []
        for table in ("failproof.events", "failproof_queue.jobs", "projections.runs"):
            schema, name = table.split(".")
            connection.execute(f"CREATE SCHEMA {schema} CREATE TABLE {name} (note text)".encode())
            refused = invoke(database_url, "db", "init", cwd=tmp_path)
            check_paragraph(refused, 2, table, "[schema-taken]")
            connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


@pytest.mark.slow
@pytest.mark.parametrize("key", ["no key", "an empty key"])
def test_a_worker_says_once_that_it_does_not_sign(
    key: str, store: Store, tmp_path: Path, home: Path, url: str
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, url)
    assert invoke(store.url, "start", "run.yaml", "--detach", cwd=tmp_path).exit_code == 0
    for file in home.rglob("*.key*"):
        if key == "no key":
            file.unlink()
        else:
            file.write_bytes(b"")
    done = invoke(store.url, "worker", "--drain", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    remarks = ("this host has no key of the log", "the log could not be signed")
    assert [done.stderr.count(remark) for remark in remarks] == (
        [1, 0] if key == "no key" else [0, 1]
    )


def test_a_worker_that_drains_and_who_waits_have_the_exit_code_of_the_run(
    store: Store, tmp_path: Path, url: str
) -> None:
    """The mock repeats the number of a prompt, and here there is none: no case passes."""
    write_suite(tmp_path, 3, prompt="Hello.")
    write_configuration(tmp_path, url, gates={"min_accuracy": 1.0})
    assert invoke(store.url, "start", "run.yaml", "--detach", cwd=tmp_path).exit_code == 0
    early = invoke(store.url, "wait", "1", "--timeout", "1.1", cwd=tmp_path)
    assert early.exit_code == 124 and "run 1 acceptance: running" in early.stderr
    assert early.stderr.count("run 1: no worker drives it since ") == 1
    named = invoke(store.url, "worker", "--drain", cwd=tmp_path)
    assert named.exit_code == 3, named.output
    assert named.stderr.count("run 1 acceptance: completed") == 1
    assert "run 1: gate min_accuracy" in named.stderr
    waited = invoke(store.url, "wait", "1", cwd=tmp_path)
    assert waited.exit_code == 3 and "run 1 acceptance: completed" in waited.stderr
    assert "min_accuracy" in waited.stderr
    assert invoke(store.url, "resume", "1", "--quiet", cwd=tmp_path).exit_code == 3


def test_a_signer_is_a_service_that_signs_what_other_hosts_record(
    store: Store, tmp_path: Path, home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = tmp_path / "alive"
    signer = begin(
        store.url, "ledger", "sign", "--follow", "--every", "1", "--alive-file", str(alive),
        cwd=tmp_path,
    )  # fmt: skip
    try:
        write_suite(tmp_path, 2)
        write_configuration(tmp_path, url)
        other = {"FAILPROOF_ES_HOME": str(tmp_path / "other")}
        done = invoke(store.url, "start", "run.yaml", cwd=tmp_path, **other)
        assert done.exit_code == 0 and "has no key of the log" in done.stderr
        until = time.monotonic() + _PATIENCE_S
        while invoke(store.url, "verify", "1", cwd=tmp_path).exit_code != 0:
            assert time.monotonic() < until
            time.sleep(0.5)
        assert alive.exists()
        signer.send_signal(signal.SIGTERM)
        assert signer.wait(_PATIENCE_S) == 0
    finally:
        kill_group(signer)


def test_a_signer_that_lost_its_key_says_so_and_signs_again_with_it(
    store: Store, tmp_path: Path, home: Path
) -> None:
    signer = begin(store.url, "ledger", "sign", "--follow", "--every", "1", cwd=tmp_path)
    try:
        assert signer.stderr is not None
        lines = iter(signer.stderr.readline, b"")
        assert b"signed" in next(lines)
        [key] = home.rglob("*.key")
        lost = key.rename(tmp_path / "lost.key")
        assert b"not signed for now: " in (line := next(lines)) and str(key).encode() in line
        lost.rename(key)
        assert next(lines) == b"signing again\n"
        signer.send_signal(signal.SIGTERM)
        assert signer.wait(_PATIENCE_S) == 0
    finally:
        kill_group(signer)
