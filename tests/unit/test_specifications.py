"""What `docs/specifications.md` names as proof is there."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "specifications.md").read_text("utf-8")
NAMES = re.compile(r"`((?:tests/)?[\w/]*test_\w+\.py(?:::\w+)?|tests/[\w/]+/)`")
NAMED = sorted(set(NAMES.findall(PAGE)))


def rows(specification: str) -> list[list[str]]:
    """The cells of a specification's table, row by row."""
    [table] = [each for each in PAGE.split("\n## ") if each.startswith(f"{specification}:")]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[1:]]


def numbers(text: str) -> set[str]:
    """Every paragraph that is named; "4.1 to 4.6" are six."""
    found = set(re.findall(r"(?<![\d.])\d+(?:\.\d+)?(?![\d.])", text))
    for chapter, first, last in re.findall(r"(\d+)\.(\d+) to \1\.(\d+)", text):
        found |= {f"{chapter}.{n}" for n in range(int(first), int(last) + 1)}
    return found


def test_every_test_that_is_named_as_proof_exists() -> None:
    files = defaultdict(list)
    for path in (ROOT / "tests").rglob("test_*.py"):
        files[path.name].append(path)
    assert len(NAMED) > 200
    missing = []
    for name in NAMED:
        file, _, function = name.partition("::")
        paths = [ROOT / file] if "/" in file else files[file]
        exists = bool(paths) and all(path.exists() for path in paths)
        if exists and function:
            exists = any(f"def {function}(" in path.read_text("utf-8") for path in paths)
        if not exists:
            missing.append(name)
    assert missing == []


PARAGRAPHS = {
    "000": ["1", "2", "3"],
    "001": ["1.1", "1.2", "2.1", "2.2", "3.1", "3.2", "4.1", "5.1", "5.2", "5.3", "5.4", "6.1",
            "6.2", "7.1", "7.2", "8.1", "8.2", "9.1", "10.1", "10.2"],
    "003": ["1.1", "1.2", "1.3", "1.4", "1.5", "2", "3", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6",
            "5.1", "5.2", "5.3", "5.4", "5.5"],
}  # fmt: skip
FIELDS_OF_002 = (
    "id", "title", "category", "tags", "severity_expectation", "turns", "expected_behavior",
    "must_do", "must_not_do", "pass_criteria", "sources", "tools_expected", "language", "notes",
)  # fmt: skip


@pytest.mark.parametrize("specification", PARAGRAPHS)
def test_no_numbered_paragraph_of_a_specification_is_left_out(specification: str) -> None:
    said = numbers(" ".join(row[0] for row in rows(specification) if row[0].startswith("§")))
    assert [each for each in PARAGRAPHS[specification] if each not in said] == []


def test_no_field_of_specification_002_is_left_out() -> None:
    said = " ".join(row[0] for row in rows("002"))
    assert [field for field in FIELDS_OF_002 if f"`{field}`" not in said] == []


@pytest.mark.parametrize("specification", ["000", "001", "002", "003", "004"])
def test_every_reading_names_its_proof(specification: str) -> None:
    unproved = [row[0] for row in rows(specification) if not NAMES.search(row[-1])]
    assert unproved == (["§ 1.2 goals"] if specification == "001" else [])


def test_the_readme_says_what_the_task_manager_does() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    [line] = [line for line in readme.splitlines() if "TaskManagerApi" in line]
    page = "(docs/how-to/benchmark-api.md)"
    for word in ("submissions", "side by side", "workers", "calls back", page):
        assert word in line
