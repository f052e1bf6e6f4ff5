"""The rates as CSV: what was counted, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import pytest

from failproof_es.report.data.content import GroupRate
from failproof_es.report.formats.json_csv import csv_pieces
from failproof_es.support.statistics import rate
from tests.unit.report.test_page import empty_report


def rows(*groups: GroupRate) -> list[dict[str, str]]:
    written = b"".join(csv_pieces(replace(empty_report(), groups=groups))).decode()
    return list(csv.DictReader(StringIO(written, newline="")))


def test_a_rate_is_a_row_with_its_counts_and_its_interval() -> None:
    found = rate([False] * 30)
    (row,) = rows(GroupRate("suite", "s", "m", found))
    assert (row["passed"], row["total"], row["clusters"]) == ("0", "30", "30")
    assert float(row["high"]) == pytest.approx(0.1135, abs=5e-4)
    assert row["method"] == "Wilson"


def test_what_was_not_counted_is_empty_and_not_zero() -> None:
    (row,) = rows(GroupRate("tag", "t", "m", rate([])))
    assert (row["rate"], row["low"], row["high"], row["method"]) == ("", "", "", "")


@pytest.mark.parametrize(
    "name", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", "＝1+1"]
)
def test_a_name_that_is_a_formula_stays_text(name: str) -> None:
    (row,) = rows(GroupRate("category", name, name, rate([True])))
    assert row["name"] == row["model"] == f"'{name}"


def test_a_name_with_commas_quotes_and_lines_is_one_cell() -> None:
    name = 'a,"b"\nc'
    (row,) = rows(GroupRate("category", name, "m", rate([True])))
    assert row["name"] == name
