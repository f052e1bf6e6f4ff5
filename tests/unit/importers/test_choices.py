"""A multiple choice: the expected answer is one option for certain, or the record is no case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from failproof_es.importers.choices import check_of_choice
from failproof_es.importers.protocol import Check
from failproof_es.importers.record_values import UnusableRecord
from tests.every import every
from tests.unit.importers.reading import ImportedSource, read


def chosen(answer: Any, choices: Any) -> str:
    """The expected letter, or the reason against the record."""
    try:
        [pattern] = check_of_choice(answer, choices).texts
    except UnusableRecord as error:
        return f"{error.role}: {error}"
    [letter] = [letter for letter in "ABCD" if re.search(pattern, f"ANSWER: {letter}")]
    return letter


@every(
    ("answer", "choices", "letter"),
    [
        *((answer, ["x", "y"], "B") for answer in ("B", 1, "1", " 1 ", "1.0", 1.0, "y", ["y"])),
        ("2", "[\"p\", \"q\", \"r\"]", "C"),
        ("b", "a, b", "B"),
        (True, [False, True], "B"),
        (4, [2, 4, 6], "B"),
        (4.0, ["2.0", "4.0"], "B"),
        (1, [0, 1, 2], "B"),
        *((answer, ["0", "1", "4", "2"], "C") for answer in (2, 2.0)),
        ("A", ["A", "B"], "A"),
    ],
)  # fmt: skip
def test_an_answer_is_a_letter_a_number_from_0_or_a_text(
    answer: Any, choices: Any, letter: str
) -> None:
    assert chosen(answer, choices) == letter


NO_CHOICES: list[Any] = [None, "", 2, -1, "C", "AB", "b", 0.5, float("nan"), ["x", "y"], {}, "٠"]


@every(
    ("answer", "choices", "reason"),
    [
        *((1, choices, "choices: one of the choices is empty")
          for choices in (["", "yes"], ["x", None, "y"], ["x", " "], "x,,y", "x, y,", "[null]")),
        *((answer, choices, "expected: the expected answer names several choices")
          for answer, choices in (
              (2, [2, 4, 6]), ("1", "1,2"), ("A", ["B", "A"]), ("x", ["x", "x"]), (1.0, [2, 3, 1]),
          )),
        *((answer, ["x", "y"], "expected: the expected answer is not the letter")
          for answer in NO_CHOICES),
        ("A", ["x"] * 27, "choices: there are more choices than letters"),
    ],
)  # fmt: skip
def test_an_answer_that_may_be_another_option_is_none(
    answer: Any, choices: Any, reason: str
) -> None:
    assert chosen(answer, choices).startswith(reason)


def table(folder: Path, **fields: Any) -> ImportedSource:
    (folder / "t.jsonl").write_text(json.dumps({"input": "?", "choices": ["x", "y"], **fields}))
    return read("inspect", folder / "t.jsonl", columns={
        "match": "match", "expected2": "more", "match2": "match2",
    })  # fmt: skip


def test_further_expectations_of_a_choice_must_hold_too(tmp_path: Path) -> None:
    source = table(tmp_path, target=1.0, match="equals", more="because", match2="contains")
    [case] = source.cases
    assert [check.kind for check in case.checks] == ["regex", "contains"]
    assert case.checks[1] == Check("contains", ("because",))
    assert source.lost == [
        "t.jsonl:1:match an answer has to name the letter of a choice: no match is read"
    ]
    [judged] = table(tmp_path, target="y", match="", more="is polite", match2="judge").cases
    assert len(judged.checks) == len(judged.criteria) == 1
    assert table(tmp_path, choices=[], target=1.0, match="", more="", match2="").lost != []
