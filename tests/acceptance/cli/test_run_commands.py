"""A whole run by the command line: start, look, replay, read the log."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from failproof_es.dialects.shipped.failproof import classifier
from failproof_es.store.store import Store
from tests.acceptance.cli.conftest import (
    CASES,
    HOSTILE,
    ModelServer,
    Program,
    command,
)
from tests.acceptance.commands import begin

Write = Callable[..., Path]


@pytest.fixture
def database_url(store: Store) -> str:
    """A database that has the schema already."""
    return store.url


def last_line(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text.splitlines()[-1])
    return document


def test_a_run_ends_with_a_table_a_file_of_its_results_and_what_to_try_next(
    program: Program, configuration: Write, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.answers = {"1+1": "2"}
    output = {"file": {"path": str(tmp_path / "out" / "{timestamp}_{test_name}.jsonl")}}
    done = program("start", configuration(CASES, output=output))
    assert done.returncode == 0, done.stderr
    assert "greet" in done.stdout and "sum" in done.stdout
    assert re.search(r"total\s+3\s+2\s+1\s+0\s+66\.7 %", done.stdout)
    assert (
        "failed evaluations: does not contain the text (1)\n1 failed evaluation:\n" in done.stdout
    )
    worst = done.stdout.split("1 failed evaluation:\n")[1].splitlines()[:2]
    assert [line.split()[0] for line in worst] == ["greet/greet-2", "got"], worst
    assert re.search(r"mean of suites.*75\.0 %", done.stdout)
    following = ("results 1 --failed", "report 1", "console")
    said = ", ".join(f"`failproof-es {command}`" for command in following)
    assert f"next: {said}\n" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "this host has no key of the log, so it signs nothing" in done.stderr
    (file,) = (tmp_path / "out").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_smoke\.jsonl", file.name)
    header, *rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert header["metadata"]["run_number"] == 1
    assert [row["case_id"] for row in rows] == ["greet-1", "greet-2", "sum-1"]


def test_a_gate_that_is_not_met_is_exit_code_3(program: Program, configuration: Write) -> None:
    gates = {"min_accuracy": 0.9, "max_unscored_rate": 0.5}
    done = program("start", configuration(CASES, gates=gates))
    assert done.returncode == 3
    assert done.stderr.endswith("\n1 of 2 gates not met: min_accuracy (exit code 3)\n")
    waited = program("wait", 1)
    assert waited.stderr.endswith("NOT MET\n1 of 2 gates not met: min_accuracy (exit code 3)\n")
    assert "gate min_accuracy 0.9: measured 0.3333 over 3, NOT MET" in done.stdout


def test_a_suite_with_a_defect_is_exit_code_2_and_nothing_is_sent(
    program: Program, configuration: Write, model_server: ModelServer
) -> None:
    path = configuration(CASES)
    with (path.parent / "suite.jsonl").open("a") as suite:
        suite.write("{not json\n")
    done = program("start", path)
    assert done.returncode == 2
    assert "suite.jsonl:4" in done.stderr
    assert model_server.requests == []


def test_why_a_run_stopped_is_said_to_those_who_want_no_progress_too(
    program: Program, configuration: Write, model_server: ModelServer
) -> None:
    model_server.delay_s = 0.3
    hasty = ("execution.timeout_per_request_ms=100", "execution.retry_attempts=0")
    settings = [word for each in hasty for word in ("--set", each)]
    done = program("start", configuration(CASES), "--quiet", *settings)
    assert done.returncode == 1
    assert "\nrun 1 failed: not one evaluation was answered" in done.stderr
    shown = program("show", "latest").stdout
    assert re.search(r"^cost +- *$", shown, re.MULTILINE), "what has no price has no cost"


@pytest.mark.usefixtures("recorded")
def test_show_tells_the_facts_of_a_run(program: Program) -> None:
    facts = json.loads(program("show", "latest", "--json").stdout)
    counts = {
        "planned": 3, "finished": 3, "scored": 3, "passed": 1, "failed": 2, "abandoned": 0,
        "lost": 0, "awaiting_review": 0, "carried_over": 0,
    }  # fmt: skip
    assert {name: facts["counts"][name] for name in counts} == counts
    spending = facts["spending"]
    assert (spending["input_tokens"], spending["output_tokens"]) == (21, 9)
    assert (spending["input_tokens_unknown"], spending["output_tokens_unknown"]) == (0, 0)
    assert spending["cost_usd"] is None
    assert facts["latency_p50_ms"] <= facts["latency_p95_ms"]
    assert facts["suites"][0]["cases"] == 3
    shown = program("show", 1).stdout
    assert "3 finished of 3 planned" in shown
    assert facts["suites"][0]["sha256"] in shown


@pytest.mark.usefixtures("recorded")
def test_replay_agrees_with_the_record_and_shows_the_run_as_it_stood(program: Program) -> None:
    done = program("replay", 1)
    assert done.returncode == 0
    assert "3 of 3 evaluations agree" in done.stdout
    positions = [json.loads(line) for line in log_lines(program, "1")]
    first_score = next(row["position"] for row in positions if row["event_type"] == "Scored")
    report = json.loads(program("replay", 1, "--as-of", first_score, "--json").stdout)
    assert (report["agree"], report["not_finished"]) == (1, 2)
    assert "1 finished of 3 planned" in program("replay", 1, "--as-of", first_score).stdout


def test_replay_under_a_changed_rule_names_exactly_the_evaluations_that_differ(
    program: Program,
    configuration: Write,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = [(f"sum-{n}", f"what is {n}?", str(n)) for n in range(18, 33)]
    model_server.answers = {prompt: expected for _, prompt, expected in cases}
    assert program("start", configuration(cases)).returncode == 0
    asked = len(model_server.requests)
    by_the_old_rule = classifier._grade

    def by_a_stricter_rule(
        reply: classifier._GradedReply, expected: str | None
    ) -> tuple[str, dict[str, Any]]:
        primary, details = by_the_old_rule(reply, expected)
        return ("fail" if reply.text.startswith("2") else primary), details

    with monkeypatch.context() as patched:
        patched.setattr(classifier, "_grade", by_a_stricter_rule)
        replayed = program("replay", "latest", "--json")
    assert replayed.returncode == 1, replayed.stderr
    report = json.loads(replayed.stdout)
    differing = [difference["case_id"] for difference in report["differences"]]
    assert differing == [f"sum-{n}" for n in range(20, 30)]
    assert report["agree"] == len(cases) - len(differing)
    assert program("replay", "latest").returncode == 0, "the record itself is untouched"
    assert len(model_server.requests) == asked


def log_lines(program: Program, *arguments: str) -> list[str]:
    done = program("log", *arguments, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    lines: list[str] = done.stdout.split("\n")[:-1]
    return lines


def test_what_a_model_says_steers_no_terminal_and_the_log_has_it_exactly_as_stored(
    program: Program, configuration: Write, model_server: ModelServer, database_url: str
) -> None:
    model_server.answers = {"say ok": HOSTILE}
    program("start", configuration(CASES))
    for arguments in (("results", 1), ("results", 1, "--json"), ("show", 1), ("log", 1)):
        shown = program(*arguments).stdout
        assert not set("\x1b\u202e\u200b\x9b") & set(shown), arguments
    assert "\\x1b[2Jpwned\\u202e\\u200b\\x9b31m" in program("results", 1).stdout
    assert json.loads(program("results", 1, "--json").stdout)[0]["raw_response"] == HOSTILE
    lines = log_lines(program)
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT notification_id, state FROM failproof.stored_events ORDER BY notification_id"
        ).fetchall()
    assert len(lines) == len(rows) > 0
    first = program("log", "--format", "jsonl", "--limit", "1")
    assert first.stdout.splitlines() == lines[:1]
    (command,) = re.findall(r"later events: `failproof-es log (.*)`", first.stderr)
    command = command.replace("--limit 1", "--limit 9999")
    assert log_lines(program, *shlex.split(command)) == lines[1:]
    for line, (position, state) in zip(lines, rows, strict=True):
        assert json.loads(line)["position"] == position
        assert line.endswith(',"payload":' + state.decode() + "}")


@pytest.mark.usefixtures("recorded")
def test_the_log_names_the_case_of_an_event(program: Program) -> None:
    lines = program("log", "--type", "Scored").stdout.splitlines()[1:]
    assert sorted(found[0] for line in lines if (found := re.search(r"/[a-z0-9-]+: ", line))) == [
        "/greet-1: ",
        "/greet-2: ",
        "/sum-1: ",
    ]


@pytest.mark.usefixtures("recorded")
def test_the_log_is_filtered_by_type_stream_and_position(program: Program) -> None:
    everything = [json.loads(line) for line in log_lines(program)]
    scored = [json.loads(line) for line in log_lines(program, "1", "--type", "Scored")]
    assert [row["event_type"] for row in scored] == ["Scored"] * 3
    stream = scored[0]["stream_id"]
    of_stream = [json.loads(line) for line in log_lines(program, "--stream", stream)]
    assert [row["stream_version"] for row in of_stream] == [1, 2, 3, 4]
    middle = everything[len(everything) // 2]["position"]
    before = log_lines(program, "--up-to", str(middle))
    after = log_lines(program, "--after", str(middle))
    assert len(before) + len(after) == len(everything)
    assert len(log_lines(program, "--limit", "2")) == 2
    assert log_lines(program, "--since", "2999-01-01") == []


@pytest.mark.usefixtures("recorded")
def test_runs_are_listed_page_by_page_the_newest_first(
    program: Program, configuration: Write
) -> None:
    done = program("start", configuration(CASES), "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "cases: suite.jsonl (3 cases)\n")
    summary = last_line(done.stdout)
    assert (summary["run_number"], summary["status"], summary["exit_code"]) == (2, "completed", 0)
    assert summary["counts"] == {"planned": 3, "finished": 3, "scored": 3, "abandoned": 0}

    rows = json.loads(program("runs", "--json").stdout)
    assert [(row["run_number"], row["status"], row["finished"]) for row in rows] == [
        (2, "completed", 3),
        (1, "completed", 3),
    ]
    (passed,) = rows[0]["passed"]
    assert (passed["scored"], passed["rate"]) == (3, passed["passed"] / 3)
    assert rows[0]["cost_usd"] is None, "without a price nothing is known"
    assert f"{passed['passed']}/3 (" in program("runs").stdout

    def numbers(*arguments: str) -> tuple[list[int], str]:
        done = program("runs", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return [row["run_number"] for row in json.loads(done.stdout)], done.stderr

    assert numbers("--limit", "1") == (
        [2],
        "older runs: `failproof-es runs --limit 1 --before 2 --format json`\n",
    )
    assert numbers("--limit", "1", "--before", "2") == ([1], "")
    assert numbers("--limit", "2") == ([2, 1], "")
    assert numbers("--all") == ([2, 1], "")
    for both in (("--limit", "1", "--all"), ("--format", "table")):
        done = program("runs", "--json", *both)
        assert done.returncode == 2 and "[options-conflict]" in done.stderr
    assert numbers("--before", "1") == ([], "")
    assert numbers("--before", str(2**63 - 1))[0] == [2, 1]
    for wrong in ("0", str(2**63)):
        assert program("runs", "--before", wrong).returncode == 2
    assert program("runs", "--limit", "1").stderr == (
        "older runs: `failproof-es runs --limit 1 --before 2`\n"
    )
    assert program("runs", "--before", "1").stderr == (
        "no run before 1; list the newest: `failproof-es runs`\n"
    )


def test_an_empty_list_says_what_to_do_next(program: Program) -> None:
    for listing, words in (
        (("runs",), "no runs yet; start the first: `failproof-es start quickstart`"),
        (("prompts", "list"), "no collections yet; to store one, see `failproof-es prompts import"),
    ):
        done = program(*listing)
        assert done.returncode == 0
        assert done.stderr.startswith(words)
        assert len(done.stdout.splitlines()) <= 4, "the headings alone"
        assert program(*listing, "--json").stderr == ""


def test_a_results_file_that_cannot_be_written_loses_no_result(
    program: Program, configuration: Write, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file where a folder is wanted")
    output = {"file": {"path": str(tmp_path / "taken" / "{timestamp}.jsonl")}}
    done = program("start", configuration(CASES, output=output))
    assert done.returncode == 1
    assert "`failproof-es report 1`, " in done.stderr
    assert len(program("results", 1, "--format", "jsonl").stdout.splitlines()) == 3


def test_an_interrupted_run_exits_130_and_resumes_to_its_end(
    environment: dict[str, str],
    program: Program,
    configuration: Write,
    model_server: ModelServer,
    tmp_path: Path,
) -> None:
    model_server.delay_s = 0.3
    cases = [(f"slow-{number}", f"prompt {number}", "ok") for number in range(12)]
    path = configuration(cases, workers=2)
    process = begin(
        environment["FAILPROOF_ES_DATABASE_URL"], "start", str(path), cwd=tmp_path,
        FAILPROOF_ES_HOME=environment["FAILPROOF_ES_HOME"],
    )  # fmt: skip
    while len(model_server.requests) < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert b"failproof-es resume 1" in errors
    model_server.delay_s = 0.0
    done = program("resume", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert last_line(done.stdout)["counts"]["scored"] == 12
    assert sorted(model_server.requests) == sorted(prompt for _, prompt, _ in cases)


@pytest.mark.slow
def test_on_a_terminal_progress_is_live_and_stdout_stays_data(
    environment: dict[str, str], configuration: Write, tmp_path: Path
) -> None:
    main, terminal = pty.openpty()
    path = configuration(CASES)
    process = subprocess.Popen(
        command("start", path),
        cwd=tmp_path,
        env=environment | {"TERM": "xterm-256color", "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    out, _ = process.communicate(timeout=30)
    os.close(main)
    assert process.returncode == 0
    assert "completed" in out and "\x1b" not in out
    assert b"\x1b[" in shown and b"rate/s" in shown and b"3/3" in shown


@pytest.mark.usefixtures("recorded")
def test_the_projections_have_followed_the_run_and_can_be_rebuilt(program: Program) -> None:
    followed = json.loads(program("projections", "status", "--json").stdout)
    assert {row["behind"] for row in followed} == {0}
    done = program("projections", "rebuild", "reviews")
    assert done.returncode == 0, done.stderr
    rebuilt = json.loads(program("projections", "status", "--json").stdout)
    assert [row["position"] for row in rebuilt] == [row["position"] for row in followed]


def test_an_unreachable_model_is_exit_code_2_and_no_run_begins(
    program: Program, configuration: Write, model_server: ModelServer
) -> None:
    model_server.base_url = "http://127.0.0.1:1/v1"
    done = program("start", configuration(CASES))
    assert done.returncode == 2
    assert "cannot be reached" in done.stderr
    assert "no run exists yet" in program("show", "latest").stderr
