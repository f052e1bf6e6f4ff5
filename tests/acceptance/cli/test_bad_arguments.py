"""What a person can get wrong on the command line: arguments, and the database that is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.conftest import RecordedLog
from tests.acceptance.runs.test_bad_inputs import CANARY, check_paragraph

COMMANDS = {
    "unknown command": (["strat"], ["[unknown-command]", "'strat'"]),
    "a misspelt shipped configuration": (["start", "quickstrat"], ["did you mean 'quickstart'?"]),
    "no argument": (["start"], ["[missing-option]", "'CONFIG'"]),
    "unknown option": (["runs", "--lmit", "3"], ["[unknown-option]", "--limit"]),
    "too many arguments": (["runs", "3"], ["[usage-error]"]),
    "options that exclude each other": (["audit", "--all"], ["[options-conflict]"]),
    "unknown run number": (
        ["show", "99"], ["[unknown-run]", "'99'", "runs 1 to 1", "failproof-es runs"]
    ),
    "unknown run id": (
        ["resume", "3b9f1f6e-0b0a-4b55-9d0e-3f7c2f0c9a11"], ["[unknown-run]", "runs 1 to 1"]
    ),
    "not a run": (["results", "first"], ["[unknown-run]", "'first'", "`latest`"]),
    "a run number too large": (["show", "9" * 30], ["[unknown-run]", "'999"]),
    "unknown event": (["log", "--type", "Nonsense"], ["[invalid-option]", "'Nonsense'", "Scored"]),
    "a time that is none": (["log", "--since", "noon"], ["[invalid-option]", "2026-01-31"]),
    "a stream that is none": (["log", "--stream", "x"], ["[invalid-option]", "'x'"]),
    "a limit that is none": (["log", "--limit", "0"], ["[invalid-option]", "--limit"]),
    "unknown format": (["results", "1", "--format", "xml"], ["[invalid-option]", "'xml'"]),
    "unknown projection": (
        ["projections", "rebuild", "nonsense"], ["[unknown-name]", "'nonsense'", "run_results"]
    ),
    "unknown dialect": (
        ["suites", "validate", ".", "--dialect", "x"], ["[unknown-name]", "'x'", "failproof"]
    ),
    "a model that cannot be installed": (
        ["models", "install", "gpt-9"], ["[unknown-model]", "'gpt-9'", "smollm2"]
    ),
    "a moment that is none": (["replay", "1", "--as-of", "noon"], ["[invalid-option]", "noon"]),
    "stopping a server of one's own": (["db", "stop"], ["[options-conflict]"]),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_command_is_told(name: str, recorded_log: RecordedLog, tmp_path: Path) -> None:
    arguments, words = COMMANDS[name]
    before = recorded_log.fingerprint()
    check_paragraph(invoke(recorded_log.url, *arguments, cwd=tmp_path), 2, *words)
    assert recorded_log.fingerprint() == before


@pytest.mark.parametrize("command", ["show", "resume", "results", "replay", "log"])
def test_the_latest_run_of_an_empty_log_is_told(command: str, store: Store, tmp_path: Path) -> None:
    done = invoke(store.url, command, "latest", cwd=tmp_path)
    check_paragraph(done, 2, "no run 'latest': no run exists yet", "failproof-es runs")


@pytest.mark.parametrize(
    "command", [("log",), ("runs",), ("results", "1"), ("results", "1", "--sort", "case")]
)
def test_a_limit_beyond_everything_is_no_limit(
    command: tuple[str, ...], recorded_log: RecordedLog, tmp_path: Path
) -> None:
    done = invoke(recorded_log.url, *command, "--limit", "9" * 30, cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    everything = invoke(recorded_log.url, *command, cwd=tmp_path).stdout
    assert done.stdout == everything and len(everything.splitlines()) > 3


# -- databases -----------------------------------------------------------------------------

DATABASES = {
    "nobody listens": (f"postgresql://me:{CANARY}@127.0.0.1:1/log", ["refused"]),
    "no such host": (f"postgresql://me:{CANARY}@nowhere.invalid/log", ["nowhere.invalid"]),
    "a port that is none": (f"postgresql://me:{CANARY}@127.0.0.1:x/log", ["port"]),
    "no such socket": (f"host=/nowhere password={CANARY}", ["/nowhere"]),
}


@pytest.mark.parametrize("url", [f"mysql://me:{CANARY}@127.0.0.1/log", "nonsense"])
def test_a_database_url_that_cannot_be_read_is_not_quoted(url: str, tmp_path: Path) -> None:
    done = invoke(url, "runs", cwd=tmp_path)
    remedy = "write it like postgresql://user@host:5432/name and"
    check_paragraph(done, 2, "the database URL cannot be read", remedy)
    assert url not in done.stderr


@pytest.mark.parametrize("name", DATABASES)
def test_a_database_that_cannot_be_used_is_told_without_its_password(
    name: str, tmp_path: Path
) -> None:
    url, words = DATABASES[name]
    remedy = "check --database-url or FAILPROOF_ES_DATABASE_URL, and that the server is running"
    done = invoke(url, "runs", cwd=tmp_path)
    check_paragraph(done, 2, "the database cannot be used", remedy, *words)


def test_a_database_that_does_not_exist_is_told(
    postgres_server: EmbeddedServer, tmp_path: Path
) -> None:
    url = postgres_server.url.replace("/failproof?", "/absent?")
    check_paragraph(invoke(url, "runs", cwd=tmp_path), 2, 'database "absent" does not exist')
