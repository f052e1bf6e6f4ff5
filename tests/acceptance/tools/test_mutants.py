"""The tool on a tree of its own: which mutants its tests kill, in which process they run."""

from __future__ import annotations

import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.mutants.__main__ import main
from tools.mutants.results import Result, read_results

ROOT = Path(__file__).parents[3]
FILES = {
    "toy/__init__.py": """
def larger(a, b):
    if a > b:
        return a
    return b


def in_child():
    return 40 + 2


def weak(number):
    return number + 1


def of_fixture():
    return 5


def endless(number):
    while number < 3:
        number += 1


def unreached():
    return 7
""",
    "toy/__main__.py": "import toy\n\nprint(toy.in_child())\n",
    "tests/conftest.py": """
import pytest
import toy


@pytest.fixture(scope="session")
def five():
    return toy.of_fixture()
""",
    "tests/test_direct.py": """
import toy


def test_larger():
    assert [toy.larger(1, 2), toy.larger(2, 1), toy.larger(2, 2)] == [2, 2, 2]


def test_weak():
    toy.weak(1)
""",
    "tests/test_child.py": """
import subprocess
import sys


def test_another_process_has_an_environment_of_its_own():
    command = [sys.executable, "-m", "toy"]
    assert subprocess.run(command, env={}, cwd="/", capture_output=True).stdout == b"42\\n"
""",
    "tests/test_first.py": "def test_first(five):\n    assert five\n",
    "tests/test_second.py": "def test_second(five):\n    assert five == 5\n",
    "pytest.ini": "[pytest]\ntestpaths = tests\n",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Result]:
    """By function the results of all mutants of the toy's functions, twice measured."""
    tree = tmp_path_factory.mktemp("toy")
    for path, text in FILES.items():
        (tree / path).parent.mkdir(exist_ok=True)
        (tree / path).write_text(text)
    venv.create(tree / ".venv", symlinks=True, with_pip=False)
    (packages,) = (tree / ".venv/lib").glob("python3*/site-packages")
    (packages / "toy.pth").write_text(f"{tree}\n{sysconfig.get_path('purelib')}\n{ROOT}\n")
    work = tmp_path_factory.mktemp("work")
    arguments = [
        "--tree", str(tree), "--work", str(work), "--copies", str(tmp_path_factory.mktemp("c")),
        "--packages", "toy", "--tests", "tests", "--mutants", "100", "--processes", "2",
    ]  # fmt: skip
    assert main(arguments) == 0
    lines = (work / "results.jsonl").read_text()
    assert main(arguments) == 0
    assert (work / "results.jsonl").read_text() == lines, "an interrupted measurement goes on"
    assert (tree / "toy/__init__.py").read_text() == FILES["toy/__init__.py"]
    return {
        f"{result.function}:{result.line}": result
        for result in read_results(work / "results.jsonl")
    }


pytestmark = pytest.mark.wide


def test_a_mutant_is_killed_by_the_file_that_executes_it(results: Mapping[str, Result]) -> None:
    for line in (3, 4, 5):
        assert results[f"larger:{line}"].by == "tests/test_direct.py::test_larger"


def test_a_mutant_that_only_another_process_sees_is_killed(results: Mapping[str, Result]) -> None:
    test = "tests/test_child.py::test_another_process_has_an_environment_of_its_own"
    assert results["in_child:9"].by == test


def test_a_mutant_that_no_test_asserts_survives(results: Mapping[str, Result]) -> None:
    assert results["weak:13"].outcome == "survived"
    assert results["weak:13"].passed == ["tests/test_direct.py"]


def test_a_mutant_in_a_session_fixture_reaches_every_file_that_uses_it(
    results: Mapping[str, Result],
) -> None:
    assert results["of_fixture:17"].by.startswith(("tests/test_first.py", "tests/test_second.py"))


def test_a_place_that_no_test_executes_is_not_reached(results: Mapping[str, Result]) -> None:
    assert results["unreached:26"].outcome == "not reached"
    assert results["endless:21"].outcome == "not reached"
