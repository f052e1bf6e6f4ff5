"""Reviews in a spreadsheet: no cell is a formula, and what comes back is what was meant."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from failproof_es.cli.reviewing.answers import (
    InvalidAnswer,
    item_verdict,
    name,
    overall_verdict,
    severity,
    tags,
    valid,
)
from failproof_es.cli.reviewing.sheet import opinions, read_sheet
from failproof_es.cli.reviewing.sheet import sheet as written_sheet
from failproof_es.core.evaluation import Evaluation, Score
from failproof_es.dialects.kit.judging import checklist
from failproof_es.dialects.shipped.redteam import RedTeam
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.engine.reviews.people import ReviewedEvaluation, ReviewInput
from failproof_es.events import ItemVerdict, ReviewedItem
from failproof_es.events.line import describe_verdict
from failproof_es.problems import Problems
from failproof_es.support.spreadsheet import escaped, unescaped
from tests.every import every
from tests.unit.engine.test_review_comparison import CASE, KEY, review

FILE = Path("r.csv")
ONE = UUID(int=1)
HEADING = "evaluation_id,item,verdict,severity,tags,notes\n"
SCORED = Evaluation(score=Score({"accuracy": 1.0}, "reason", "s", "1", passed=True))
KNOWN = {ONE: ("must_do.1",)}


@given(st.text())
def test_an_escaped_cell_is_no_formula_and_comes_back(cell: str) -> None:
    assert escaped(cell).lstrip()[:1] not in tuple("=+-@＝＋－＠")
    assert unescaped(escaped(cell)) == cell


@every("cell", ["=1", " +1", "\t-1", "\n@a", "＝1", "'", "''=", "'=1"])
def test_what_begins_like_a_formula_stands_behind_an_apostrophe(cell: str) -> None:
    assert escaped(cell) == f"'{cell}"


def read(content: bytes) -> tuple[dict[UUID, ReviewInput], list[str]]:
    problems = Problems()
    given_opinions = opinions(read_sheet(FILE, content, problems), KNOWN)
    return given_opinions, [str(problem) for problem in problems.errors]


def sheet(*rows: str, heading: str = HEADING) -> bytes:
    return (heading + "\r\n".join(rows)).encode()


texts = st.text(st.characters(exclude_categories=["Cs"])).map(str.strip)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=",")).map(str.strip)


@given(texts, st.lists(words.filter(bool), unique=True, max_size=3), st.booleans())
def test_what_was_said_comes_back_from_a_spreadsheet_to_the_letter(
    notes: str, tagged: list[str], unblind: bool
) -> None:
    given_items = (ReviewedItem(item="must_do.1", verdict="met"),)
    opinion = ReviewInput("fail", given_items, "S2", tuple(tagged), notes)
    state = Evaluation(
        score=Score({"accuracy": 1.0, "must_do.1": 1.0}, "=reason", "s", "1", passed=True)
    )
    recorded = RecordedEvaluation(KEY, CASE, ())
    evaluation = ReviewedEvaluation(recorded, state, [review("jane", opinion)])
    content = b"".join(
        written_sheet([evaluation], RedTeam(), "jane", templates={}, unblind=unblind)
    )
    problems = Problems()
    read_back = read_sheet(FILE, content, problems)
    known = {KEY.evaluation_id: [item.key for item in checklist(CASE.expectation)]}
    assert opinions(read_back, known) == {KEY.evaluation_id: opinion}
    assert not problems.errors and read_back.shows_engine is unblind


def test_rows_without_a_verdict_are_not_reviewed() -> None:
    assert read(sheet(f"{ONE},overall,,,,", f"{ONE},must_do.1,,,,", ",,,,,")) == ({}, [])


def test_a_file_from_where_the_comma_is_a_decimal_sign_is_read() -> None:
    found, problems = read(sheet(f"{ONE},overall,pass,,a,b").replace(b",", b";"))
    assert (found, problems) == ({ONE: ReviewInput("pass", (), None, ("a",), "b")}, [])


def test_a_file_that_shows_the_engines_verdict_is_told_apart() -> None:
    problems = Problems()
    assert not read_sheet(FILE, sheet(), problems).shows_engine
    unblinded = sheet(heading=HEADING.replace("\n", ",engine\n"))
    assert read_sheet(FILE, unblinded, problems).shows_engine
    assert not problems.errors


def test_every_row_names_its_sheet_and_the_verdicts_that_it_takes() -> None:
    evaluation = ReviewedEvaluation(RecordedEvaluation(KEY, CASE, ()), SCORED, [])
    pieces = written_sheet(
        [evaluation], RedTeam(), "jane", templates={}, unblind=False, sheet_id="sheet-1"
    )
    content = b"".join(pieces)
    rows = read_sheet(FILE, content, Problems()).rows[KEY.evaluation_id]
    assert [(row["item"], row["choices"], row["sheet"]) for row in rows] == [
        ("overall", "pass, fail, unclear", "sheet-1"),
        ("must_do.1", "happened, did not happen", "sheet-1"),
        ("must_not_do.1", "happened, did not happen", "sheet-1"),
    ]


@every("item", ["must_do.1", "must_not_do.1", "pass_criteria.1"])
@every("verdict", ["met", "not_met", "happened", "did_not_happen"])
def test_an_item_of_any_kind_happened_or_did_not(item: str, verdict: ItemVerdict) -> None:
    forbidden, said = item == "must_not_do.1", "happen" in verdict
    if forbidden and not said:
        with pytest.raises(InvalidAnswer):
            item_verdict(item, verdict)
    else:
        recorded = ReviewedItem(item=item, verdict=item_verdict(item, verdict)).verdict
        assert (recorded in ("met", "happened")) is (verdict in ("met", "happened"))
        assert describe_verdict(recorded) == describe_verdict(verdict)
    if forbidden is not said:
        with pytest.raises(ValidationError):
            ReviewedItem(item=item, verdict=verdict)


@every(
    ("content", "place", "code"),
    [
        (b"\xff\xfe", "1", "not-utf8"),
        (b"", "1: evaluation_id", "missing-column"),
        (b"evaluation_id,item,verdict,severity,tags\n", "1: notes", "missing-column"),
        (HEADING.replace("notes", "notes,severty").encode(), "1: severty", "unknown-column"),
        (HEADING.replace("notes", "notes,notes").encode(), "1: notes", "duplicate-column"),
        (sheet(f'{ONE},overall,pass,,,"open'), "2", "not-csv"),
        (sheet(f"{ONE},overall,,,,,,"), "2", "wrong-cell-count"),
        (sheet("x,overall,pass,,,"), "2: evaluation_id of overall", "invalid-id"),
        (sheet(f"{ONE},must_do.1,met,,,"), "2: verdict of must_do.1", "missing-verdict"),
        (sheet(f"{ONE},must_do.2,met,,,"), "2: item of must_do.2", "unknown-name"),
        (sheet(f"{ONE},must_do.1,met,S1,,"), "2: severity of must_do.1", "misplaced-field"),
        (sheet(f"{ONE},overall,,S1,,"), "2: verdict of overall", "invalid-value"),
        (
            sheet(f"{ONE},overall,pass,,,", f"{ONE},overall,fail,,,"),
            "3: item of overall",
            "duplicate-value",
        ),
        (
            sheet(f"{ONE},must_do.1,not met,,,", f"{ONE},overall,pass,,,"),
            "3: verdict of overall",
            "contradictory-verdict",
        ),
        (
            sheet(f"{UUID(int=2)},overall,pass,,,"),
            "2: evaluation_id of overall",
            "unknown-evaluation",
        ),
        (
            sheet(f"{ONE},must_do.1,no,,,,RT-1", heading=HEADING.replace("notes", "notes,case")),
            "2: verdict of RT-1, must_do.1",
            "invalid-value",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(content: bytes, place: str, code: str) -> None:
    found, problems = read(content)
    assert found == {}
    assert any(
        problem.startswith(f"r.csv:{place}: ") and problem.endswith(f" [{code}]")
        for problem in problems
    ), problems


def test_answers_may_be_shortened_as_long_as_they_mean_one_thing() -> None:
    texts = ("H", "did not", "Did_Not_Happen", "not met", "met")
    assert [item_verdict("must_do.1", text) for text in texts] == [
        "met", "not_met", "not_met", "not_met", "met",
    ]  # fmt: skip
    assert (overall_verdict(" FAIL "), overall_verdict("u")) == ("fail", "unclear")
    assert (severity(""), severity("none"), severity("s2")) == (None, None, "S2")
    assert tags(" a, b,,a ") == ("a", "b")
    for wrong in ("", "x", "metal"):
        with pytest.raises(InvalidAnswer):
            item_verdict("must_do.1", wrong)
    for ambiguous in ("s", "S"):
        with pytest.raises(InvalidAnswer):
            severity(ambiguous)


@every("wrong", ["", " ", "a\nb", "\x1b", "\u202e", "x" * 201, "\udc80"])
def test_a_name_shows_what_it_holds(wrong: str) -> None:
    with pytest.raises(InvalidAnswer):
        name(wrong)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InvalidAnswer):
        valid("\udcff")
