"""Each gate at its limit and on either side of it; what was not measured is never met."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from failproof_es.case import Case
from failproof_es.configuration.schema import Gates
from failproof_es.evaluation import Evaluation, Score
from failproof_es.events import EvaluationAbandoned
from failproof_es.gates import Change, Spent, judge_gates, told
from failproof_es.tally import Tally
from tests.unit.histories import History


def a_case(suite: str = "s", severity: str | None = None, category: str | None = None) -> Case:
    return Case(
        dialect="plain", case_id="c", suite_id=suite, turns=(), severity=severity, category=category
    )


def scored(accuracy: float | None) -> Evaluation:
    scores = {} if accuracy is None else {"accuracy": accuracy}
    return Evaluation(score=Score(scores, "said so", "scorer", "1"))


def abandoned() -> Evaluation:
    event = History().abandoned().events[-1]
    assert isinstance(event, EvaluationAbandoned)
    return Evaluation(abandoned=event)


def tally(*finished: tuple[Case, Evaluation], planned: int | None = None) -> Tally:
    counted = Tally(len(finished) if planned is None else planned)
    for case, evaluation in finished:
        counted.add(evaluation, case)
    return counted


def only(gates: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (gate,) = gates.values()
    return gate


def test_while_people_are_awaited_no_gate_on_scores_is_met_and_nothing_counts_as_an_error() -> None:
    ended = History().abandoned().events[-1].model_copy(update={"kind": "awaiting_review"})
    assert isinstance(ended, EvaluationAbandoned)
    awaited = Evaluation(abandoned=ended)
    limits = Gates(
        min_accuracy=0.0,
        min_accuracy_by_suite={"s": 0.0},
        min_csr=0.0,
        min_safety_accuracy=0.0,
        no_failures_at=["S1"],
        no_regression_against=1,
        max_error_rate=0.0,
    )
    case = a_case(severity="S1", category="safety")
    better = change(0.5, (0.1, 0.9))
    gates = judge_gates(limits, tally((case, scored(1.0)), (case, awaited)), changes=[better])
    assert gates.pop("max_error_rate")["met"] is True
    assert {name: gate["met"] for name, gate in gates.items()} == dict.fromkeys(gates, False)
    whys = {gate["why"] for gate in gates.values()}
    assert whys == {"1 of 2 await review", "1 of 2 have no score"}


def test_without_gates_nothing_is_judged() -> None:
    assert judge_gates(Gates(), tally((a_case(), scored(0.0)))) == {}


@pytest.mark.parametrize(("limit", "met"), [(0.5, True), (0.51, False)])
def test_accuracy_is_of_what_was_scored(limit: float, met: bool) -> None:
    counted = tally(
        (a_case(), scored(1.0)),
        (a_case(), scored(0.0)),
        (a_case(), scored(None)),
        (a_case(), abandoned()),
    )
    gate = only(judge_gates(Gates(min_accuracy=limit), counted))
    assert gate == {"limit": limit, "measured": 0.5, "of": 2, "met": met}


def test_each_suite_is_held_to_its_own_limit_and_one_that_never_ran_is_not_met() -> None:
    counted = tally((a_case("easy"), scored(1.0)), (a_case("hard"), scored(0.0)))
    limits = Gates(min_accuracy_by_suite={"easy": 1.0, "hard": 0.1, "misspelt": 0.0})
    judged = judge_gates(limits, counted)
    assert {name: gate["met"] for name, gate in judged.items()} == {
        "min_accuracy_by_suite.easy": True,
        "min_accuracy_by_suite.hard": False,
        "min_accuracy_by_suite.misspelt": False,
    }
    assert judged["min_accuracy_by_suite.misspelt"]["measured"] is None
    assert judged["min_accuracy_by_suite.misspelt"]["why"] == "nothing that it is about was scored"


def test_a_suite_of_which_nothing_was_scored_is_not_met() -> None:
    counted = tally((a_case("down"), abandoned()), (a_case("up"), scored(1.0)))
    gate = only(judge_gates(Gates(min_accuracy_by_suite={"down": 0.0}), counted))
    assert (gate["measured"], gate["of"], gate["met"]) == (None, 0, False)


@pytest.mark.parametrize(("limit", "met"), [(0.25, True), (0.24, False)])
def test_errors_are_counted_of_what_was_planned(limit: float, met: bool) -> None:
    counted = tally((a_case(), scored(1.0)), (a_case(), abandoned()), planned=4)
    gate = only(judge_gates(Gates(max_error_rate=limit), counted))
    assert gate == {"limit": limit, "measured": 0.25, "of": 4, "met": met}


@pytest.mark.parametrize(
    "limits",
    [
        Gates(min_accuracy=0.0),
        Gates(min_accuracy_by_suite={"s": 0.0}),
        Gates(max_error_rate=1.0),
        Gates(no_failures_at=["S3"]),
        Gates(min_csr=0.0),
        Gates(min_safety_accuracy=0.0),
        Gates(min_posix_compliance_rate=0.0),
        Gates(max_cost_usd=9.0),
    ],
)
def test_of_nothing_no_limit_is_met_however_low(limits: Gates) -> None:
    gate = only(judge_gates(limits, tally()))
    assert (gate["measured"], gate["met"]) == (None, False)
    assert gate["why"]


def failures(severities: Sequence[str], *finished: tuple[Case, Evaluation]) -> dict[str, Any]:
    limits = Gates.model_validate({"no_failures_at": list(severities)})
    return only(judge_gates(limits, tally(*finished)))


def test_a_failure_at_a_named_severity_is_one_too_many() -> None:
    passed, failed = (a_case(severity="S0"), scored(1.0)), (a_case(severity="S1"), scored(0.0))
    elsewhere = (a_case(severity="S2"), scored(0.0))
    gate = failures(["S0", "S1"], passed, failed, elsewhere)
    assert (gate["measured"], gate["of"], gate["met"]) == (1, 2, False)
    assert failures(["S0"], passed, failed, elsewhere)["met"] is True


@pytest.mark.parametrize("evaluation", [abandoned(), scored(None)])
def test_what_has_no_score_has_not_shown_that_it_is_no_failure(evaluation: Evaluation) -> None:
    gate = failures(["S0"], (a_case(severity="S0"), evaluation), (a_case(severity="S0"), scored(1)))
    assert gate["met"] is False and gate["unscored"] == 1
    assert gate["why"] == "1 of 2 have no score"


def test_a_failure_does_not_hide_how_many_have_no_score() -> None:
    gate = failures(
        ["S0"], (a_case(severity="S0"), abandoned()), (a_case(severity="S0"), scored(0))
    )
    assert (gate["measured"], gate["of"], gate["met"]) == (1, 2, False)
    assert gate["why"] == "1 of 2 have no score"


def test_no_case_of_a_severity_is_no_proof() -> None:
    gate = failures(["S0"], (a_case(), scored(1.0)))
    assert gate["met"] is False and gate["measured"] is None


@pytest.mark.parametrize(
    ("cost", "met"), [(Decimal("0.3"), True), (Decimal("0.30000001"), False), (Decimal(0), True)]
)
def test_what_it_took_is_compared_to_the_cent_and_beyond(cost: Decimal, met: bool) -> None:
    judged = judge_gates(Gates(max_cost_usd=0.3), tally(), spent=Spent(cost))
    assert only(judged)["met"] is met


def test_an_unknown_cost_is_not_met_and_named() -> None:
    judged = judge_gates(Gates(max_cost_usd=9.0), tally(), spent=Spent(None, ("mystery",)))
    gate = only(judged)
    assert gate["met"] is False and gate["measured"] is None and "mystery" in gate["why"]


def change(difference: float, interval: tuple[float, float] | None, pairs: int = 40) -> Change:
    return Change("m", pairs, pairs, 0, difference, interval)


@pytest.mark.parametrize(
    ("found", "met"),
    [
        (change(-0.1, (-0.2, -0.01)), False),
        (change(-0.1, (-0.3, 0.1)), True),
        (change(-0.1, (-0.2, 0.0)), True),
        (change(0.2, (0.1, 0.3)), True),
        (change(0.0, None), True),
        (change(-1.0, None), False),
        (change(0.0, None, pairs=0), False),
    ],
)
def test_worse_is_where_the_whole_interval_lies_below_zero(found: Change, met: bool) -> None:
    judged = judge_gates(Gates(no_regression_against=3), tally(), changes=[found])
    assert judged["no_regression_against.m"]["met"] is met


def test_what_could_not_be_compared_is_counted_though_the_gate_is_met() -> None:
    found = Change("m", 1, 1, 399, 0.0, None)
    judged = judge_gates(Gates(no_regression_against=3), tally(), changes=[found])
    assert "399 evaluations" in only(judged)["why"]


def test_one_model_that_is_worse_is_not_hidden_by_another_that_is_better() -> None:
    changes = [
        Change("better", 40, 40, 0, 0.5, (0.4, 0.6)),
        Change("worse", 40, 40, 0, -0.5, (-0.6, -0.4)),
    ]
    judged = judge_gates(Gates(no_regression_against="id"), tally(), changes=changes)
    assert [gate["met"] for gate in judged.values()] == [True, False]


@pytest.mark.parametrize(
    ("gate", "phrase"),
    [
        ({"limit": 0.9, "measured": 15 / 16, "of": 1240}, "g 0.9: measured 0.9375 over 1,240"),
        ({"limit": ["S0", "S1"], "measured": 3, "of": 31}, "g S0, S1: measured 3 of 31"),
        ({"limit": 5, "measured": None, "of": 9, "why": "x"}, "g 5: nothing measured (x)"),
        (
            {"limit": 41, "measured": -0.5, "of": 4, "interval": [-1.0, 0.25]},
            "g 41: measured -0.5 over 4, interval -1 to 0.25",
        ),
    ],
)
def test_a_gate_is_told_in_one_phrase(gate: dict[str, Any], phrase: str) -> None:
    assert told("g", gate) == phrase


@pytest.mark.parametrize(
    "gates",
    [
        {"no_failures_at": ["S9"]},
        {"no_failures_at": []},
        {"min_accuracy_by_suite": {"s": 1.5}},
        {"max_cost_usd": -1.0},
        {"max_cost_usd": float("nan")},
        {"no_regression_against": 0},
        {"no_regression_against": True},
    ],
)
def test_a_limit_that_means_nothing_is_refused(gates: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Gates.model_validate(gates)
