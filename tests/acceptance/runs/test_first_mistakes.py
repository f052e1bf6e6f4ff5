"""What a new user gets wrong in the first minutes: one sentence, and it says what to do."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, run, write_configuration, write_suite
from tests.acceptance.conftest import RecordedLog

CASES = [
    {"case_id": f"a-{n}", "suite_id": "a", "prompt": "hello", "expected_response": "h"}
    for n in range(40)
]
JSON_LINES = "".join(json.dumps(each) + "\n" for each in CASES)
ARRAY, PRETTY, TABLE = "`jq -c '.[]'`", "`jq -c .`", "`failproof-es import csv FILE.csv"
SHAPES = {
    "pretty-printed cases": ("\n".join(json.dumps(each, indent=2) for each in CASES), PRETTY),
    "a pretty-printed case": (json.dumps(CASES[0], indent="\t"), PRETTY),
    "a pretty-printed case that is damaged": ('{\n  "case_id": "a",,\n  "x": 1\n}\n' * 9, PRETTY),
    "a pretty-printed array": (json.dumps(CASES, indent=4), ARRAY),
    "an array on one line": (json.dumps(CASES), ARRAY),
    "an array with a case on each line": (
        "[" + ",\n".join(json.dumps(each) for each in CASES) + "]",
        ARRAY,
    ),
    "commas": ('case_id,prompt\na-1,hello\na-2,"a, b"\n', TABLE),
    "semicolons": ("\ufeffcase_id;prompt\r\na-1;hello\r\n", TABLE),
    "tabs": ("case_id\tprompt\na-1\thello\n", TABLE),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_file_of_another_shape_is_told_once_with_what_to_write(name: str, tmp_path: Path) -> None:
    content, said = SHAPES[name]
    (tmp_path / "suite.jsonl").write_text(content)
    done = invoke("", "suites", "validate", "suite.jsonl", cwd=tmp_path)
    assert_says_once(done.stderr, f"{tmp_path}/suite.jsonl:1", said)
    assert ("case_id, prompt" in done.stderr) == (said == TABLE), "the table's columns"
    assert done.exit_code == 2


def assert_says_once(stderr: str, place: str, remedy: str) -> None:
    assert stderr.startswith(f"error: {place}: ") and remedy in stderr
    assert stderr.endswith(" [foreign-format]\n") and stderr.count("\n") == 1


def test_pretty_printed_cases_after_good_ones_are_told_once(tmp_path: Path) -> None:
    pretty = json.dumps(CASES[1], indent=2)
    (tmp_path / "suite.jsonl").write_text(json.dumps(CASES[0]) + "\n" + pretty)
    done = invoke("", "suites", "validate", "suite.jsonl", cwd=tmp_path)
    assert_says_once(done.stderr, f"{tmp_path}/suite.jsonl:2", PRETTY)


@pytest.mark.parametrize("name", ["cases.csv", "cases.tsv", "cases.json"])
def test_a_table_or_an_array_by_its_own_suffix_is_told(name: str, tmp_path: Path) -> None:
    separator = "\t" if name.endswith("tsv") else ","
    table = f"case_id{separator}prompt\na-1{separator}hello\n"
    said = ARRAY if name.endswith("json") else TABLE
    (tmp_path / name).write_text(json.dumps(CASES) if name.endswith("json") else table)
    done = invoke("", "suites", "validate", name, cwd=tmp_path)
    assert_says_once(done.stderr, f"{tmp_path}/{name}", said)
    assert done.exit_code == 2


DIALECTS = {
    "failproof": JSON_LINES,
    "promptguard": '{"prompt_id": "p", "content": "c", "category": "k", "expected_label": "x"}\n',
}


@pytest.mark.parametrize(
    ("written", "asked"),
    [("failproof", "promptguard"), ("promptguard", "failproof"), ("failproof", "command"),
     ("failproof", "redteam")],
)  # fmt: skip
def test_a_wrong_dialect_is_told_once_for_each_file(
    written: str, asked: str, tmp_path: Path
) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file in files:
        file.write_text(DIALECTS[written])
    done = invoke("", "suites", "validate", "--dialect", asked, ".", cwd=tmp_path)
    assert done.exit_code == 2
    for line, file in zip(done.stderr.splitlines()[1:], files, strict=True):
        assert line.startswith(f"  {file}: ") and line.endswith(" [wrong-dialect]")
        assert f"--dialect {written})" in line


@pytest.mark.parametrize("on_invalid", ["error", "skip"])
def test_a_wrong_dialect_of_a_run_is_told_once(
    on_invalid: str, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "suite.jsonl").write_text(JSON_LINES)
    prompts = {"path": "suite.jsonl", "dialect": "promptguard", "on_invalid": on_invalid}
    write_configuration(tmp_path, "http://127.0.0.1:9/v1", prompts=prompts)
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 2
    assert "[wrong-dialect]" in done.stderr
    assert len(done.stderr.partition("error: ")[2].splitlines()) <= 4, done.stderr


def test_other_tools_names_are_told_once_for_all_the_lines_that_have_them(tmp_path: Path) -> None:
    cases = [{"id": f"{n}", "suite": "s", "question": "why?", "answer": "so"} for n in range(9)]
    suite = tmp_path / "suite.jsonl"
    suite.write_text("".join(json.dumps(each) + "\n" for each in cases))
    done = invoke("", "suites", "validate", "--dialect", "failproof", "suite.jsonl", cwd=tmp_path)
    assert done.exit_code == 2
    renamed = ("id", "case_id"), ("question", "prompt"), ("answer", "expected_response")
    for name, meant in renamed:
        [line] = [line for line in done.stderr.splitlines() if f"{suite}:1: {name}: " in line]
        assert f"`{meant}`" in line and line.endswith(" (and lines 2-9) [unknown-field]")
    assert done.stderr.startswith("error: 63 problems, nothing was sent:\n")
    assert len(done.stderr.splitlines()) == 8


def test_another_tools_name_beside_the_key_itself_is_ones_own(tmp_path: Path) -> None:
    case = {**CASES[0], "question": "mine", "answer": "mine"}
    (tmp_path / "suite.jsonl").write_text(json.dumps(case))
    done = invoke("", "suites", "validate", "suite.jsonl", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr


VALUES = {
    "execution.parallel_workers='\"200\"'": "(remove the quotes: 200)",
    "execution.timeout_per_request_ms='\" 200 \"'": "(remove the quotes: 200)",
    "models.0.stream='\"true\"'": "(remove the quotes: true)",
    "models.0.temperature='\"0.5\"'": "(remove the quotes: 0.5)",
    "gates.min_accuracy=95": "(write 0.95: a share goes from 0 to 1)",
    "gates.max_unscored_rate=2.5": "(write 0.025: a share goes from 0 to 1)",
    "gates.min_accuracy_by_suite={a: 80}": "(write 0.8: a share goes from 0 to 1)",
    "models.0.temperature=3": "",
    "execution.parallel_workers=many": "(write a whole number, such as 4)",
}


@pytest.mark.parametrize("setting", VALUES)
def test_a_quoted_number_and_a_share_above_1_are_told_with_what_to_write(
    setting: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, "http://127.0.0.1:9/v1")
    done = invoke("", "start", "run.yaml", "--set", setting.replace("'", ""), cwd=tmp_path)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    wanted = VALUES[setting]
    assert f" {wanted} [" in done.stderr if wanted else "(" not in done.stderr


CASES_FOR_A_CONFIGURATION = "`prompts.path`"
A_TAB = "column 1 (a tab "
NO_CONFIGURATIONS = {
    "cases.jsonl": (JSON_LINES, CASES_FOR_A_CONFIGURATION),
    "one-case.jsonl": (json.dumps(CASES[0]), CASES_FOR_A_CONFIGURATION),
    "cases.CSV": ("case_id,prompt\na-1,hello\n", CASES_FOR_A_CONFIGURATION),
    "tabs.yaml": ("test_run:\n\tname: x\n", A_TAB),
    "bracket.yaml": ("a: [b\nc: d\n", "column 2 ("),
}


@pytest.mark.parametrize("name", NO_CONFIGURATIONS)
def test_a_file_that_is_no_configuration_is_told_with_what_to_do(name: str, tmp_path: Path) -> None:
    content, wanted = NO_CONFIGURATIONS[name]
    (tmp_path / name).write_text(content)
    done = invoke("", "start", name, cwd=tmp_path)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {name}:"), done.stderr
    assert wanted in done.stderr and done.stderr.endswith(" [not-yaml]\n")
    assert done.stderr.count("\n") == 1


def test_an_empty_section_is_told_in_plain_words(tmp_path: Path) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, "http://127.0.0.1:9/v1")
    done = invoke("", "start", "run.yaml", "--set", "prompts.filters=null", cwd=tmp_path)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: --set: prompts.filters: "), done.stderr
    assert "; it is empty (" in done.stderr, "no word of Python's"


@pytest.mark.parametrize("below", ["", "/a"])
def test_a_home_that_cannot_be_made_is_told_without_the_number_of_the_error(
    below: str, tmp_path: Path
) -> None:
    home = tmp_path / "file"
    home.touch()
    more = {"FAILPROOF_ES_HOME": f"{home}{below}"}
    done = run("", "runs", cwd=tmp_path, **more)
    assert done.returncode == 2
    assert "Errno" not in done.stderr
    assert str(home) in done.stderr
    assert "[database-unusable]" in done.stderr


def test_a_wrong_port_is_told_without_the_inside_of_the_client(
    store: Store, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, "http://127.0.0.1:9/v1")
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 2
    place, said = "run.yaml:1: models[0].base_url: ", "nothing listens there (connection refused) ("
    assert place in done.stderr and said in done.stderr and "[server-unreachable]" in done.stderr


def test_a_wrong_end_or_beginning_of_the_base_url_is_told_with_the_remedy(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)

    def started(base_url: str) -> tuple[int, str]:
        write_configuration(tmp_path, base_url)
        done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
        return done.exit_code, done.stderr

    code, said = started(f"{mock_url}/chat/completions")
    assert code == 2
    assert "models[0].base_url: " in said and "[invalid-url]" in said
    code, said = started(mock_url.replace("http:", "https:"))
    assert code == 2
    assert "it speaks no TLS that is understood here, or plain http:// (WRONG_VERSION" in said
    short = mock_url.removesuffix("/v1")
    code, said = started(short)
    assert code == 2
    assert f"(write base_url: {mock_url}) [wrong-base-url]" in said


def refusing(folder: Path) -> Callable[..., int]:
    """`os.open` of a folder in which nobody may write, root neither."""
    opened = os.open

    def refused(path: Any, flags: int, *more: Any, **how: Any) -> int:
        if flags & os.O_CREAT and Path(path).parent == folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, flags, *more, **how)

    return refused


COMMANDS = [["report", "1", "-o"], ["results", "1", "--junit"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_cannot_be_written_is_told_by_the_name_that_was_given(
    command: list[str], recorded_log: RecordedLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "locked" / "out.html"
    file.parent.mkdir()
    monkeypatch.setattr(os, "open", refusing(file.parent))
    done = invoke(recorded_log.url, *command, file, cwd=tmp_path)
    assert done.exit_code == 2
    assert f"error: {file} " in done.stderr and f" in the folder {file.parent} (" in done.stderr
    assert done.stderr.endswith(" [file-unwritable]\n")


def test_a_file_for_a_folder_is_told(recorded_log: RecordedLog, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = tmp_path / "file" / "a" / "out.html"
    done = invoke(recorded_log.url, "report", "1", "-o", file, cwd=tmp_path)
    assert done.exit_code == 2
    assert (
        f"error: {file} " in done.stderr and f" {tmp_path / 'file'} is no folder (" in done.stderr
    )
