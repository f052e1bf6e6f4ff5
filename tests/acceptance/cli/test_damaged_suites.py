"""What `suites validate` says of red-team files gone wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click.testing
import pytest

from tests.acceptance.cli.test_suites import CASE, read_yaml_text, suites


@dataclass(frozen=True)
class Damage:
    """What happens to a valid case, and the place and the code of the problem."""

    name: str
    change: Callable[[str], str | bytes]
    place: str
    code: str


def swap(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


def without(*beginnings: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        kept = [line for line in lines if not line.strip().startswith(beginnings)]
        assert len(kept) < len(lines)
        return "".join(kept)

    return change


def as_latin_1(text: str) -> bytes:
    return text.replace("Ferries", "Fähren").encode("latin-1")


IN_YAML = [
    Damage("no id", without("id:"), "case.yaml:1: id", "missing-field"),
    Damage("id is a number", swap("RT-1", "1"), "case.yaml:1: id", "wrong-type"),
    Damage("id is blank", swap("RT-1", "' '"), "case.yaml:1: id", "empty-value"),
    Damage("title is yes", swap("Ferries and dogs", "true"), "case.yaml:2: title", "wrong-type"),
    Damage("no category", without("category:"), "case.yaml:1: category", "missing-field"),
    Damage("tags are a text", swap("[citation_check]", "x"), "case.yaml:4: tags", "wrong-type"),
    Damage(
        "a tag is a number", swap("[citation_check]", "[7]"), "case.yaml:4: tags[0]", "wrong-type"
    ),
    Damage(
        "severity in lower case",
        swap("S2", "s2"),
        "case.yaml:5: severity_expectation",
        "invalid-value",
    ),
    Damage(
        "language in words",
        swap(": en\n", ": plain English\n"),
        "case.yaml:6: language",
        "unknown-language",
    ),
    Damage(
        "sources are a mapping",
        swap("  - source_id", "    source_id"),
        "case.yaml:7: sources",
        "wrong-type",
    ),
    Damage("a blank in a source's id", swap("SRC-1", "SRC 1"), "", ""),
    Damage(
        "a source without text", without("text:"), "case.yaml:8: sources[0].text", "missing-field"
    ),
    Damage(
        "a misspelt role",
        swap("role: user", "role: usr"),
        "case.yaml:14: turns[1].role",
        "invalid-value",
    ),
    Damage(
        "the user is silent",
        swap("May I bring my dog?", "''"),
        "case.yaml:15: turns[1].content",
        "empty-value",
    ),
    Damage(
        "nobody asks", swap("role: user", "role: assistant"), "case.yaml:11: turns", "missing-turn"
    ),
    Damage(
        "every answer is scripted",
        swap("expected_behavior:", "  - {role: assistant, content: Yes.}\nexpected_behavior:"),
        "case.yaml:16: turns[2]",
        "missing-turn",
    ),
    Damage(
        "a citation of nothing",
        swap("my dog?", "a dog [SRC-9]?"),
        "case.yaml:15: turns[1].content",
        "unknown-source",
    ),
    Damage(
        "an item cites nothing given",
        swap("Cites [SRC-1]", "Cites [SRC-2]"),
        "case.yaml:22: expected_behavior.pass_criteria[0]",
        "unknown-source",
    ),
    Damage(
        "no list of what must be done",
        without("must_do:", "- Says that dogs are allowed"),
        "case.yaml:16: expected_behavior.must_do",
        "missing-field",
    ),
    Damage(
        "an item is a mapping",
        swap("- Says that dogs are forbidden.", "- Says: that dogs are forbidden."),
        "case.yaml:20: expected_behavior.must_not_do[0]",
        "wrong-type",
    ),
    Damage(
        "the same is wanted and forbidden",
        swap("Says that dogs are forbidden.", "Says that dogs are allowed on a lead."),
        "case.yaml:18: expected_behavior.must_do[0]",
        "contradiction",
    ),
    Damage(
        "a tool of two words",
        swap("[search]", "[web search]"),
        "case.yaml:23: tools_expected[0]",
        "invalid-name",
    ),
    Damage(
        "a tool twice",
        swap("[search]", "[search, search]"),
        "case.yaml:23: tools_expected[1]",
        "duplicate-value",
    ),
    Damage("notes are a list", swap("None.", "[None]"), "case.yaml:24: notes", "wrong-type"),
    Damage(
        "a key twice",
        swap("title: F", "title: X\ntitle: F"),
        "case.yaml:3: title",
        "duplicate-field",
    ),
    Damage("a tab indents", swap("  - role: user", "\t- role: user"), "case.yaml:14", "not-yaml"),
    Damage("a bracket stays open", swap("check]", "check"), "case.yaml:5", "not-yaml"),
    Damage(
        "an anchor",
        swap("title: F", "title: &t F"),
        "case.yaml:2",
        "unsupported-yaml",
    ),
    Damage("not UTF-8", as_latin_1, "case.yaml:2", "not-utf8"),
    Damage("nothing but comments", lambda _: "# later\n", "case.yaml", "empty-file"),
    Damage("a list of titles", lambda _: "- Ferries\n- Dogs\n", "case.yaml:1", "wrong-type"),
]
IN_JSON_LINES = [
    Damage("half a line", lambda line: line[:80], "case.jsonl:2", "not-json"),
    Damage("a comma too many", swap('"]', '",]'), "case.jsonl:2", "not-json"),
    Damage("single quotes", lambda line: line.replace('"', "'"), "case.jsonl:2", "not-json"),
    Damage("a list in place of a case", lambda line: f"[{line}]", "case.jsonl:2", "foreign-format"),
    Damage("no number", swap('"RT-1"', "NaN"), "case.jsonl:2", "not-json"),
    Damage("half an emoji", swap("Ferries", "\\ud83d"), "case.jsonl:2: title", "not-storable"),
    Damage("the id of the line before", swap("RT-1", "GOOD"), "case.jsonl:2: id", "duplicate-id"),
    Damage(
        "tags twice", swap('"S2"', '"S2", "tags": []'), "case.jsonl:2: tags", "duplicate-field"
    ),
    Damage(
        "a deep nest", swap('"S2"', "[" * 999 + "]" * 999), "case.jsonl:2", "nested-too-deeply"
    ),
    Damage("not UTF-8", as_latin_1, "case.jsonl:2", "not-utf8"),
]  # fmt: skip


ODD = {
    "language in words", "a blank in a source's id", "the user is silent",
    "every answer is scripted", "a citation of nothing", "an item cites nothing given",
    "the same is wanted and forbidden", "a tool of two words", "a tool twice",
}  # fmt: skip
"""What the specification allows: at most a warning."""


@pytest.mark.parametrize(
    "odd",
    [damage for damage in IN_YAML if damage.name in ODD],
    ids=lambda damage: damage.name,
)
def test_what_is_odd_and_allowed_is_a_warning_at_most(tmp_path: Path, odd: Damage) -> None:
    write_file(tmp_path / "case.yaml", odd.change(CASE))
    done = suites(tmp_path, "validate", "case.yaml", "--dialect", "redteam")
    assert done.exit_code == 0, done.stderr
    assert has_problem(done, odd) if odd.code else "warning" not in done.stderr


@pytest.mark.parametrize(
    "damage",
    [damage for damage in IN_YAML if damage.name not in ODD],
    ids=lambda damage: damage.name,
)
def test_a_damaged_yaml_file_is_refused_with_file_line_and_field(
    tmp_path: Path, damage: Damage
) -> None:
    write_file(tmp_path / "case.yaml", damage.change(CASE))
    check(suites(tmp_path, "validate", "case.yaml", "--dialect", "redteam"), damage)


@pytest.mark.parametrize("damage", IN_JSON_LINES, ids=lambda damage: damage.name)
def test_a_damaged_line_is_refused_with_file_line_and_field(tmp_path: Path, damage: Damage) -> None:
    case = read_yaml_text(CASE, tmp_path)
    changed = damage.change(json.dumps(case))
    line = changed if isinstance(changed, bytes) else changed.encode()
    good = json.dumps(case | {"id": "GOOD"}).encode()
    (tmp_path / "case.jsonl").write_bytes(good + b"\n" + line + b"\n")
    check(suites(tmp_path, "validate", "case.jsonl"), damage)


def write_file(file: Path, content: str | bytes) -> None:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def has_problem(done: click.testing.Result, damage: Damage) -> bool:
    """Whether a line of stderr begins with the place, and ends with the code."""
    problem = rf"{re.escape(damage.place)}: .*\[{damage.code}\]$"
    return re.search(problem, done.stderr, re.MULTILINE) is not None


def check(done: click.testing.Result, damage: Damage) -> None:
    assert done.exit_code == 2, done.stdout
    assert done.stdout == ""
    assert has_problem(done, damage), done.stderr
    assert "Traceback" not in done.stderr


def test_the_case_that_is_damaged_is_valid(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(CASE)
    done = suites(tmp_path, "validate", "case.yaml")
    assert done.exit_code == 0
    assert "warning" not in done.stderr
    assert len(IN_YAML) + len(IN_JSON_LINES) >= 40


def test_all_damage_of_all_files_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CASE.replace("S2", "S7").replace("role: user", "role: usr"))
    (tmp_path / "b.yaml").write_text(
        CASE.replace("source_id: SRC-1", "source_id: 1").replace("RT-1", "RT-2")
    )
    done = suites(tmp_path, "validate", ".")
    for said in ("a.yaml:5: sev", "a.yaml:14: turns[1].role", "b.yaml:8: sources[0].source_id"):
        assert said in done.stderr
