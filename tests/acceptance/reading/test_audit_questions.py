"""`audit-questions`: eleven answers about a run, each from its events or said to be open."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.conftest import as_administrator
from tests.time_stamping_authority import Authority, served

OPEN = "cannot be answered from this record"


def answers(store: Store, folder: Path, run: int) -> list[dict[str, Any]]:
    done = invoke(store.url, "audit-questions", run, "--json", cwd=folder)
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert len(found) == 11
    for answer in found:
        assert answer["answered"] is (OPEN not in answer["answer"])
    return found


def does(store: Store, folder: Path, *arguments: object, code: int = 0) -> str:
    done = invoke(store.url, *arguments, cwd=folder)
    assert done.exit_code == code, (arguments, done.output)
    return done.output


def test_a_run_without_a_plan_a_witness_or_a_judge_leaves_questions_open(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    does(store, tmp_path, "start", "run.yaml", "--quiet")
    found = answers(store, tmp_path, 1)
    opened = [n for n, answer in enumerate(found, 1) if not answer["answered"]]
    assert opened == [1, 3, 4, 6, 7, 9]
    assert found[3]["answer"].startswith("In this log: attempt 1 of 1 of this experiment.")
    assert "suite.jsonl (SHA-256 " in found[4]["answer"]
    assert found[7]["answer"] == "There is none: rules grade the answers."
    assert found[9]["answer"].startswith("Nothing: ")
    assert found[10]["answer"].startswith("Of 2 planned evaluations 2 ended, 2 with a score")
    positions = {position for answer in found for position in answer["events"]}
    logged = does(store, tmp_path, "log", 1, "--json")
    recorded = {json.loads(line)["position"] for line in logged.splitlines()}
    assert positions and positions <= recorded
    printed = does(store, tmp_path, "audit-questions", 1)
    assert "3. Was the rule fixed before the data? (open)" in printed


def test_a_plan_a_time_stamp_and_an_archive_answer_theirs(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    plan = json.loads(invoke(store.url, "register", "run.yaml", "--json", cwd=tmp_path).stdout)
    follow = ("--registration", plan["registration"], "--set", "execution.retry_attempts=7")
    does(store, tmp_path, "start", "run.yaml", "--quiet", *follow)
    authority = Authority()
    with served(lambda request: (200, authority.response(request))) as url:
        does(store, tmp_path, "ledger", "checkpoint", "--time-stamp", url)
    found = answers(store, tmp_path, 1)
    assert "a time stamp of 127.0.0.1:" in found[0]["answer"] and not found[0]["answered"]
    assert "Changed since: configuration.execution." in found[2]["answer"]
    assert len(found[2]["events"]) == 2
    url = as_administrator(store.url)
    assert invoke(url, "archive", 1, "--to", "archive", cwd=tmp_path).exit_code == 0
    file = next((tmp_path / "archive").iterdir())
    assert invoke(url, "attach", str(file), cwd=tmp_path).exit_code == 0
    assert answers(store, tmp_path, 1)[9]["answer"].startswith("Archived at ")


def test_each_command_is_one_that_there_is(store: Store, mock_url: str, tmp_path: Path) -> None:
    write_suite(tmp_path, 2)
    write_configuration(tmp_path, mock_url)
    does(store, tmp_path, "start", "run.yaml", "--quiet")
    for answer in answers(store, tmp_path, 1):
        for command in answer["commands"]:
            program, *arguments = shlex.split(command)
            assert program == "failproof-es"
            (tmp_path / "FILE").touch()
            (tmp_path / "KEY").touch()
            words = [word for word in arguments if not word.isdigit()]
            assert invoke(store.url, *words, "--help", cwd=tmp_path).exit_code == 0, command


def test_what_was_not_asked_or_not_scored_is_said(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 3)
    write_configuration(tmp_path, mock_url)
    does(store, tmp_path, "start", "run.yaml", "--quiet", "--detach")
    found = answers(store, tmp_path, 1)
    assert "Planned and not finished: 3." in found[1]["answer"]
    assert not found[10]["answered"]
