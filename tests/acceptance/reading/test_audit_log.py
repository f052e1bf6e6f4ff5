"""Every event in the form of specification 001 § 8.2: by `audit --all` and in SQL."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg

from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

FIELDS = ["event", "timestamp", "test_run_id", "details"]
SHAPE = """
SELECT position, event, to_char("timestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    test_run_id, details::text
FROM failproof.audit_log {} ORDER BY position
"""


def audited(store: Store, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    done = invoke(store.url, "audit", "1", *arguments, "--json", cwd=folder)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_event_is_told_in_the_form_of_the_specification(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path, 3, prompt="Say {n}\\u0000 \\\\u0000.")
    with suite.open("a") as more:
        case = {"case_id": "broken", "suite_id": "s", "prompt": "x [fault:http500]"}
        more.write(json.dumps(case) + "\n")
    execution = {"retry_attempts": 1, "retry_delay_ms": 1}
    write_configuration(tmp_path, mock_url, execution=execution)
    invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    told = audited(store, tmp_path, "--all")
    assert all(list(each) == FIELDS for each in told)
    with store.connect() as connection:
        run_id = resolve_run(connection, "1")
        everything = connection.execute(
            "SELECT notification_id, topic FROM failproof.stored_events ORDER BY 1"
        ).fetchall()
    assert [(each["details"]["position"], each["event"]) for each in told] == everything
    assert {each["test_run_id"] for each in told} == {str(run_id)}
    names = [each["event"] for each in told]
    assert (names.count("PromptStored"), names.count("Classified"), names.count("Scored")) == (
        4, 4, 3,
    )  # fmt: skip
    errors = [each["details"] for each in told if each["event"] == "ErrorRecorded"]
    assert len(errors) == 2
    assert all(each["stack_trace"] and "body" in each for each in errors)

    trail = audited(store, tmp_path)
    assert 0 < len(trail) < len(told), "without --all the trail is what it was"
    assert not any("stack_trace" in each["details"] for each in trail)
    _says_the_same(store, run_id, told)
    table = invoke(store.url, "audit", "1", "--all", cwd=tmp_path)
    assert table.exit_code == 0 and "PromptStored" in table.stdout


def _says_the_same(store: Store, run_id: UUID, told: list[dict[str, Any]]) -> None:
    """The view, read by an auditor."""
    with psycopg.connect(store.url.replace(WRITER, AUDITOR)) as connection:
        rows = connection.execute(SHAPE.format("").encode()).fetchall()
        of_run = connection.execute(
            SHAPE.format("WHERE test_run_id = %s").encode(), (run_id,)
        ).fetchall()
    assert len(rows) == len(told)
    for each, (position, event, timestamp, test_run_id, details) in zip(told, rows, strict=True):
        assert (position, event) == (each["details"].pop("position"), each["event"])
        assert test_run_id == (None if event == "PromptStored" else run_id)
        assert timestamp[:19] == each["timestamp"][:19]
        assert json.loads(details) == json.loads(_readable(json.dumps(each["details"])))
    assert of_run == [row for row in rows if row[3] is not None]


def _readable(document: str) -> str:
    """NUL written as text, as `failproof.readable` does."""
    return re.sub(r"(\\+)u0000", r"\1\1u0000", document)


def test_a_file_is_found_on_record_by_its_digest_alone(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path, 1)
    forged = tmp_path / "forged.html"
    forged.write_bytes(b"all passed")
    digest = hashlib.sha256(b"all passed").hexdigest()
    write_configuration(tmp_path, mock_url, test_run={"name": digest})
    invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    invoke(store.url, "report", "1", "-o", "report.html", cwd=tmp_path)
    (tmp_path / "report.html").rename(tmp_path / "renamed.html")

    def asked(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
        done = invoke(store.url, "audit", "--json", *map(str, arguments), cwd=tmp_path)
        return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()]

    code, [written] = asked("--file", "renamed.html")
    assert (code, written["event"]) == (0, "FileWritten")
    assert {"position", "who", "where", "path"} <= set(written["details"])
    code, [started] = asked("--file", suite)
    assert (code, started["event"]) == (0, "RunStarted")
    assert asked("--file", forged) == (1, []), "a run that is named after it does not vouch for it"
    (tmp_path / "renamed.html").write_bytes((tmp_path / "renamed.html").read_bytes() + b" ")
    assert asked("1", "--file", "renamed.html") == (1, [])
    assert [asked(*wrong)[0] for wrong in (("--file", tmp_path), ("--all",))] == [2, 2]


def test_without_a_run_the_trail_has_what_people_did_also_refused_starts(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1).write_text("{}\n")
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 2
    write_suite(tmp_path, 2)
    invoke(store.url, "start", "run.yaml", "--limit", "1", "--quiet", cwd=tmp_path)
    invoke(store.url, "report", "1", "-o", "report.html", cwd=tmp_path)
    done = invoke(store.url, "audit", "--json", cwd=tmp_path)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = [each["event"] for each in events]
    assert {"ValidationFailed", "RunStarted", "FileWritten"} <= set(names)
    assert all(each["details"]["who"] for each in events)
    thrown = invoke(store.url, "audit", "--only", "thrown-away", "--json", cwd=tmp_path).stdout
    refused, partial = map(json.loads, thrown.splitlines())
    assert (refused["event"], partial["event"]) == ("ValidationFailed", "RunStarted")
    assert (refused["run_number"], partial["run_number"], partial["case"]) == (None, 1, None)
    assert partial["details"]["incomplete"] == "asked 1 of 2 cases: the first 1"
    table = invoke(store.url, "audit", cwd=tmp_path).stdout
    assert re.search(r"FileWritten +\S+@\S+\s+(run \S+,? *\s+)?says report: ", table), table
