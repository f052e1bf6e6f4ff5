"""A run of a part: it says so wherever it is shown, and is no attempt of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.store.reading.reader import max_position
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

PART = "5 of 12 cases: sample of 5, seed 7"


@pytest.fixture
def folder(tmp_path: Path, mock_url: str) -> Path:
    write_suite(tmp_path, 12)
    write_configuration(tmp_path, mock_url)
    return tmp_path


def told(store: Store, folder: Path, *arguments: object) -> Any:
    return json.loads(invoke(store.url, *arguments, "--json", cwd=folder).stdout)


@pytest.mark.slow
def test_a_sample_is_said_everywhere_and_is_an_experiment_of_its_own(
    store: Store, folder: Path
) -> None:
    whole = told(store, folder, "start", "run.yaml", "--quiet")
    assert whole["counts"]["planned"] == 12
    asked = ("--sample", 5, "--seed", 7)
    checked = invoke(store.url, "validate", "run.yaml", "--offline", *asked, cwd=folder)
    assert f"selection: {PART}" in checked.stderr
    assert "Ready to run: 5 cases, 5 evaluations, 5 requests" in checked.stdout
    done = invoke(store.url, "start", "run.yaml", *asked, cwd=folder)
    assert done.exit_code == 0, done.output
    assert f"run 2 acceptance ({PART}): completed" in done.stdout
    shown = told(store, folder, "show", 2)
    assert shown["selection"] == {
        "of_cases": 12, "of_models": 1, "only": [], "exclude": [], "limit": None, "sample": 5,
        "seed": 7, "models": [],
    }  # fmt: skip
    assert PART in invoke(store.url, "show", 2, cwd=folder).stdout
    assert told(store, folder, "show", 1)["selection"] is None
    attempts = shown["attempts"]
    assert (attempts["attempt"], attempts["others"]) == (1, []), "no attempt of the whole"
    assert [each["run_number"] for each in attempts["overlapping"]] == [1]
    assert [each["selection"] for each in told(store, folder, "runs")] == [PART, None]
    assert "5 of 12 cases" in invoke(store.url, "runs", cwd=folder).stdout
    for form in ("md", "json"):
        file = folder / f"report.{form}"
        invoke(store.url, "report", 2, "--format", form, "-o", file, cwd=folder)
        assert PART in file.read_text()
    again = told(store, folder, "start", "run.yaml", "--quiet", *asked)
    assert again["counts"]["planned"] == 5
    assert told(store, folder, "show", 3)["attempts"]["attempt"] == 2, "the same sample again"
    assert invoke(store.url, "verify", cwd=folder).exit_code == 0


def test_what_is_chosen_stands_in_the_record_and_a_branch_keeps_it(
    store: Store, folder: Path, mock_url: str
) -> None:
    models = [
        {"provider": "openai", "base_url": mock_url, "model": "mock", "temperature": each}
        for each in (0.0, 0.5)
    ]
    write_configuration(folder, mock_url, models=models)
    options = ("--only", "id:case-0000?", "--exclude", "id:*3", "--model", "*#2")
    done = invoke(store.url, "start", "run.yaml", "--quiet", *options, cwd=folder)
    assert done.exit_code == 0, done.output
    shown = told(store, folder, "show", 1)
    assert [each["key"] for each in shown["models"]] == ["openai:mock#2"]
    said = "9 of 12 cases: only id:case-0000?, without id:*3; 1 of 2 models: *#2"
    assert said in invoke(store.url, "show", 1, cwd=folder).stdout
    with store.connect() as connection:
        last = max_position(connection)
    branched = invoke(store.url, "resume", 1, "--at", last, "--quiet", cwd=folder)
    assert branched.exit_code == 0, branched.output
    assert told(store, folder, "show", 2)["selection"] == shown["selection"]
    started = json.loads(
        invoke(store.url, "audit", 1, "--format", "jsonl", cwd=folder).stdout.splitlines()[0]
    )
    assert started["details"]["configuration"]["selection"]["models"] == ["*#2"]


def test_wrong_choices_are_told_together_with_their_places_and_nothing_is_asked(
    store: Store, folder: Path, mock_url: str
) -> None:
    file = write_configuration(folder, mock_url, selection={"only": ["tag:none", "id:case-1*"]})
    document = orjson.loads(file.read_bytes())
    file.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    done = invoke(store.url, "start", "run.yaml", "--exclude", "suite:other", cwd=folder)
    assert done.exit_code == 2
    assert done.stderr.count("[no-match]") == 3 and "run.yaml:" in done.stderr
    for pattern in ("tag:none", "id:case-1*", "suite:other"):
        assert repr(pattern) in done.stderr
    both = invoke(store.url, "start", "run.yaml", "--limit", 1, "--sample", 1, cwd=folder)
    assert both.exit_code == 2 and "[options-conflict]" in both.stderr
