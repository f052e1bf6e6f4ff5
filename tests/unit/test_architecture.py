"""`docs/architecture.md` is true of the tree, and what it tells to register is registered."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SOURCES = ("failproof_es", "projections", "tools")
AT_THE_ROOT = re.compile(
    r"(?:failproof_es|projections|tools|tests|docs|configs)/[\w./-]*|\w+\.toml"
)


def section(heading: str) -> str:
    """The text below a heading of the second level."""
    return TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def paths(text: str) -> list[str]:
    """The paths from the root that stand in code in the text."""
    return [each for each in re.findall(r"`([^`\n]+)`", text) if AT_THE_ROOT.fullmatch(each)]


def missing(text: str) -> list[str]:
    return [each for each in paths(text) if not (ROOT / each).exists()]


def packages() -> Iterator[tuple[str, str]]:
    """Every folder of code with the first line of its package."""
    for source in SOURCES:
        for file in sorted((ROOT / source).rglob("__init__.py")):
            said = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
            yield f"{file.parent.relative_to(ROOT).as_posix()}/", said.partition("\n")[0]


@pytest.mark.parametrize("heading", ["The floors", "Walks"])
def test_every_path_is_there(heading: str) -> None:
    assert len(paths(section(heading))) > 20
    assert missing(section(heading)) == []


def test_a_path_that_is_not_there_is_seen() -> None:
    text = (
        "`failproof_es/none.py`, `tests/golden/`, `pyproject.toml`, `none.toml`, `a/b.py`, `x = 1`"
    )
    assert missing(text) == ["failproof_es/none.py", "none.toml"]


def test_every_floor_stands_in_the_table_once() -> None:
    table = section("The floors").partition("\nThese definitions")[0]
    named = [
        folder
        for row in re.findall(r"^\| (`.*?) \|", table, re.M)
        for folder in paths(row)
        if folder.endswith("/")
    ]
    floors = [
        folder
        for folder, _ in packages()
        if folder.count("/") == (2 if folder.startswith(f"{SOURCES[0]}/") else 1)
    ]
    assert Counter(named) == Counter(floor for floor in floors if floor != f"{SOURCES[0]}/")


def test_the_first_line_of_each_package_says_what_it_holds() -> None:
    assert [folder for folder, line in packages() if not line] == []


@pytest.mark.parametrize(
    ("kind", "folder"),
    [
        ("providers", "failproof_es.models.providers"),
        ("dialects", "failproof_es.dialects.shipped"),
    ],
)
def test_what_is_registered_is_a_folder_beside_its_like(kind: str, folder: str) -> None:
    """Of that folder the import contracts speak."""
    offered: dict[str, str] = PROJECT["project"]["entry-points"][f"failproof_es.{kind}"]
    modules = {each.partition(":")[0] for each in offered.values()}
    assert {each.rpartition(".")[0] for each in modules} == {folder}
    assert f"{folder}.*" in (ROOT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("kind", "files", "attribute"),
    [
        (
            "providers",
            [
                "integration/models/contract/speaking/*.py",
                "integration/models/contract/test_contract.py",
                "integration/models/contract/test_sdk.py",
            ],
            "provider",
        ),
        ("dialects", ["integration/dialects/test_contract.py"], "dialect"),
    ],
)
def test_what_ships_is_put_through_its_contract(
    kind: str, files: list[str], attribute: str
) -> None:
    paths = [path for pattern in files for path in (ROOT / "tests").glob(pattern)]
    text = "".join(path.read_text("utf-8") for path in paths)
    tested = re.findall(rf'^    {attribute} ?= ?"([\w-]+)",?$', text, re.M)
    assert sorted(tested) == sorted(PROJECT["project"]["entry-points"][f"failproof_es.{kind}"])
