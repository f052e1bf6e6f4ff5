"""Which results conditions take, against what each of them says by itself."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any
from unittest.mock import Mock

import pytest

from failproof_es.core.case import Turn
from failproof_es.reading.condition_names import unknown_names
from failproof_es.reading.overviews.facets import FacetValue, _order_values
from failproof_es.reading.recorded_run import PlannedOutcome
from failproof_es.reading.result_conditions import (
    ERRORS,
    FAILED,
    LATENCIES,
    PROPERTIES,
    STATUSES,
    UNKNOWN,
    UNSCORED,
    Conditions,
)
from tests.unit.cli.summaries import abandoned_one, an_outcome, scored_one

ENDS = {
    "passed": scored_one(1, 1.0),
    "failed": scored_one(2, 0.0, class_="fail", reason='does not contain "Paris"'),
    "failed by people": abandoned_one(3, unscored_as="awaiting_people"),
    "waits for people": abandoned_one(4, unscored_as="awaiting_people"),
    "unclear to people": abandoned_one(8, unscored_as="awaiting_people"),
    "disputed by people": abandoned_one(9, unscored_as="awaiting_people"),
    "passed by people": abandoned_one(10, unscored_as="awaiting_people"),
    "lost": abandoned_one(5, unscored_as="no_answer", error_message="no answer within 3 s"),
    "without a score": abandoned_one(6),
    "under way": an_outcome(7),
}
PEOPLE: dict[str, Any] = {
    "failed by people": "fail",
    "waits for people": "awaiting",
    "unclear to people": "unclear",
    "disputed by people": "disputed",
    "passed by people": "pass",
}
GROUPS = {"failed": FAILED, "errors": ERRORS, "unscored": UNSCORED}
TAKEN = {
    "failed": {"failed", "failed by people"},
    "errors": {"lost"},
    "unscored": {
        *("waits for people", "unclear to people", "disputed by people"),
        *("lost", "without a score"),
    },
}


def planned(name: str, **changes: Any) -> PlannedOutcome:
    outcome, case = ENDS[name]
    return PlannedOutcome(1, case.model_copy(update=changes), outcome, PEOPLE.get(name))


def taken(conditions: Conditions) -> set[str]:
    return {name for name in ENDS if conditions.take(planned(name))}


def test_statuses_are_alternatives() -> None:
    assert taken(Conditions()) == set(ENDS)
    for count in (1, 2, 3):
        for groups in combinations(GROUPS, count):
            expected = set().union(*(TAKEN[group] for group in groups))
            statuses = tuple(status for group in groups for status in GROUPS[group])
            assert taken(Conditions({"status": statuses})) == expected, groups


def test_every_result_has_one_state_or_one_decision_of_people() -> None:
    for name in ENDS:
        statuses = {
            status
            for status in STATUSES
            if status not in ("abandoned", "awaiting")
            and Conditions({"status": (status,)}).take(planned(name))
        }
        assert len(statuses) == 1, (name, statuses)


def test_a_number_is_chosen_by_the_name_of_its_range() -> None:
    latency = PROPERTIES["latency"]
    for number, name in ((None, UNKNOWN), (0, "0-500"), (499.9, "0-500"), (500, "500-2000"),
                         (10_000, "10000-"), (10**9, "10000-")):  # fmt: skip
        outcome, case = scored_one(1, 1.0, latency_ms=number)
        assert latency.text_of(PlannedOutcome(1, case, outcome)) == name
    assert latency.ranges == LATENCIES


CONDITIONS: dict[str, tuple[str, str]] = {
    "suite": ("small", "large"),
    "class_": ("fail", "pass"),
    "model": ("a", "b"),
    "case": ("2", "3"),
    "tag": ("slow", "fast"),
    "severity": ("S0", "S1"),
}
"""For each condition, what the case below meets, and what it does not."""


def test_all_conditions_hold_together_and_the_names_of_one_are_alternatives() -> None:
    case = planned("failed", tags=("slow", "other"), severity="S0")
    for held in product([None, True, False], repeat=len(CONDITIONS)):
        conditions = {
            name: values if is_met else values[1:]
            for (name, values), is_met in zip(CONDITIONS.items(), held, strict=True)
            if is_met is not None
        }
        assert Conditions(conditions).take(case) is (False not in held), conditions


def test_a_severity_is_chosen_by_each_of_its_words_and_of_a_tag() -> None:
    tagged = planned("failed", tags=("severity:critical",))
    run: Any = Mock(cases=lambda: [tagged.case], started=Mock(models=()))
    for name, is_chosen in (("S0", True), ("Blocker", True), ("high", False), ("x", False)):
        choice = Conditions({"severity": (name,)})
        assert choice.take(tagged) is is_chosen
        assert bool(list(unknown_names(run, choice))) is not is_chosen


def test_words_of_one_severity_are_one_value_to_choose_by() -> None:
    counts = {"critical": 3, "S0": 2, "odd": 1, "Odd": 4, None: 5}
    others = [FacetValue("Odd", 4), FacetValue("odd", 1)]
    assert [*_order_values("severity", counts, None)] == [
        *(FacetValue("critical", 5), FacetValue(None, 5)), *others
    ]  # fmt: skip
    for choice in ("S0", "blocker"):
        values = _order_values("severity", {"blocker": 0, **counts}, choice)
        assert [*values] == [FacetValue(choice, 5), FacetValue(None, 5), *others]


def test_a_case_is_chosen_by_its_id_alone_or_with_its_suite() -> None:
    case = planned("failed", case_id="a/b")
    for name, is_chosen in (("a/b", True), ("small/a/b", True), ("b", False), ("large/a/b", False)):
        assert Conditions({"case": (name,)}).take(case) is is_chosen, name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("PARIS", {"failed"}),
        ("within 3", {"lost"}),
        ("slow", {name for name, (outcome, _) in ENDS.items() if outcome.unscored}),
        ("CAPITAL", set(ENDS)),
        ("geography", set(ENDS)),
        ("refund pol", set(ENDS)),
        ("nowhere", set()),
    ],
)
def test_a_text_is_looked_for_in_description_question_tags_answer_reason_and_error(
    text: str, names: set[str]
) -> None:
    turns = (Turn(role="user", content="The capital?"),)
    document = {"description": "Geography of Europe", "title": 3}
    conditions = Conditions(text=text)
    case = {"turns": turns, "document": document, "tags": ("Refund policy",)}
    results = {name: planned(name, **case) for name in ENDS}
    assert {name for name, result in results.items() if conditions.take(result)} == names
