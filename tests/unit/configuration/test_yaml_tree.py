"""YAML as plain values: whole numbers in every notation, and the digits that are too many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failproof_es.configuration.written import yaml_text
from failproof_es.configuration.yaml_tree import parse_yaml, read_yaml
from failproof_es.problems import Problem, Problems, shown_value
from tests.every import every

FILE = Path("cases.yaml")


def read(text: str) -> tuple[Any, list[Problem]]:
    problems = Problems()
    tree = parse_yaml(FILE, f"first: 1\nnumber: {text}\n", problems)
    assert tree is not None
    return tree.value["number"], problems.errors


MOST = 100


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9" * MOST, int("9" * MOST)),
        ("0x" + "f" * (MOST - 2), 16 ** (MOST - 2) - 1),
        ("0o7_7", 0o77),
        ("-1_000", -1000),
    ],
)
def test_whole_numbers_are_read(text: str, number: int) -> None:
    assert read(text) == (number, [])


@pytest.mark.parametrize(
    "text", ["9" * (MOST + 1), "9" * 5000, "-" + "9" * 5000, "0x" + "f" * 5000, "0o" + "7" * 5000]
)
def test_one_of_too_many_digits_is_an_error_at_its_line(text: str) -> None:
    _, (error,) = read(text)
    assert (error.path, error.line, error.field) == (FILE, 2, "number")
    assert error.code == "out-of-range"
    assert read(f"'{text}'") == (text, [])


@every("text", ["*.jsonl", "*/a.jsonl", "&a b", "!x b", "@x", "%x", "`x`", "[*.jsonl]"])
def test_what_yaml_reserves_is_one_error_whose_remedy_is_quotes(text: str) -> None:
    problems = Problems()
    assert parse_yaml(FILE, f"first: 1\nsecond: {text}\n", problems) is None
    [error] = problems.errors
    assert error.line == 2 and "in quotes" in (error.remedy or "")


@every(
    ("text", "line"),
    [("%YAML 1.1\n---\na: 010\n", 2), ("a: 1\nb: x\x01\n", 2), ("a: 1\n\x7f", 2)],
)
def test_another_version_and_control_characters_are_refused_in_their_line(
    text: str, line: int
) -> None:
    problems = Problems()
    assert parse_yaml(FILE, text, problems) is None
    assert [error.line for error in problems.errors] == [line]
    assert parse_yaml(FILE, "%YAML 1.2\n---\na: 1\n", problems) is not None


def test_a_pair_of_surrogates_is_a_character_and_a_half_stays() -> None:
    text = json.dumps({"\U0001f600": ["a\U0001f600", "\ud83d"]})
    tree = parse_yaml(FILE, text, Problems())
    assert tree is not None and tree.value == {"\U0001f600": ["a\U0001f600", "\ud83d"]}


def test_a_wrong_value_of_any_kind_is_shown_in_few_words() -> None:
    assert shown_value(1 << 20_000) == "a number of 20001 bits"
    assert shown_value("a " * 70_000) == "'" + "a " * 18 + "..."
    values: list[Any] = [None, True, {}, []]
    assert list(map(shown_value, values)) == ["null", "true", "an object", "a list"]


@pytest.mark.parametrize(
    "text",
    [
        "a\r\nb",
        "a\n \n\tb\n\n",
        " a\nb",
        "\x85-\n",
        "a\u2028b",
        "\x1b[2J\n",
        "\x00",
        "a\uffff\n",
        "# a: {b}\n",
        "yes",
    ],
)
def test_what_is_written_is_read_again_to_the_letter(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(yaml_text({"key": {text: text}}), "utf-8", newline="")
    tree = read_yaml(tmp_path / "a.yaml", Problems())
    assert tree is not None and tree.value == {"key": {text: text}}
