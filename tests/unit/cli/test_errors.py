"""Every way a command can end has one exit code and one paragraph."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from failproof_es.cli.app.errors import ExitCode, exit_code_of, note_run, report
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.events import Counts, RunValidated
from failproof_es.ledger.errors import NotSigned
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.connecting import connect
from failproof_es.store.errors import ReadOnlyLog, UnreadableEvent, UnreadableState
from failproof_es.store.outage import LogUnavailable
from failproof_es.store.store import Store
from failproof_es.store.url_redaction import redact_message, redact_url
from failproof_es.store.writing.lease import RunBusy
from tests.every import every
from tests.unit.event_samples import SAMPLES

[SAMPLE_OF_RUN_VALIDATED] = [each for each in SAMPLES if isinstance(each, RunValidated)]
MET = {"min_accuracy": {"limit": 0.5, "measured": 0.9, "met": True}}
MISSED = {"min_accuracy": {"limit": 0.5, "measured": 0.1, "met": False}}


def outcome(
    status: Any, *, interrupted: bool = False, gates: Any = None, validation: Any = None
) -> Outcome:
    return Outcome(
        run_id=UUID(int=1),
        run_number=1,
        name="smoke",
        status=status,
        reason=None,
        counts=Counts(planned=1, finished=1, scored=1, abandoned=0),
        gates=gates or {},
        validation=validation,
        interrupted=interrupted,
    )


@every(
    ("result", "code"),
    [
        (outcome("completed"), 0),
        (outcome("completed", validation=SAMPLE_OF_RUN_VALIDATED), 1),
        (outcome("completed", gates=MET), 0),
        (outcome("completed", gates=MISSED), 3),
        (outcome("paused", interrupted=True), 130),
        (outcome("paused"), 1),
        (outcome("failed"), 1),
    ],
)
def test_a_run_that_came_back_has_the_promised_exit_code(result: Outcome, code: int) -> None:
    assert exit_code_of(result) == code


@pytest.mark.parametrize(
    ("error", "exit_code", "code"),
    [
        (InvalidInput.because("empty-value", "bad"), 2, "empty-value"),
        (RunBusy(UUID(int=1), "someone"), 1, "run-busy"),
        (UnreadableState("version 9"), 1, "log-unreadable"),
        (UnreadableEvent("no id"), 1, "log-changed"),
        (NotSigned("a leaf"), 1, "log-changed"),
        (LogUnavailable("no disk"), 1, "log-unwritable"),
        (ReadOnlyLog("a standby", whole=True), 1, "database-read-only"),
        (psycopg.errors.DiskFull("no space"), 1, "database-refused"),
        (psycopg.OperationalError("server closed"), 1, "database-unreachable"),
        (ReadOnlyLog("an auditor"), 2, "permission-denied"),
        (ValueError("odd"), 1, "unexpected-error"),
        (ValueError(), 1, "unexpected-error"),
    ],
)
def test_an_error_is_a_paragraph_that_ends_with_its_code(
    error: BaseException, exit_code: int, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(error, debug=False) == exit_code
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ") and shown.err.endswith(f" [{code}]\n")
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1


def test_all_problems_are_listed_each_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [
        Problem("missing-field", "is missing", Path("a.jsonl"), 3, "case_id"),
        Problem("not-json", "is not JSON", Path("b.jsonl"), 9),
    ]
    warning = Problem("key-exposed", "has a key", Path("a.jsonl"), 4, severity="warning")
    assert report(InvalidInput(problems, [warning]), debug=False) == ExitCode.USAGE
    shown = capsys.readouterr().err
    assert "2 problems, nothing was sent" in shown
    assert shown.endswith("\nwarning: a.jsonl:4: has a key [key-exposed]\n")
    assert "a.jsonl:3: case_id: is missing [missing-field]\n" in shown
    assert "b.jsonl:9: is not JSON [not-json]\n" in shown


def test_an_error_text_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report(InvalidInput.because("unknown-case", "no case \x1b[2J\u202e"), debug=False)
    shown = capsys.readouterr().err
    assert "\x1b" not in shown and "\u202e" not in shown


def test_only_debug_shows_the_stack_trace(capsys: pytest.CaptureFixture[str]) -> None:
    report(ValueError("odd"), debug=False)
    assert "Traceback" not in capsys.readouterr().err
    report(ValueError("odd"), debug=True)
    shown = capsys.readouterr().err
    assert "ValueError: odd" in shown
    assert "(--debug" not in shown


URLS = {
    "postgresql://me:sesame@db.example:5432/log": "postgresql://me:***@db.example:5432/log",
    "postgres://me:ses%40sesame@db.example/log?sslmode=require": (
        "postgres://me:***@db.example/log?sslmode=require"
    ),
    "postgresql:///log?user=me&password=sesame&host=/run": "postgresql://me:***@/log?host=/run",
    "postgresql://me:open%20sesame@db.example/log": "postgresql://me:***@db.example/log",
    "postgresql://me@db.example/log?pass%77ord=sesame": "postgresql://me:***@db.example/log",
    "postgresql://me@db.example/log?oauth_client_secret=sesame": (
        "postgresql://me@db.example/log?oauth_client_secret=***"
    ),
    "postgresql://me@db.example/log?options=-csesame&sslpassword=sesame": (
        "postgresql://me@db.example/log?options=***&sslpassword=***"
    ),
    "postgresql://me:open@sesame@db.example/log": "postgresql://me:***@***/log",
    "postgresql://me:sesame@one:1,two:2/log": "postgresql://me:***@/log?host=one,two&port=1,2",
    "postgresql://me:sesame@[::1]:5432/log": "postgresql://me:***@[::1]:5432/log",
    "host=db.example user=me password=sesame dbname=log": (
        "user=me password=*** dbname=log host=db.example"
    ),
    "host=db.example password='open sesame' dbname=log": (
        "password=*** dbname=log host=db.example"
    ),
}


@every("url", URLS)
def test_of_a_database_url_only_what_is_harmless_is_shown(url: str) -> None:
    assert redact_url(url) == URLS[url]
    assert "sesame" not in redact_message(f"cannot reach {url}: refused")


@every(
    "url",
    [
        "postgresql://me:open sesame@db.example/log",
        "host=db.example password=open sesame dbname=log",
        "postgresql://me:%zzsesame@db.example/log",
        "mysql://me:sesame@db.example/log",
        "sesame",
    ],
)
def test_a_database_url_that_cannot_be_read_is_not_quoted(url: str) -> None:
    for use in (redact_url, connect, Store.reach):
        with pytest.raises(InvalidInput, match="cannot be read") as refused:
            use(url)
        assert "sesame" not in str(refused.value)


def test_a_url_without_a_secret_stays_as_it_is() -> None:
    for url in (
        "postgresql://postgres@/failproof?host=/run/failproof",
        "postgresql://db.example:5432/log?target_session_attrs=read-write",
        "the model at http://127.0.0.1:8000/v1 is away",
    ):
        assert redact_message(url) == url
    assert redact_message("no sesame", "postgresql://me:sesame@h/log") == "no ***"
    spaced = "postgresql://me:open%20sesame@h/log"
    assert redact_message("option password=open sesame x", spaced) == "option password=*** x"


@pytest.mark.parametrize("error", [LogUnavailable("no disk"), psycopg.OperationalError("gone")])
def test_the_hint_how_to_go_on_names_the_run_and_never_the_latest(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    note_run(error, "7")
    report(error, debug=False)
    said = capsys.readouterr().err
    assert "`failproof-es resume 7`" in said and "latest" not in said
