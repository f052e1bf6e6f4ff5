"""`results` and `case`: the results of a run, which of them, and in which columns."""

from __future__ import annotations

import csv
import json
import re
import shlex
from io import StringIO
from pathlib import Path

import pytest

from failproof_es.store.store import Store
from tests.acceptance.cli.conftest import Program


@pytest.fixture
def database_url(store: Store) -> str:
    """A database that has the schema already."""
    return store.url


@pytest.mark.usefixtures("recorded")
def test_results_are_in_plan_order_and_in_the_shape_of_the_specification(program: Program) -> None:
    lines = program("results", "latest", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["case_id"] for line in lines] == ["greet-1", "greet-2", "sum-1"]
    as_list = json.loads(program("results", "1", "--json").stdout)
    assert as_list == [json.loads(line) for line in lines]
    assert as_list[0]["raw_response"] == "ok"
    assert as_list[0]["classification"]["primary"] == "pass"


@pytest.mark.usefixtures("recorded")
def test_only_the_failures_are_printed_each_with_what_was_expected(program: Program) -> None:
    table = program("results", "latest", "--failed").stdout
    assert "greet-1" not in table and re.search("accuracy +question *\n", table)
    for case, expected in (("greet-2", "no"), ("sum-1", "2")):
        below = rf'expected +contains "{expected}" *\n +got +ok'
        assert re.search(rf"{case} .* no match +0 .*\n +{below}", table), table
    lines = program("results", "latest", "--failed", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["case_id"] for line in lines] == ["greet-2", "sum-1"]


@pytest.mark.usefixtures("recorded")
def test_a_page_of_chosen_results_says_how_to_go_on(program: Program) -> None:
    done = program("results", 1, "--failed", "--suite", "greet", "--suite", "sum", "--limit", 1)
    assert "greet-2" in done.stdout and "sum-1" not in done.stdout
    assert done.stderr.count("--after 1") == 1
    command_line = re.search(r"`failproof-es (results .*)`", done.stderr)
    assert command_line is not None
    following = program(*shlex.split(command_line[1])).stdout
    assert "sum-1" in following and "greet" not in following
    as_json = program("results", 1, "--failed", "--limit", 1, "--format", "jsonl")
    row, left_out = map(json.loads, as_json.stdout.splitlines())
    assert row["case_id"] == "greet-2" and "--after 1" in as_json.stderr
    assert left_out["left_out"][0]["results"] is None, "how many others failed was not read"


@pytest.mark.usefixtures("recorded")
def test_columns_and_their_order_are_chosen_in_every_format(program: Program) -> None:
    how = ("results", 1, "--columns", "case,passed,expected,got", "--sort", "-case")
    rows = [
        {"case": "sum-1", "passed": False, "expected": ['contains "2"'], "got": ["ok"]},
        {"case": "greet-2", "passed": False, "expected": ['contains "no"'], "got": ["ok"]},
        {"case": "greet-1", "passed": True, "expected": ['contains "ok"'], "got": []},
    ]
    assert json.loads(program(*how, "--json").stdout) == rows
    table = program("results", "latest", *how[2:], "--limit", 2)
    assert re.search(r"case +passed +expected +got *\n.*\n *sum-1 +no +contains", table.stdout)
    command_line = re.search(r"`failproof-es (results 1 .*)`", table.stderr)
    assert command_line is not None
    following = program(*shlex.split(command_line[1])).stdout
    assert "greet-1" in following and "sum-1" not in following
    table_of_csv = list(csv.DictReader(StringIO(program(*how, "--format", "csv").stdout)))
    assert [row["case"] for row in table_of_csv] == ["sum-1", "greet-2", "greet-1"]
    assert list(table_of_csv[0]) == ["case", "passed", "expected", "got"]


