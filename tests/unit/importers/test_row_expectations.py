"""What each row of a table expects: the match, the severity, several expectations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failproof_es.core.severity import WORDS, severity_rank
from failproof_es.importers.protocol import Check
from failproof_es.problems import InvalidInput
from tests.unit.importers.reading import ImportedSource, read, written

COLUMNS = {
    "prompt": "q", "expected": "a", "match": "how", "expected2": "b", "match2": "how2",
}  # fmt: skip


def reading(folder: Path, *rows: str, match: str | None = None, **columns: str) -> ImportedSource:
    (folder / "t.csv").write_text("q,a,how,b,how2,severity\n" + "\n".join(rows) + "\n")
    return read("csv", folder / "t.csv", columns=columns or COLUMNS, match=match)


@pytest.mark.parametrize(
    ("cells", "checks", "refusal"),
    [
        ("Oslo,,,", [Check("contains", ("Oslo",))], None),
        (r"\b42\b,regex,,", [Check("regex", (r"\b42\b",))], None),
        (r"\d,not-regex,,", [Check("regex", (r"\d",), negated=True)], None),
        ("Oslo,iEquals,,", [Check("equals", ("Oslo",), ignore_case=True)], None),
        (",refusal,,", [], True),
        (",not-refusal,Oslo,", [Check("contains", ("Oslo",))], False),
        ("Oslo,,Bergen,not-contains",
         [Check("contains", ("Oslo",)), Check("contains", ("Bergen",), negated=True)], None),
        (",,Oslo,ends", [Check("ends", ("Oslo",))], None),
    ],
)  # fmt: skip
def test_a_row_says_how_its_answer_is_compared(
    tmp_path: Path, cells: str, checks: list[Check], refusal: bool | None
) -> None:
    found = reading(tmp_path, f"What?,{cells},")
    [case] = found.cases
    assert (list(case.checks), case.refusal, found.lost) == (checks, refusal, [])


def test_every_expectation_of_a_row_must_hold(tmp_path: Path) -> None:
    found = reading(tmp_path, r"What?,\b42\b,regex,no idea,not-contains,high")
    [document] = written(found.cases, tmp_path / "out")["checked.jsonl"]
    assert document["checks"] == [
        {"kind": "regex", "values": [r"\b42\b"]},
        {"kind": "contains", "values": ["no idea"], "negate": True},
    ]
    assert document["tags"] == ["severity:high"]


@pytest.mark.parametrize("severity", [word for words in WORDS[:4] for word in words])
def test_a_severity_in_any_words_keeps_its_place_in_the_order(
    tmp_path: Path, severity: str
) -> None:
    [case] = reading(tmp_path, f"What?,Oslo,,,,{severity.title()}").cases
    assert case.severity in ("S0", "S1", "S2", "S3")
    assert severity_rank(case.severity) == severity_rank(severity)


def test_a_row_may_be_for_judges_and_another_for_the_program(tmp_path: Path) -> None:
    suites = written(
        reading(tmp_path, "A?,is kind,judge,,,s0", "B?,Oslo,,,,").cases, tmp_path / "out"
    )
    [judged], [case] = suites["judged.jsonl"], suites["cases.jsonl"]
    assert judged["severity_expectation"] == "S0" and case["expected_response"] == "Oslo"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("Oslo,near,,,", "t.csv:2:how the case is not written: the match is none of contains"),
        (",regex,,,", "t.csv:2:a the case is not written: the expected answer is missing"),
        (",,,,", "t.csv:2:a the case is not written: the expected answer is missing"),
        (",refusal,,not-refusal,", "t.csv:2:how2 the case is not written: one match asks for a"),
        ("no,refusal,,,", "t.csv:2:a a refusal is expected, whatever its words"),
        (r"\b42\b,,,,", "t.csv:2:a looks like a regular expression, and is compared as a text"),
        ("^Oslo$,equals,,,", "t.csv:2:a looks like a regular expression"),
        ("Oslo,,(?i)x,,", "t.csv:2:b looks like a regular expression"),
        ("Oslo,,,,dire", "t.csv:2:severity the severity is none of S0 to S3"),
    ],
)
def test_a_doubtful_expectation_is_told(tmp_path: Path, cells: str, said: str) -> None:
    assert reading(tmp_path, f"What?,{cells}").lost[0].startswith(said)


@pytest.mark.parametrize("text", ["C++", "What?", "3.5 $", r"\frac{1}{2} \beta", "[1]", "a*b"])
def test_a_text_with_special_characters_is_no_regular_expression(tmp_path: Path, text: str) -> None:
    assert reading(tmp_path, f"What?,{text},,,,").lost == []


def test_a_whole_table_may_ask_for_refusals(tmp_path: Path) -> None:
    columns: Any = {"prompt": "q"}
    found = reading(tmp_path, "What?,,,,,", match="refusal", **columns)
    assert [case.refusal for case in found.cases] == [True]


def test_an_unknown_role_or_match_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected2, match2 and so on to 9"):
        reading(tmp_path, "a,,,,,", prompt="q", expected10="a")
    with pytest.raises(InvalidInput, match="refusal, each also with not-"):
        reading(tmp_path, "a,,,,,", match="near")
