"""A cell that a program wrote for a missing value is never silently an expected answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.importers.reading import read

COLUMNS = {"prompt": "q", "expected": "a"}


def table(folder: Path, *answers: str) -> Path:
    file = folder / "cases.csv"
    file.write_text("q,a\n" + "".join(f"Question {n}?,{text}\n" for n, text in enumerate(answers)))
    return file


@pytest.mark.parametrize("word", ["NaN", "nan", "None", "null", "NULL", "N/A", "<NA>", "#N/A"])
def test_a_word_for_nothing_is_a_text_that_is_pointed_out(tmp_path: Path, word: str) -> None:
    found = read("csv", table(tmp_path, "Oslo", word, "banana"), columns=COLUMNS)
    assert [case.checks[0].texts for case in found.cases] == [("Oslo",), (word,), ("banana",)]
    (line,) = found.lost
    assert line.startswith("cases.csv:3:a ") and f"the expected is {word}" in line


def test_a_prompt_that_is_a_word_for_nothing_is_pointed_out_too(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text("q,a\nnan,Oslo\n")
    found = read("csv", file, columns=COLUMNS)
    assert len(found.cases) == 1 and "the prompt is nan" in found.lost[0]


@pytest.mark.parametrize("text", ["3.0", "-12.00", "+0.0"])
def test_a_whole_number_with_a_point_is_pointed_out(tmp_path: Path, text: str) -> None:
    found = read("csv", table(tmp_path, text, "3.5", "3"), columns=COLUMNS)
    assert len(found.cases) == 3
    (line,) = found.lost
    assert line.startswith("cases.csv:2:a ") and "whole number with a point" in line


def test_numbers_of_json_lines_are_pointed_out_as_those_of_tables_are(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    rows = [{"input": text, "target": n} for text, n in (("1?", 3.0), ("2?", 3), ("3?", None))]
    file.write_text("\n".join(map(json.dumps, rows)))
    found = read("inspect", file)
    assert [case.checks[0].texts for case in found.cases] == [("3.0",), ("3",)]
    assert any("whole number with a point" in line for line in found.lost)
