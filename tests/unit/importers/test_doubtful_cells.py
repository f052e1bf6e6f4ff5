"""A cell that a program wrote for a missing value is never silently an expected answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from failproof_es.problems import InvalidInput
from tests.every import every
from tests.unit.importers.reading import read

COLUMNS = {"prompt": "q", "expected": "a"}


def table(folder: Path, *answers: str) -> Path:
    file = folder / "cases.csv"
    file.write_text("q,a\n" + "".join(f"Question {n}?,{text}\n" for n, text in enumerate(answers)))
    return file


@pytest.mark.parametrize("word", ["NaN", "nan", "None", "null", "NULL", "<NA>"])
def test_a_missing_value_is_no_answer(tmp_path: Path, word: str) -> None:
    found = read("csv", table(tmp_path, "Oslo", word, "banana"), columns=COLUMNS)
    assert [case.checks[0].texts for case in found.cases] == [("Oslo",), ("banana",)]
    assert found.lost == ["cases.csv:3:a the case is not written: the expected answer is missing"]


@pytest.mark.parametrize("word", ["N/A", "NA", "#N/A", "undefined"])
def test_a_word_that_may_mean_nothing_is_a_text_that_is_pointed_out(
    tmp_path: Path, word: str
) -> None:
    found = read("csv", table(tmp_path, "Oslo", word, "banana"), columns=COLUMNS)
    assert [case.checks[0].texts for case in found.cases] == [("Oslo",), (word,), ("banana",)]
    (line,) = found.lost
    assert line.startswith("cases.csv:3:a ") and f"the expected is {word}" in line


def test_a_missing_prompt_is_no_case(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text("q,a\nnan,Oslo\n")
    found = read("csv", file, columns=COLUMNS)
    assert not found.cases and "the prompt is empty" in found.lost[0]


def test_a_whole_number_in_a_column_of_numbers_has_no_point(tmp_path: Path) -> None:
    file = table(tmp_path, "3.0", "-12.00", "NaN", "", "3.5", "4", "2e3")
    found = read("csv", file, columns=COLUMNS)
    answers = [case.checks[0].texts[0] for case in found.cases]
    assert answers == ["3", "-12", "3.5", "4", "2e3"]
    assert f"{file}: a: 3.0 is read as 3: a column of numbers" in found.findings.remarks


@pytest.mark.parametrize("text", ["3.0", "-12.00", "+0.0"])
def test_a_whole_number_with_a_point_between_texts_is_pointed_out(
    tmp_path: Path, text: str
) -> None:
    found = read("csv", table(tmp_path, text, "3.5", "three"), columns=COLUMNS)
    assert [case.checks[0].texts[0] for case in found.cases] == [text, "3.5", "three"]
    (line,) = found.lost
    assert line.startswith("cases.csv:2:a ") and "whole number with a point" in line


def test_numbers_of_json_lines_are_pointed_out_as_those_of_tables_are(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    rows = [{"input": text, "target": n} for text, n in (("1?", 3.0), ("2?", 3), ("3?", None))]
    file.write_text("\n".join(map(json.dumps, rows)))
    found = read("inspect", file)
    assert [case.checks[0].texts for case in found.cases] == [("3.0",), ("3",)]
    assert any("whole number with a point" in line for line in found.lost)


def test_white_space_around_a_heading_names_no_other_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("prompt, expected \n?,a\n")
    [case] = read("csv", tmp_path / "t.csv").cases
    assert case.checks[0].texts == ("a",)


@every(
    ("heading", "option"),
    [("Expected", "Expected"), ("note,Target", "Target"), ("note", "COLUMN"), ("input", "COLUMN")],
)
def test_a_column_that_may_hold_the_expected_answer_is_suggested(
    tmp_path: Path, heading: str, option: str
) -> None:
    (tmp_path / "t.csv").write_text(f"prompt,{heading}\n?{',a' * len(heading.split(','))}\n")
    source = read("csv", tmp_path / "t.csv")
    assert [case.checks for case in source.cases] == [()]
    assert source.findings.remarks == [
        f"no column holds the expected answer: any answer passes (--column expected={option})"
    ]


@every(
    "text", ['[{"input": "q"}], "x": 1', '[], "rows": [{"input": "q"}]', '{"input": "q"}', "[1]"]
)
def test_what_is_no_list_of_records_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(InvalidInput):
        read("inspect", tmp_path / "t.json")