@pytest.mark.usefixtures("recorded")
def test_a_case_is_shown_over_all_runs(program: Program) -> None:
    told = program("case", "sum-1")
    table = told.stdout
    assert re.search(r'1 +20[-0-9: ]+ +\S+ +no match +failed +0 +does not contain "2" +ok', table)
    assert program("case", "sum/sum-1").stdout == table
    command_line = re.search(r"whole answers: `failproof-es (results 1 .*)`", told.stderr)
    assert command_line is not None and command_line[1].endswith("sum/sum-1")
    assert re.search(r"answer +ok", program(*shlex.split(command_line[1])).stdout)
    (row,) = json.loads(program("case", "sum-1", "--json").stdout)
    assert (row["run_number"], row["case_id"], row["state"]) == (1, "sum-1", "failed")
    assert [turn["role"] for turn in row["question"]] == ["user"]
    assert f"question: {row['question'][0]['content']}" in table and "graded by: " in table
    assert f"expected: {json.dumps(row['expected'])}" in table
    assert row["answer"] == "ok" and row["scores"]["accuracy"] == 0
    assert row["graded_by"] and row["reviews"] == []
    for arguments, message in (
        (("case", "sum"), "(similar names: 'sum-1') [unknown-case]"),
        (("case", "x/sum"), "(similar names: 'sum-1') [unknown-case]"),
        (("case", "Sum, 1?"), "(similar names: 'sum-1') [unknown-case]"),
        (("case", "sum-1", "--suite", "x"), "[unknown-case]"),
    ):
        done = program(*arguments)
        assert (done.returncode, done.stdout) == (2, "") and message in done.stderr


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        (("--columns", "case,whose"), "--columns", "[unknown-column]"),
        (("--columns", ""), "--columns", "[unknown-column]"),
        (("--sort", "whose"), "--sort", "[unknown-column]"),
        (("--sort", "scores"), "--sort", "[invalid-option]"),
        (("--columns", "case", "--shape", "failproof"), "--shape", "[options-conflict]"),
        (("--format", "csv", "--shape", "failproof"), "--shape", "[options-conflict]"),
        (("--case", "greet", "--failed"), "--case", "'greet-1'?) [unknown-name]"),
        (("--suite", "greet", "--suite", "sums"), "--suite", "'sum'?) [unknown-name]"),
        (("--class", "refusal", "--json"), "--class", "(there are: fail, pass) [unknown-name]"),
        (("--tag", "smoke"), "--tag", "(there are: none) [unknown-name]"),
        (("--model", "tin"), "--model", "(did you mean 'tiny'?) [unknown-name]"),
    ],
)
def test_columns_and_names_that_there_are_not_are_refused(
    program: Program, options: tuple[str, ...], field: str, message: str
) -> None:
    done = program("results", 1, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: {field}: " in done.stderr and message in done.stderr


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("options", "cases"),
    [
        (("--grep", "SAY"), ["greet-1", "greet-2"]),
        (("--case", "sum-1", "--case", "greet-1"), ["greet-1", "sum-1"]),
        (("--class", "pass"), ["greet-1"]),
        (("--failed", "--class", "pass"), []),
        (("--errors",), []),
        (("--unscored",), []),
    ],
)
def test_results_are_chosen(program: Program, options: tuple[str, ...], cases: list[str]) -> None:
    done = program("results", 1, *options, "--format", "jsonl")
    assert [json.loads(line)["case_id"] for line in done.stdout.splitlines()] == cases
    if not cases:
        done = program("results", 1, *options)
        assert f"of run 1 fits {' '.join(options)}: `failproof-es results 1`" in done.stderr
        assert done.stdout == "", "no headings without rows"


@pytest.mark.usefixtures("recorded")
def test_junit_of_chosen_results_is_refused(program: Program, tmp_path: Path) -> None:
    done = program("results", 1, "--failed", "--junit", tmp_path / "junit.xml")
    assert (done.returncode, "[options-conflict]" in done.stderr) == (2, True)
    assert not (tmp_path / "junit.xml").exists()


@pytest.mark.usefixtures("recorded")
def test_a_shape_that_the_dialect_has_not_is_refused_however_it_is_printed(
    program: Program, tmp_path: Path
) -> None:
    for how in ((), ("--json",), ("--junit", tmp_path / "out.xml")):
        done = program("results", "latest", "--shape", "agreement", *how)
        assert (done.returncode, done.stdout) == (2, "")
        assert "[unknown-name]" in done.stderr
    assert not (tmp_path / "out.xml").exists()
