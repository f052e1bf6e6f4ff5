"""What the page of a run says of its gates in a word."""

from __future__ import annotations

from typing import Any

import pytest

from failproof_es.console.parts.run import RunPage

BY_PEOPLE = {"gates": {"by": "people"}}
NONE_ON_RESULTS = "1 of 1 met, none on pass rates or severities"


@pytest.mark.parametrize(
    ("name", "met", "configuration", "judged"),
    [
        ("min_accuracy.m", True, {}, ("good", "1 of 1 met")),
        ("min_accuracy.m", False, {}, ("bad", "0 of 1 met")),
        ("max_cost_usd", True, {}, ("plain", NONE_ON_RESULTS)),
        ("max_cost_usd", True, {"gates": None}, ("plain", NONE_ON_RESULTS)),
        ("max_cost_usd", True, BY_PEOPLE, ("plain", "1 of 1 met")),
        ("min_accuracy.m", True, BY_PEOPLE, ("good", "1 of 1 met")),
    ],
)
def test_gates_are_good_only_if_all_are_met_and_one_is_on_results(
    name: str, met: bool, configuration: dict[str, Any], judged: tuple[str, str]
) -> None:
    gate = {"met": met, "limit": 0.5, "measured": 0.4}
    fields: dict[str, Any] = {"gates": {name: gate}, "configuration": configuration}
    assert RunPage.model_construct(**fields).gates_judged == judged
