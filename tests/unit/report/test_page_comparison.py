"""How two and more series are shown side by side."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from failproof_es.report.charts import plots as charts
from failproof_es.report.data.content import Comparison, Funnel, Report
from failproof_es.report.page.blocks import Collapsible, Figure, Heading, Paragraph, Table
from failproof_es.report.page.comparison import MOST_PAIRS_DRAWN, comparison
from failproof_es.support.statistics import Paired, compare_outcomes, compare_scores
from tests.unit.report.test_page import empty_report

PAIRED = compare_outcomes([(True, False)] * 9 + [(False, True)] * 2 + [(True, True)] * 29)


def compared(one: str, other: str, what: str = "pass rate", paired: Paired = PAIRED) -> Comparison:
    return Comparison(one, other, what, paired, 0.004, ("c1", "c2"), ("c3",))


def of(*comparisons: Comparison, series: str = "ab") -> Report:
    funnels = tuple(Funnel(name, 1, 1, 1, 1, None, 1, ()) for name in series)
    return replace(empty_report(), comparisons=comparisons, funnels=funnels)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the rows of each forest that is drawn."""
    found: list[list[str]] = []

    def forest(rows: list[charts.PlottedDifference], *, label: str, axis: str) -> str:
        found.append([row.name for row in rows])
        return ""

    monkeypatch.setattr(charts, "difference_forest", forest)
    return found


def test_two_are_shown_by_category_under_their_names(drawn: list[list[str]]) -> None:
    scores = compared("a", "b", "items", compare_scores([0.5, 0.1, 0.2, -0.1]))
    blocks = list(
        comparison(of(compared("a", "b"), compared("a", "b", "pass rate in X | Y"), scores))
    )
    assert drawn == [["all cases", "X | Y"]]
    (heading,) = [block.text for block in blocks if isinstance(block, Heading)]
    assert heading == "a (first) and b (second)"
    rates, scores_table = [block for block in blocks if isinstance(block, Table)]
    assert rates.rows[0][:5] == ("all cases", "40", "9", "2", "+17.5 points")
    assert scores_table.rows[0][:3] == ("items", "4", "+0.175")


def test_no_difference_has_no_sign_and_no_smallest_effect(drawn: list[list[str]]) -> None:
    (table,) = [
        block
        for block in comparison(of(compared("a", "b", paired=compare_outcomes([(True, True)] * 9))))
        if isinstance(block, Table)
    ]
    assert table.rows[0][4] == "0.0 points"
    assert "smallest effect" not in [column.heading for column in table.columns]


def test_the_cases_that_just_one_passed_stand_under_its_name(drawn: list[list[str]]) -> None:
    folds = [
        block for block in comparison(of(compared("a", "b"))) if isinstance(block, Collapsible)
    ]
    assert [fold.summary for fold in folds] == [
        "Passed by a alone: 2 cases",
        "Passed by b alone: 1 case",
    ]
    assert folds[0].blocks == (Paragraph("c1, c2"),)


def test_of_three_every_two_stand_together_and_the_details_of_each_are_closed(
    drawn: list[list[str]],
) -> None:
    pairs = [compared(*pair) for pair in combinations("abc", 2)]
    blocks = list(comparison(of(*pairs, series="abc")))
    assert drawn == [["a − b", "a − c", "b − c"]]
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert [row[0] for row in table.rows] == drawn[0]
    assert [block.summary for block in blocks if isinstance(block, Collapsible)] == [
        "a (first) and b (second)",
        "a (first) and c (second)",
        "b (first) and c (second)",
    ]


def test_of_many_only_all_together_are_drawn(drawn: list[list[str]]) -> None:
    pairs = [compared(*pair) for pair in combinations("abcdef", 2)]
    assert len(pairs) > MOST_PAIRS_DRAWN
    blocks = list(comparison(of(*pairs, series="abcdef")))
    assert len(drawn) == 1 and len(drawn[0]) == len(pairs)
    assert sum(isinstance(block, Collapsible) for block in blocks) == len(pairs)
    assert sum(isinstance(block, Figure) for block in blocks) == 1


def test_why_there_is_nothing_to_compare_is_said() -> None:
    assert list(comparison(of(series="a"))) == []
    (two,) = comparison(of(series="ab"))
    assert isinstance(two, Paragraph) and "No case was scored for two models" in two.text


def test_categories_of_few_pairs_are_closed(drawn: list[list[str]]) -> None:
    few = compare_outcomes([(True, False)] * 2)
    report = of(compared("a", "b"), compared("a", "b", "pass rate in X", few))
    rows = [
        (type(block).__name__, table.rows[0][0])
        for block in comparison(report)
        if isinstance(block, Table | Collapsible)
        for table in (getattr(block, "blocks", (block,))[0],)
        if isinstance(table, Table)
    ]
    assert rows == [("Table", "all cases"), ("Collapsible", "X")]
    assert drawn == []
