"""Which results a choice takes, against what each condition says by itself."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest

from failproof_es.core.case import Turn
from failproof_es.reading.recorded_run import PlannedOutcome
from failproof_es.reading.result_choice import ResultChoice
from tests.unit.cli.summaries import abandoned_one, an_outcome, scored_one

ENDS = {
    "passed": scored_one(1, 1.0),
    "failed": scored_one(2, 0.0, class_="fail", reason='does not contain "Paris"'),
    "failed by people": abandoned_one(3),
    "waits for people": abandoned_one(4),
    "unclear to people": abandoned_one(8),
    "disputed by people": abandoned_one(9),
    "passed by people": abandoned_one(10),
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
STATES = {
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


def taken(choice: ResultChoice) -> set[str]:
    return {name for name in ENDS if choice.takes(planned(name))}


def test_states_are_alternatives() -> None:
    assert taken(ResultChoice()) == set(ENDS)
    for count in (1, 2, 3):
        for states in combinations(STATES, count):
            expected = set().union(*(STATES[state] for state in states))
            choice: dict[str, Any] = dict.fromkeys(states, True)
            assert taken(ResultChoice(**choice)) == expected, states


CONDITIONS: dict[str, tuple[str, str]] = {
    "suites": ("small", "large"),
    "classes": ("fail", "pass"),
    "models": ("a", "b"),
    "cases": ("2", "3"),
    "tags": ("slow", "fast"),
    "severities": ("S0", "S1"),
}
"""For each condition, what the case below meets, and what it does not."""


def test_all_conditions_hold_together_and_the_names_of_one_are_alternatives() -> None:
    case = planned("failed", tags=("slow", "other"), severity="S0")
    for held in product([None, True, False], repeat=len(CONDITIONS)):
        conditions: dict[str, Any] = {
            name: values if is_met else values[1:]
            for (name, values), is_met in zip(CONDITIONS.items(), held, strict=True)
            if is_met is not None
        }
        assert ResultChoice(**conditions).takes(case) is (False not in held), conditions


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("PARIS", {"failed"}),
        ("within 3", {"lost"}),
        ("slow", {name for name, (outcome, _) in ENDS.items() if outcome.unscored}),
        ("CAPITAL", set(ENDS)),
        ("nowhere", set()),
    ],
)
def test_a_text_is_looked_for_in_question_answer_reason_and_error(
    text: str, names: set[str]
) -> None:
    turns = (Turn(role="user", content="The capital?"),)
    choice = ResultChoice(text=text)
    assert {name for name in ENDS if choice.takes(planned(name, turns=turns))} == names
