"""Long files begin early, and a whole run says which folders outgrew their budget."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest

from tests import budget, conftest
from tests.conftest import fast_folder
from tests.timing import (
    BUDGET,
    Budget,
    is_whole,
    order_files,
    outgrown,
    read_budget,
    seconds_by_folder,
)

ROOT = Path(__file__).parents[2]


def _report(
    file: str, seconds: float, when: Literal["setup", "call"] = "call"
) -> pytest.TestReport:
    place = file, 1, "test"
    return pytest.TestReport(f"{file}::test", place, {}, "passed", None, when, duration=seconds)


def test_a_folder_took_as_long_as_its_tests_their_fixtures_and_its_deeper_folders() -> None:
    reports: dict[str, list[object]] = {
        "": [_report("tests/unit/core/test_a.py", 3.0, "setup")],
        "passed": [
            _report("tests/unit/core/deep/deeper/test_c.py", 2.0),
            _report("tests/unit/core/test_a.py", 1.0),
            _report("tests/unit/test_b.py", 0.5),
        ],
        "deselected": ["an item, no report"],
    }
    seconds = seconds_by_folder(reports)
    assert list(seconds.items()) == [("tests/unit/core", 6.0), ("tests/unit", 0.5)]


def test_a_folder_that_took_longer_than_its_budget_is_named() -> None:
    budget = {"tests/a": 100.0, "tests/b": 100.0}
    assert outgrown({"tests/a": 120.0, "tests/b": 80.0}, budget) == []
    assert outgrown({"tests/a": 180.0, "tests/b": 20.0}, budget) == [
        "tests/a took 180 s and has a budget of 100 s"
    ]


def test_the_targets_of_the_makefile_are_held_against_their_own_budgets() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"call check,-m '([^']+)'", makefile)
    assert [is_whole(marks) for marks in targets] == [False, True]


def test_a_folder_without_a_budget_is_named_as_soon_as_it_takes_seconds() -> None:
    assert outgrown({"tests/a": 100.0, "tests/new": 4.0}, {"tests/a": 100.0}) == []
    assert outgrown({"tests/a": 100.0, "tests/new": 9.0}, {"tests/a": 100.0}) == [
        "tests/new took 9 s and has a budget of 0 s"
    ]


def test_a_slower_machine_outgrows_the_sum_and_no_single_folder() -> None:
    budget = {"tests/a": 100.0, "tests/b": 50.0}
    assert outgrown({"tests/a": 300.0, "tests/b": 150.0}, budget) == [
        "all folders took 450 s and have 150 s: a busy machine, or all grew"
    ]


def test_long_files_begin_first_and_files_that_compute_are_spread_among_the_others() -> None:
    computing = [f"tests/simulation/test_{n}.py" for n in range(3)]
    others = [f"tests/unit/test_{n}.py" for n in range(20)]
    long = ["tests/chaos/test_b.py", "tests/chaos/test_a.py"]
    budget = Budget((*long, "tests/gone.py"), tuple(computing), {})
    collected = sorted([*others, *computing, *long])
    ordered = order_files([file for file in collected for _ in range(2)], budget)
    assert sorted(ordered) == collected
    assert ordered[:2] == long
    assert [ordered[2:].index(file) for file in computing] == [0, 4, 8]
    assert order_files(computing, budget) == computing
    assert order_files([], budget) == []


def test_every_file_and_every_folder_of_the_budget_exists() -> None:
    budget = read_budget(BUDGET, whole=True)
    assert [
        file for file in (*budget.long_files, *budget.computing) if not (ROOT / file).is_file()
    ] == []
    assert [folder for folder in budget.seconds if not (ROOT / folder).is_dir()] == []
    fast = read_budget(BUDGET, whole=False)
    assert all(fast.seconds[folder] <= whole for folder, whole in budget.seconds.items())


def test_a_server_has_its_files_in_memory_only_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conftest, "_MEMORY", tmp_path)
    monkeypatch.setattr(conftest, "_ROOM", 0)
    assert fast_folder() == tmp_path
    monkeypatch.setattr(conftest, "_ROOM", 2**70)
    assert fast_folder() is None
    monkeypatch.setattr(conftest, "_ROOM", 0)
    monkeypatch.setattr(conftest, "_MEMORY", tmp_path / "missing")
    assert fast_folder() is None


def test_a_budget_is_written_from_the_durations_of_two_runs(tmp_path: Path) -> None:
    def junit(**seconds: float) -> Path:
        file = tmp_path / "run.xml"
        cases = "".join(
            f'<testcase classname="{name.replace("__", ".")}" name="t" time="{took}"/>'
            for name, took in seconds.items()
        )
        file.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
        return file

    fast = budget.seconds_by_file(junit(tests__unit__core__test_a=2.0))
    whole = budget.seconds_by_file(
        junit(tests__unit__core__test_a=3.0, tests__chaos__test_b__TestC=budget.LONG_S)
    )
    file = tmp_path / "budget.toml"
    file.write_text(budget.as_toml(fast, whole, ("tests/simulation/test_d.py",)))
    assert read_budget(file, whole=True) == Budget(
        ("tests/chaos/test_b.py",),
        ("tests/simulation/test_d.py",),
        {"tests/chaos": 15.0, "tests/unit/core": 3.0},
    )
    assert read_budget(file, whole=False).seconds == {"tests/chaos": 0.0, "tests/unit/core": 2.0}
