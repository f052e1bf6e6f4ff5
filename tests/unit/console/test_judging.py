"""What a judge said is listed item by item; a verdict of any other shape is listed as nothing."""

from __future__ import annotations

import pytest

from failproof_es.console.parts.expectations import items_of, judged_items
from failproof_es.console.texts import Quotation

EXPECTED = {
    "must_do": ["Greets."],
    "must_not_do": ["Swears."],
    "pass_criteria": ["Names no price."],
    "absences": ["pass_criteria.1"],
}
FOUND = (Quotation(judge="j", quote="Damn.", found="marked"),)


def test_each_item_says_what_it_asks_and_whether_the_verdict_speaks_for_the_model() -> None:
    verdict = {
        "items": [
            {"item": "must_do.1", "verdict": "absent", "quote": None},
            {"item": "must_not_do.1", "verdict": "present", "quote": "Damn."},
            {"item": "pass_criteria.1", "verdict": "met", "quote": " "},
            {"item": "must_do.9", "verdict": "present", "quote": "never said"},
            {"item": "must_do.1", "verdict": "perhaps"},
            {"item": "must_do.1", "verdict": None, "void": "not answered"},
        ]
    }
    told = judged_items(verdict, items_of(EXPECTED), FOUND)
    assert [(each.asks, each.verdict, each.favourable, each.found) for each in told] == [
        ("Greets.", "did not happen", False, None),
        ("Swears.", "happened", False, "marked"),
        ("Names no price.", "happened", True, None),
        (None, "happened", None, "not found"),
        ("Greets.", "perhaps", None, None),
        ("Greets.", "no verdict", None, None),
    ]
    assert [each.void for each in told] == [None] * 5 + ["not answered"]


@pytest.mark.parametrize(
    "verdict", [None, "x", [], {}, {"items": None}, {"items": {}}, {"items": [1]},
                {"items": [{"item": 1}]}, {"items": [{"verdict": "met"}]}],
)  # fmt: skip
def test_a_verdict_of_another_shape_lists_nothing(verdict: object) -> None:
    assert judged_items(verdict, items_of(EXPECTED), FOUND) == ()


def test_what_is_long_or_much_is_cut() -> None:
    verdict = {"items": [{"item": "x" * 9_000, "verdict": "y" * 9_000}] * 5_000}
    told = judged_items(verdict, {}, ())
    assert len(told) == 200 and len(told[0].item) == len(told[0].verdict) == 600


@pytest.mark.parametrize("expectation", [{}, {"must_do": "text"}, {"must_do": {"a": 1}}])
def test_an_expectation_that_is_no_checklist_has_no_items(expectation: dict[str, object]) -> None:
    assert items_of(expectation) == {}
