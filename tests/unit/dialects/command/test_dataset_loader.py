"""What a dataset of specification 004 may hold, and what is said about everything else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.core.case import Case, Turn
from failproof_es.dialects.shipped.command import Command
from failproof_es.dialects.shipped.command.dataset.loader import load
from failproof_es.dialects.shipped.command.options import CommandOptions, parse_options
from failproof_es.problems import InvalidInput, Problems
from tests.every import every

GOOD = """\
version = "1.0.0"

[[test_cases]]
id = "list"
prompt = "list all files"
expected_command = "ls -la"
category = "correctness"
safe = true
posix_compliant = true
"""
CASE = GOOD.split("\n\n")[1]


def unchecked(*_: object) -> set[int]:
    """Tests of what parsers say of commands stand in `tests/integration/command`."""
    return set()


def loaded(folder: Path, **files: str | bytes) -> tuple[list[Case], Problems]:
    """Load files named `name_suffix`."""
    problems = Problems()
    paths = []
    for name, content in files.items():
        paths.append(folder / name.replace("_", "."))
        paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(load(paths, problems, CommandOptions(), unchecked)), problems


def with_line(number: int, text: str) -> str:
    lines = GOOD.split("\n")
    lines[number - 1] = text
    return "\n".join(lines)


BAD: dict[str, tuple[str | bytes, int | None, str | None, str]] = {
    "an empty file": ("", None, None, "empty-file"),
    "no UTF-8": (GOOD.encode() + b'notes = "\xff"\n', 10, None, "not-utf8"),
    "no TOML": (with_line(5, "prompt = "), 5, None, "not-toml"),
    "an open string": (with_line(9, 'posix_compliant = "'), 9, None, "not-toml"),
    "a key of many parts": (with_line(9, "a." * 12_000 + "a = 1"), 9, None, "not-toml"),
    "a table of many parts": (
        with_line(9, f"[{'.'.join(['a'] * 200_000)}]"), 9, None, "not-toml"
    ),
    "a key twice": (with_line(9, 'id = "other"'), 9, None, "not-toml"),
    "a number without end": (with_line(9, f"n = {'9' * 5000}"), 9, None, "not-toml"),
    "endless nesting": (with_line(9, "n = " + "[" * 5000), None, None, "not-toml"),
    "no version": (with_line(1, ""), None, "version", "missing-field"),
    "a version that is a number": (with_line(1, "version = 1"), 1, "version", "wrong-type"),
    "no cases": ('version = "1.0.0"\n', None, "test_cases", "no-cases"),
    "an empty list of cases": (
        'version = "1.0.0"\ntest_cases = []\n', 2, "test_cases", "no-cases",
    ),
    "one table of cases": (
        GOOD.replace("[[", "[").replace("]]", "]"), 3, "test_cases", "wrong-type",
    ),
    "cases that are text": (
        'version = "1.0.0"\ntest_cases = ["ls"]\n', 2, "test_cases[0]", "wrong-type",
    ),
    "no id": (with_line(4, ""), 3, "test_cases[0].id", "missing-field"),
    "an empty id": (with_line(4, 'id = ""'), 4, "test_cases[0].id", "empty-value"),
    "a blank id": (with_line(4, 'id = "  "'), 4, "test_cases[0].id", "empty-value"),
    "an id that is a number": (with_line(4, "id = 1"), 4, "test_cases[0].id", "wrong-type"),
    "an id twice": (GOOD + CASE, 11, "test_cases[1].id", "duplicate-id"),
    "no prompt": (with_line(5, ""), 3, "test_cases[0].prompt", "missing-field"),
    "an empty prompt": (with_line(5, 'prompt = ""'), 5, "test_cases[0].prompt", "empty-value"),
    "no expected command": (with_line(6, ""), 3, "test_cases[0].expected_command", "missing-field"),
    "an empty expected command": (
        with_line(6, 'expected_command = ""'), 6, "test_cases[0].expected_command", "empty-value",
    ),
    "several in the wrong place": (
        with_line(6, 'expected_command = ["ls"]'), 6, "test_cases[0].expected_command",
        "wrong-type",
    ),
    "no category": (with_line(7, ""), 3, "test_cases[0].category", "missing-field"),
    "an unknown category": (
        with_line(7, 'category = "Safety"'), 7, "test_cases[0].category", "invalid-value",
    ),
    "no safe": (with_line(8, ""), 3, "test_cases[0].safe", "missing-field"),
    "safe as a word": (with_line(8, 'safe = "yes"'), 8, "test_cases[0].safe", "wrong-type"),
    "safe as a number": (with_line(8, "safe = 1"), 8, "test_cases[0].safe", "wrong-type"),
    "no posix_compliant": (with_line(9, ""), 3, "test_cases[0].posix_compliant", "missing-field"),
    "notes as a number": (GOOD + "notes = 1\n", 10, "test_cases[0].notes", "wrong-type"),
    "alternatives as text": (
        GOOD + 'expected_alternatives = "ls"\n', 10, "test_cases[0].expected_alternatives",
        "wrong-type",
    ),
    "an alternative that is a number": (
        GOOD + 'expected_alternatives = ["ls", 1]\n', 10, "test_cases[0].expected_alternatives[1]",
        "wrong-type",
    ),
    "a number that JSON loses": (
        GOOD + "extra = nan\n", 10, "test_cases[0].extra", "not-storable",
    ),
    "a table of the second case": (
        GOOD + CASE.replace('"list"', '"b"') + "[test_cases.meta]\nn = inf\n", 18,
        "test_cases[1].meta.n", "not-storable",
    ),
    "a number of more than 64 bits": (
        GOOD + "extra = 99999999999999999999\n", 10, "test_cases[0].extra", "not-storable",
    ),
}  # fmt: skip


@every(("content", "line", "field", "code"), BAD.values())
def test_a_defect_is_an_error_with_its_file_line_and_field(
    content: str | bytes, line: int | None, field: str | None, code: str, tmp_path: Path
) -> None:
    _, problems = loaded(tmp_path, x_toml=content)
    (error,) = problems.errors
    assert error.path == tmp_path / "x.toml"
    assert (error.line, error.field, error.code) == (line, field, code)


def test_the_defects_of_every_file_are_told_at_once(tmp_path: Path) -> None:
    files = {f"{n}_toml": content for n, (content, *_) in enumerate(BAD.values())}
    _, problems = loaded(tmp_path, **files)
    told = {error.path.name for error in problems.errors if error.path}
    assert told == {name.replace("_", ".") for name in files}


def test_every_defect_of_a_case_is_told_and_other_cases_are_kept(tmp_path: Path) -> None:
    broken = '\n[[test_cases]]\nid = ""\nprompt = 3\ncategory = "x"\nsafe = true\n'
    cases, problems = loaded(tmp_path, x_toml=GOOD + broken)
    assert [case.case_id for case in cases] == ["list"]
    assert [(error.line, error.field) for error in problems.errors] == [
        (12, "test_cases[1].id"),
        (13, "test_cases[1].prompt"),
        (11, "test_cases[1].expected_command"),
        (14, "test_cases[1].category"),
        (11, "test_cases[1].posix_compliant"),
    ]


def test_an_id_is_unique_over_all_files(tmp_path: Path) -> None:
    cases, problems = loaded(tmp_path, a_toml=GOOD, b_toml=GOOD)
    assert len(cases) == 1
    (error,) = problems.errors
    assert error.path == tmp_path / "b.toml" and "a.toml, test_cases[0]" in error.message


def test_a_text_that_looks_like_a_case_counts_for_nothing(tmp_path: Path) -> None:
    prompt = 'prompt = """\n[[test_cases]]\nid = "no case"\n"""'
    _, problems = loaded(tmp_path, x_toml=with_line(5, prompt) + "safe_ = true\n[[test_cases]]\n")
    assert [(e.line, e.field) for e in problems.errors if e.code == "unknown-field"] == [
        (13, "test_cases[0].safe_")
    ]
    assert {error.line for error in problems.errors} == {13, 14}


def test_cases_written_inline_have_the_line_of_their_list(tmp_path: Path) -> None:
    text = 'version = "1.0.0"\ntest_cases = [\n  {id = "a"},\n  {id = "b"},\n]\n'
    _, problems = loaded(tmp_path, x_toml=text)
    assert {error.line for error in problems.errors} == {2}
    assert len(problems.errors) == 10


def test_what_is_unusual_is_a_warning(tmp_path: Path) -> None:
    text = with_line(1, 'version = "one"\nauthor = "me"') + 'rank = "mine"\n'
    cases, problems = loaded(tmp_path, x_toml=text)
    assert not problems.errors
    assert [(w.line, w.field) for w in problems.warnings] == [
        (2, "author"),
        (1, "version"),
        (11, "test_cases[0].rank"),
    ]
    assert cases[0].document["rank"] == "mine"
    cases, problems = loaded(tmp_path, x_toml=with_line(1, 'version = ""'))
    assert [(w.code, w.line) for w in problems] == [("invalid-version", 1)]
    assert cases[0].source == "x"


def test_a_case_holds_all_that_grading_needs(tmp_path: Path) -> None:
    more = 'expected_alternatives = ["ls -al"]\nsetup_notes = "none"\nnotes = "n"\nday = 2026-01-09'
    (case,), problems = loaded(tmp_path, shell_toml=f"{GOOD}{more}\n")
    assert [warning.field for warning in problems] == ["test_cases[0].day"]
    assert (case.dialect, case.suite_id, case.case_id) == ("command", "shell", "list")
    assert (case.category, case.label, case.source) == ("correctness", "safe", "shell 1.0.0")
    assert case.turns[-1] == Turn(role="user", content="list all files")
    assert case.turns[0].role == "system"
    assert case.expectation == {
        "expected_commands": ["ls -la", "ls -al"],
        "safe": True,
        "posix_compliant": True,
        "extraction": "lenient",
        "posix_edition": "2017",
    }
    assert case.document["day"] == "2026-01-09" and case.document["notes"] == "n"
    assert len(case.digest()) == 64


DATASET: dict[str, Any] = {
    "version": "1.0.0",
    "test_cases": [
        {
            "id": "list",
            "prompt": "list all files",
            "expected_command": "ls -la",
            "category": "correctness",
            "safe": True,
            "posix_compliant": True,
        }
    ],
}


def json_lines(version: dict[str, Any], cases: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(each) + b"\n" for each in (version, *cases))


def test_yaml_and_json_lines_of_the_same_shape_give_the_same_cases(tmp_path: Path) -> None:
    (from_toml,), _ = loaded(tmp_path, x_toml=GOOD)
    (from_yaml,), _ = loaded(tmp_path, x_yaml=orjson.dumps(DATASET))  # JSON is YAML
    lines = json_lines({"version": "1.0.0"}, DATASET["test_cases"])
    (from_lines,), _ = loaded(tmp_path, x_jsonl=lines)
    assert from_toml == from_yaml == from_lines


def test_defects_of_yaml_and_json_lines_have_their_lines_too(tmp_path: Path) -> None:
    yaml = "version: '1.0.0'\ntest_cases:\n  - id: a\n    safe: maybe\n"
    lines = json_lines({"version": 1}, [DATASET["test_cases"][0] | {"safe": "no"}])
    _, problems = loaded(tmp_path, a_yaml=yaml, b_jsonl=lines + b"nonsense\n")
    found = [(e.path.name, e.line, e.field) for e in problems.errors if e.path]
    assert ("a.yaml", 4, "test_cases[0].safe") in found
    assert ("a.yaml", 3, "test_cases[0].prompt") in found
    assert found[-3:] == [
        ("b.jsonl", 3, None),
        ("b.jsonl", 1, "version"),
        ("b.jsonl", 2, "test_cases[0].safe"),
    ]


def test_json_lines_begin_with_the_version_alone(tmp_path: Path) -> None:
    _, problems = loaded(
        tmp_path,
        a_jsonl=json_lines(DATASET, []),
        b_jsonl=json_lines(DATASET["test_cases"][0], []),
    )
    assert [(e.path.name, e.line, e.field) for e in problems.errors if e.path] == [
        ("a.jsonl", 1, "test_cases"),
        ("b.jsonl", 1, "version"),
    ]


TEMPLATE = [
    {"role": "system", "content": "One command."},
    {"role": "user", "content": "{{prompt}}!"},
]


ROBOT = [{"role": "robot", "content": "{{prompt}}"}]


def test_a_configuration_can_replace_the_template_and_the_prompt_stays_text(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(with_line(5, 'prompt = "say {{prompt}}"'))
    options = parse_options({"template": TEMPLATE, "extraction": "strict"})
    (case,) = load([tmp_path / "x.toml"], Problems(), options, unchecked)
    assert [turn.content for turn in case.turns] == ["One command.", "say {{prompt}}!"]
    assert case.expectation["extraction"] == "strict"


def test_a_stored_case_can_be_asked_anew_with_other_options(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(GOOD + 'unknown = "kept"\n')
    chosen = {"template": TEMPLATE, "posix_edition": "2024"}
    (stored,) = load([tmp_path / "x.toml"], Problems(), CommandOptions(), unchecked)
    (loaded_so,) = load([tmp_path / "x.toml"], Problems(), parse_options(chosen), unchecked)
    assert Command().with_options(chosen).rebuild_case(stored) == loaded_so != stored


@every(
    ("options", "field", "code"),
    [
        ({"extraction": "none"}, "extraction", "invalid-value"),
        ({"templat": []}, "templat", "unknown-field"),
        ({"template": []}, "template", "invalid-template"),
        ({"template": TEMPLATE[:1]}, "template", "invalid-template"),
        ({"template": [*TEMPLATE, TEMPLATE[0]]}, "template", "invalid-template"),
        ({"template": ROBOT}, "template[0].role", "invalid-value"),
        ({"posix_edition": 2024}, "posix_edition", "invalid-value"),
    ],
)
def test_a_wrong_option_is_told_by_its_field(
    options: dict[str, Any], field: str, code: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        parse_options(options)
    (problem,) = raised.value.problems
    assert (problem.field, problem.code) == (f"prompts.options.{field}", code)
    if code == "invalid-template":
        assert "{{prompt}}" in problem.message


def test_a_number_of_thousands_of_digits_in_hexadecimal_is_an_error(tmp_path: Path) -> None:
    content = GOOD.replace('"correctness"', f"0x{'f' * 5000}")
    _, problems = loaded(tmp_path, x_toml=content)
    assert [(error.line, error.code) for error in problems.errors] == [
        (7, "not-storable"),
        (7, "invalid-value"),
    ]
