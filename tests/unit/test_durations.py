"""The end of a whole test command tells which folders took how long."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.conftest import seconds_by_folder


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
