"""What takes long begins early, and the end of a whole test command tells which folders did."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests import conftest
from tests.conftest import COMPUTING, FIRST, fast_folder, in_order, seconds_by_folder


def _report(
    file: str, seconds: float, when: Literal["setup", "call"] = "call"
) -> pytest.TestReport:
    place = file, 1, "test"
    return pytest.TestReport(f"{file}::test", place, {}, "passed", None, when, duration=seconds)


def test_a_folder_took_as_long_as_its_tests_and_what_they_needed() -> None:
    reports: dict[str, list[object]] = {
        "": [_report("tests/slow/test_a.py", 3.0, "setup")],
        "passed": [
            _report("tests/slow/deep/test_c.py", 2.0),
            _report("tests/slow/test_a.py", 1.0),
            _report("tests/slow/test_b.py", 0.5),
        ],
        "deselected": ["an item, no report"],
    }
    found = seconds_by_folder(reports)
    assert list(found.items()) == [("tests/slow", 4.5), ("tests/slow/deep", 2.0)]


def test_what_computes_begins_among_the_others_and_what_waits_for_minutes_before_them() -> None:
    computing = [Path(f"tests/{COMPUTING}/test_{n}.py") for n in range(3)]
    others = [Path(f"tests/unit/test_{n}.py") for n in range(20)]
    long = [Path(f"tests/{folder}/test_long.py") for folder in FIRST]
    given = [*others, *computing, *long]
    found = in_order([file for file in given for _ in range(2)])
    assert sorted(found) == sorted(given)
    assert found[: len(long)] == long
    assert [file for file in found if file in others] == others
    places = [found[len(long) :].index(file) for file in computing]
    assert places == [0, 5, 10]


def test_files_that_compute_are_in_order_without_others() -> None:
    files = [Path(f"tests/{COMPUTING}/test_{n}.py") for n in range(3)]
    assert in_order(files) == files
    assert in_order([]) == []


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
