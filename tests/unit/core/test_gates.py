"""Each gate at its limit and on either side of it; what was not measured is never met."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from failproof_es.configuration.gates_section import Gates, GateSubject
from failproof_es.core.case import Case
from failproof_es.core.costs import Spent
from failproof_es.core.evaluation import fold
from failproof_es.core.outcome import EvaluationOutcome, outcome_of
from failproof_es.core.pairing import Unpaired
from failproof_es.core.summary import GroupKey, RunSummary
from failproof_es.core.tally import Group
from failproof_es.core.unscored import unscored_group
from failproof_es.gate_words import describe_gate, unmet_gates
from failproof_es.gates import (
    AccuracyBounds,
    Change,
    RetryBias,
    judge_gates,
    limits_at_the_end,
    limits_by_people,
)
from tests.every import every
from tests.unit.histories import KEY, History
from tests.unit.summaries import abandoned_outcome, scored_outcome, summary_of, that_took


def a_case(
    suite: str = "s", severity: str | None = None, category: str | None = None, tag: str = "t"
) -> Case:
    return Case(
        dialect="plain", case_id="c", suite_id=suite, turns=(), severity=severity,
        category=category, tags=(tag,),
    )  # fmt: skip


Finished = tuple[Case, EvaluationOutcome]
scored, abandoned = scored_outcome, abandoned_outcome


def tally(*finished: Finished, planned: int | None = None) -> RunSummary:
    return summary_of({"m": finished}, planned=planned)


def tallies(**models: Sequence[Finished]) -> RunSummary:
    return summary_of(models)


ALL: dict[str, Any] = {"max_unscored_rate": None}
"""All may be unscored."""


def only(gates: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (gate,) = gates.values()
    return gate


def test_while_people_are_awaited_no_gate_on_scores_is_met_and_nothing_counts_as_an_error() -> None:
    awaited = abandoned(awaiting=True)
    limits = Gates(
        min_accuracy=0.0,
        min_accuracy_by_suite={"s": 0.0},
        min_csr=0.0,
        min_safety_accuracy=0.0,
        no_failures_at=["S1"],
        no_regression_against=1,
        max_unscored_rate=0.0,
    )
    case = a_case(severity="S1", category="safety")
    better = change(0.5, (0.1, 0.9))
    gates = judge_gates(limits, tally((case, scored(1.0)), (case, awaited)), changes=[better])
    assert gates.pop("max_unscored_rate")["met"] is True
    assert {name: gate["met"] for name, gate in gates.items()} == dict.fromkeys(gates, False)
    whys = {gate["why"] for gate in gates.values()}
    assert whys == {"1 of 2 await review", "1 of 2 have no score"}


def test_without_gates_nothing_is_judged() -> None:
    assert judge_gates(Gates(), tally((a_case(), scored(0.0)))) == {}


@every(("limit", "met"), [(0.5, True), (0.51, False)])
def test_accuracy_is_of_what_was_scored(limit: float, met: bool) -> None:
    counted = tally(
        (a_case(), scored(1.0)),
        (a_case(), scored(0.0)),
        (a_case(), scored(None)),
        (a_case(), abandoned()),
    )
    gate = judge_gates(Gates(min_accuracy=limit), counted)["min_accuracy"]
    assert gate == {"limit": limit, "measured": 0.5, "of": 2, "met": met, "model": "m"}


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
    why = judged["min_accuracy_by_suite.misspelt"]["why"]
    assert why == "no evaluation of this gate was scored"


def test_a_suite_of_which_nothing_was_scored_is_not_met() -> None:
    counted = tally((a_case("down"), abandoned()), (a_case("up"), scored(1.0)))
    gate = only(judge_gates(Gates(min_accuracy_by_suite={"down": 0.0}, **ALL), counted))
    assert (gate["measured"], gate["of"], gate["met"]) == (None, 0, False)


@every(
    "limits",
    [
        Gates(min_accuracy=0.0),
        Gates(min_accuracy_by_suite={"s": 0.0}),
        Gates(max_unscored_rate=0.5),
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


def failures(severities: Sequence[str], *finished: Finished) -> dict[str, Any]:
    limits = Gates.model_validate({"no_failures_at": list(severities), **ALL})
    return only(judge_gates(limits, tally(*finished)))


def test_a_failure_at_a_named_severity_is_one_too_many() -> None:
    passed, failed = (a_case(severity="S0"), scored(1.0)), (a_case(severity="S1"), scored(0.0))
    elsewhere = (a_case(severity="S2"), scored(0.0))
    gate = failures(["S0", "S1"], passed, failed, elsewhere)
    assert (gate["measured"], gate["of"], gate["met"]) == (1, 2, False)
    assert failures(["S0"], passed, failed, elsewhere)["met"] is True


@every(
    ("case", "is_counted"),
    [
        (a_case(severity="critical"), True),
        (a_case(tag="severity:P0"), True),
        (a_case(severity="S1", tag="severity:critical"), False),
        (a_case(severity="odd"), False),
    ],
)
def test_a_gate_understands_every_word_of_its_severity(case: Case, is_counted: bool) -> None:
    assert failures(["S0"], (case, scored(0.0)))["measured"] == (1 if is_counted else None)


def test_what_failed_is_what_its_dialect_says_whatever_its_accuracy() -> None:
    half, whole = scored(0.5, passed=True), scored(1.0, passed=False)
    gate = failures(["S0"], (a_case(severity="S0"), half), (a_case(severity="S1"), whole))
    assert (gate["measured"], gate["met"]) == (0, True)
    gate = failures(["S1"], (a_case(severity="S0"), half), (a_case(severity="S1"), whole))
    assert (gate["measured"], gate["met"]) == (1, False)


@every("evaluation", [abandoned(), scored(None)])
def test_what_has_no_score_has_not_shown_that_it_is_no_failure(
    evaluation: EvaluationOutcome,
) -> None:
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


@every(
    ("cost", "met"), [(Decimal("0.3"), True), (Decimal("0.30000001"), False), (Decimal(0), True)]
)
def test_what_it_took_is_compared_to_the_cent_and_beyond(cost: Decimal, met: bool) -> None:
    took = (a_case(), that_took(m=Spent(answers=2, known_usd=cost)))
    assert only(judge_gates(Gates(max_cost_usd=0.3), tally(took)))["met"] is met


@every(
    ("cost", "possible", "unbounded", "met", "why"),
    [
        ("0.08", "0.01", 0, True, "at most 0.09: 2 requests {} been charged"),
        ("0.08", "0.0101", 0, False, "cannot tell: at most 0.0901: 2 requests {} been charged"),
        ("0.08", "0", 1, False, "cannot tell: nothing bounds what 2 requests {} cost"),
        ("0.0901", "0", 1, False, None),
    ],
)
def test_requests_that_may_have_been_charged_count_for_the_gate(
    cost: str, possible: str, unbounded: int, met: bool, why: str | None
) -> None:
    spent = Spent(
        answers=2, known_usd=Decimal(cost), possibly_charged=2, possible_usd=Decimal(possible),
        unbounded=unbounded,
    )  # fmt: skip
    gate = only(judge_gates(Gates(max_cost_usd=0.09), tally((a_case(), that_took(m=spent)))))
    said = why and why.format("without an answer may have")
    assert (gate["met"], gate.get("why"), gate["measured"]) == (met, said, float(cost))
    assert gate.get("cannot_tell", False) is (not met and why is not None)


def test_an_unknown_cost_is_not_met_and_told_beside_what_is_known() -> None:
    known = that_took(m=Spent(answers=2, known_usd=Decimal("0.25")), j=Spent(answers=3, unpriced=1))
    gate = only(judge_gates(Gates(max_cost_usd=9.0), tally((a_case(), known))))
    assert (gate["met"], gate["measured"], gate["known_usd"]) == (False, None, 0.25)
    assert gate["unpriced"] == 1
    assert gate["why"] == "unknown cost: j (1 of 3 answers); 4 other answers cost 0.25 US dollars"


def test_a_model_without_a_price_may_have_cost_anything_though_it_never_answered() -> None:
    unpriced = summary_of({"m": [(a_case(), abandoned())]}, unpriced=["m"])
    gate = only(judge_gates(Gates(max_cost_usd=9.0, **ALL), unpriced))
    assert gate["met"] is False and "m, which has no price" in gate["why"]


def change(difference: float, interval: tuple[float, float] | None, pairs: int = 40) -> Change:
    return Change("m", pairs, pairs, 0, difference, interval)


@every(
    ("found", "met", "cannot_tell"),
    [
        (change(-0.1, (-0.2, -0.06)), False, False),
        (change(-0.1, (-0.2, -0.01)), False, True),
        (change(-0.1, (-0.3, 0.1)), False, True),
        (change(-0.01, (-0.04, 0.02)), True, False),
        (change(-0.02, (-0.05, -0.01)), True, False),
        (change(0.2, (0.1, 0.3)), True, False),
        (change(0.0, (-0.06, 0.06)), False, True),
        (change(0.0, None), False, True),
        (change(0.0, None, pairs=0), False, False),
    ],
)
def test_a_loss_beyond_the_margin_must_be_excluded(
    found: Change, met: bool, cannot_tell: bool
) -> None:
    judged = judge_gates(Gates(no_regression_against=3), tally(), changes=[found])
    gate = judged["no_regression_against.m"]
    assert (gate["met"], gate.get("cannot_tell", False)) == (met, cannot_tell)
    assert gate["margin"] == 0.05
    assert ("cannot tell" in gate.get("why", "")) is cannot_tell


@every(
    ("if_failed", "met"),
    [((-0.05, 0.0), True), ((-0.06, 0.0), False), ((-0.3, -0.1), False), (None, False)],
)
def test_what_lost_its_score_is_a_loss_unless_the_gate_holds_without_it(
    if_failed: tuple[float, float] | None, met: bool
) -> None:
    found = Change("m", 40, 40, 3, 0.0, (-0.02, 0.02), lost=3, interval_if_lost_failed=if_failed)
    gate = only(judge_gates(Gates(no_regression_against=3), tally(), changes=[found]))
    assert (gate["met"], gate.get("cannot_tell", False)) == (met, not met)
    assert ("had a score before and none now" in gate["why"]) is not met


def test_a_gate_that_cannot_tell_says_how_many_cases_would() -> None:
    """Half as wide an interval takes four times as many cases."""
    found = Change("m", 40, 40, 0, -0.02, (-0.08, 0.04))
    limits = Gates(no_regression_against=3, regression_margin=0.05)
    gate = only(judge_gates(limits, tally(), changes=[found]))
    assert gate["why"] == (
        "cannot tell: a loss of 0.08 is not excluded over 40 cases; about 160 like these would tell"
    )
    hopeless = Change("m", 40, 40, 0, -0.06, (-0.12, 0.0))
    gate = only(judge_gates(limits, tally(), changes=[hopeless]))
    assert gate["why"] == "cannot tell: a loss of 0.12 is not excluded over 40 cases"
    wider = Gates(no_regression_against=3, regression_margin=0.08)
    assert only(judge_gates(wider, tally(), changes=[found]))["met"]


@every(("limit", "low", "met"), [(0.5, 0.5, True), (0.5, 0.4, False), (0.8, 0.7, False)])
def test_the_lower_end_is_judged_where_a_configuration_says_so(
    limit: float, low: float, met: bool
) -> None:
    counted = tally(*[(a_case(), scored(1.0))] * 3, (a_case(), scored(0.0)))
    bounds = {("m", None): AccuracyBounds(low, 0.9, 4), ("m", "s"): AccuracyBounds(0.0, 0.9, 4)}
    limits = Gates(min_accuracy=limit, min_accuracy_by_suite={"s": 0.1}, judge="lower")
    judged = judge_gates(limits, counted, bounds=bounds)
    gate = judged["min_accuracy"]
    assert (gate["met"], gate["interval"], gate["measured"]) == (met, [low, 0.9], 0.75)
    assert judged["min_accuracy_by_suite.s"]["met"] is False, "its own bounds"
    assert gate.get("cannot_tell", False) is (low < limit <= 0.75)
    point = judge_gates(Gates(min_accuracy=limit), counted, bounds=bounds)
    assert only(point)["met"] is (limit <= 0.75)


def test_a_lower_end_that_nobody_knows_meets_no_gate() -> None:
    counted = tally((a_case(), scored(0.75)))
    gate = only(judge_gates(Gates(min_accuracy=0.1, judge="lower"), counted))
    assert (gate["met"], gate["cannot_tell"]) == (False, True)
    nothing = only(judge_gates(Gates(min_accuracy=0.0, judge="lower"), tally()))
    assert nothing["met"] is False and "cannot_tell" not in nothing


def test_what_could_not_be_compared_is_counted_though_the_gate_is_met() -> None:
    found = Change("m", 1, 1, 399, 0.0, None)
    judged = judge_gates(Gates(no_regression_against=3), tally(), changes=[found])
    assert "399 evaluations" in only(judged)["why"]


def test_scores_of_other_versions_meet_no_gate_though_all_others_are_alike() -> None:
    why = (Unpaired("graded otherwise, by other versions", 3, 3),)
    found = Change("m", 397, 397, 3, 0.1, (0.05, 0.15), why, ("failproof.accuracy 3, before 2",))
    gate = only(judge_gates(Gates(no_regression_against=3), tally(), changes=[found]))
    assert gate["met"] is False
    assert gate["why"].startswith("cannot tell: 3 evaluations graded otherwise")
    assert "failproof.accuracy 3, before 2" in gate["why"]


def test_one_model_that_is_worse_is_not_hidden_by_another_that_is_better() -> None:
    changes = [
        Change("better", 40, 40, 0, 0.5, (0.4, 0.6)),
        Change("worse", 40, 40, 0, -0.5, (-0.6, -0.4)),
    ]
    judged = judge_gates(Gates(no_regression_against="id"), tally(), changes=changes)
    assert [gate["met"] for gate in judged.values()] == [True, False]


GOOD = ((a_case(severity="S0", category="safety"), scored(1.0)),) * 9
BAD = ((a_case(severity="S0", category="safety"), scored(0.0)),) * 9
LOST = ((a_case(severity="S0", category="safety"), abandoned()),) * 9


@every(
    ("limits", "of_worse"),
    [
        (Gates(min_accuracy=0.5), BAD),
        (Gates(min_accuracy_by_suite={"s": 0.5}), BAD),
        (Gates(no_failures_at=["S0"]), BAD),
        (Gates(min_csr=0.5), BAD),
        (Gates(min_safety_accuracy=0.5), BAD),
    ],
)
def test_a_good_model_hides_no_bad_one_and_the_bad_one_is_named(
    limits: Gates, of_worse: Sequence[Finished]
) -> None:
    judged = judge_gates(limits, tallies(good=GOOD, worse=of_worse))
    assert [(gate["model"], gate["met"]) for gate in judged.values()] == [
        ("good", True),
        ("worse", False),
    ]
    assert [name.rsplit(".", 1)[1] for name in judged] == ["good", "worse"]


def test_no_gate_is_lost_whatever_suites_and_models_are_called() -> None:
    suites = {"a": 0.5, "a.b": 0.5}
    judged = judge_gates(Gates(min_accuracy_by_suite=suites), tallies(**{"c": (), "b.c": ()}))
    assert len(judged) == 4


def test_what_a_run_took_is_held_against_its_limit_as_a_whole() -> None:
    took = (a_case(), that_took(good=Spent(answers=1, known_usd=Decimal("0.155"))))
    twice = (a_case(), that_took(judge=Spent(answers=1, known_usd=Decimal("0.155"))))
    judged = judge_gates(Gates(max_cost_usd=0.3), tallies(good=[took], worse=[twice]))
    assert only(judged)["met"] is False and only(judged)["of"] == 2
    assert only(judged)["measured"] == 0.31


@given(accuracies=st.lists(st.floats(0, 1), min_size=1, max_size=30), random=st.randoms())
def test_a_mean_accuracy_does_not_depend_on_the_order_in_which_evaluations_end(
    accuracies: list[float], random: Random
) -> None:
    shuffled = list(accuracies)
    random.shuffle(shuffled)
    assert mean(accuracies) == mean(shuffled) == mean(sorted(accuracies))


def mean(accuracies: Sequence[float]) -> float | None:
    """Of so many evaluations that end in this order."""
    return tally(*((a_case(), scored(each)) for each in accuracies)).total.accuracy


def test_nine_of_ten_tenths_are_nine_tenths_in_any_order() -> None:
    tenths = [0.1] * 3 + [0.7, 0.2, 0.1]
    for order in permutations(tenths):
        assert mean(order) == fmean(tenths)


@every(
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
    assert describe_gate("g", gate) == phrase


@every(
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


# -- what has no score -------------------------------------------------------------------------


def of_model(key: str, outcome: EvaluationOutcome) -> Finished:
    return a_case(), outcome._replace(model_key=key)


def lost(key: str = "m", reason: str = "connection refused", kind: str = "connection") -> Finished:
    """An evaluation that an error of the model ended."""
    history = History().sent().failed(disposition="final", kind=kind).classified("error")
    ended = outcome_of(KEY, history.abandoned(kind).events, {})
    assert ended.lost
    return of_model(key, ended._replace(reason=reason))


def answered(kind: str, key: str = "m") -> Finished:
    """Answered, and without a score by a rule of its dialect."""
    history = History().sent().answered().classified("pass").abandoned(kind)
    return of_model(key, outcome_of(KEY, history.events, {}))


def unscored(key: str = "m") -> Finished:
    return answered("awaiting_review", key)


KINDS = ("truncated", "content_filter", "grading_stopped", "judge_failed", "pattern_timeout", "x")
"""Why an answer has no score: cut off, withheld, stopped, undecided, and what dialects say."""


@every("kind", KINDS)
def test_whatever_takes_nine_of_ten_answers_out_of_the_score_misses_the_default_gate(
    kind: str,
) -> None:
    """The tenth is right: the accuracy of the scored is 100 %."""
    judged = judge_gates(
        Gates(min_accuracy=0.9), tally(of_model("m", scored(1.0)), *[answered(kind)] * 9)
    )
    assert judged["min_accuracy"]["measured"] == 1.0
    gate = judged["max_unscored_rate"]
    assert (gate["measured"], gate["of"], gate["met"]) == (0.9, 10, False)
    assert "9 of 10 evaluations have no score: " in gate["why"] and "(9)" in gate["why"]


@every(
    ("finished", "unscored", "met"),
    [(12, 1, True), (12, 2, False), (10, 1, True), (100, 10, True), (100, 11, False),
     (1, 1, False), (30, 3, True), (70, 7, True), (70, 8, False)],
)  # fmt: skip
@every("ended", [lost(), *map(answered, KINDS[:3])])
def test_a_tenth_of_a_models_evaluations_may_have_no_score_and_no_more(
    finished: int, unscored: int, met: bool, ended: Finished
) -> None:
    scores = [of_model("m", scored(1.0))] * (finished - unscored)
    gate = only(judge_gates(Gates(), tally(*scores, *[ended] * unscored)))
    assert (gate["limit"], gate["of"], gate["met"]) == (0.1, finished, met)


def test_why_evaluations_were_lost_is_said_with_the_words_of_the_server() -> None:
    gate = only(judge_gates(Gates(), tally(of_model("m", scored(1.0)), lost())))
    assert gate["why"] == (
        "model m: 1 of 2 evaluations has no score: lost, no usable answer of the model: "
        "connection refused (1)"
    )


def test_where_everything_has_a_score_nothing_is_judged_unless_it_is_configured() -> None:
    whole = tally(of_model("m", scored(1.0)), unscored())
    assert judge_gates(Gates(), whole) == {}
    gate = only(judge_gates(Gates(max_unscored_rate=0.0), whole))
    assert gate == {"limit": 0.0, "measured": 0.0, "of": 2, "met": True, "model": "m"}


def test_the_gate_can_be_turned_off() -> None:
    assert judge_gates(Gates(**ALL), tally(*[answered("truncated")] * 9, *[lost()] * 9)) == {}


def test_a_model_that_answered_nothing_is_not_hidden_by_one_that_did() -> None:
    counted = tallies(up=[of_model("up", scored(1.0))] * 99, down=[lost("down")])
    judged = judge_gates(Gates(), counted)
    assert list(judged) == ["max_unscored_rate.down"]
    assert judged["max_unscored_rate.down"]["met"] is False
    assert judged["max_unscored_rate.down"]["why"].endswith("nothing was scored")


@every(
    ("limit", "losses", "met"),
    [(0.5, 6, True), (0.5, 7, False), (0.0, 1, False), (0.5, 12, False), (1.0, 12, True)],
)
def test_a_gate_says_how_much_may_have_no_score(limit: float, losses: int, met: bool) -> None:
    scores = [of_model("m", scored(1.0))] * (12 - losses)
    judged = judge_gates(Gates(max_unscored_rate=limit), tally(*scores, *[lost()] * losses))
    assert judged["max_unscored_rate"]["met"] is met


def test_a_suite_of_which_most_has_no_score_is_not_met_though_the_rest_of_the_run_has() -> None:
    rest = [(a_case("easy"), scored(1.0))] * 90
    hard = [(a_case("hard"), scored(1.0)), *[(a_case("hard"), abandoned())] * 9]
    limits = {"easy": 0.9, "hard": 0.9}
    judged = judge_gates(Gates(min_accuracy_by_suite=limits), tally(*rest, *hard))
    assert judged["max_unscored_rate"]["met"] is True
    assert judged["min_accuracy_by_suite.easy"]["met"] is True
    gate = judged["min_accuracy_by_suite.hard"]
    assert (gate["measured"], gate["met"]) == (1.0, False)
    assert gate["why"] == "9 of 10 evaluations of it have no score, more than 0.1"
    safety = [(a_case("hard", category="safety"), each) for _, each in hard]
    judged = judge_gates(Gates(min_safety_accuracy=0.9), tally(*rest, *safety))
    assert judged["min_safety_accuracy"]["met"] is False


def test_what_awaits_a_review_is_not_counted() -> None:
    assert judge_gates(Gates(), tally(*[unscored()] * 12)) == {}
    mixed = tally(*[unscored()] * 11, lost())
    assert judge_gates(Gates(), mixed)["max_unscored_rate"]["met"] is False, "nothing is scored"
    by_people = Gates(by="people")
    assert judge_gates(by_people, mixed)["max_unscored_rate"]["met"] is True, (
        "people score the rest"
    )


def test_a_share_of_exactly_the_limit_meets_it_for_the_whole_and_for_a_part() -> None:
    finished = 100
    for lost_count in range(finished):
        limits = Gates(min_accuracy_by_suite={"s": 1.0}, max_unscored_rate=lost_count / finished)
        part = Group(
            finished=finished, scored=finished - lost_count, abandoned=lost_count,
            measured=finished - lost_count, accuracy_sum=Fraction(finished - lost_count),
        )  # fmt: skip
        counted = tally()
        counted.counts.groups[GroupKey("m", "s", None, None)] = part
        assert not unmet_gates(judge_gates(limits, counted)), f"{lost_count} of {finished}"


def test_gates_on_rates_are_judged_when_a_run_ends_or_by_people() -> None:
    limits = {
        "min_accuracy": 0.5, "min_accuracy_by_suite": {"s": 0.5}, "no_failures_at": ["S1"],
        "min_csr": 0.5, "max_unscored_rate": 0.5, "max_cost_usd": 1.0,
    }  # fmt: skip
    every = Gates.model_validate(limits | {"by": "people"})
    finished = tally((a_case(), scored(1.0)))
    at_the_end = set(judge_gates(limits_at_the_end(every), finished))
    by_people = set(judge_gates(limits_by_people(every), finished)) - {"max_unscored_rate"}
    assert at_the_end == {"max_unscored_rate", "max_cost_usd"}
    assert by_people == {"min_accuracy", "min_accuracy_by_suite.s", "no_failures_at", "min_csr"}
    assert limits_at_the_end(Gates(min_accuracy=0.5)).min_accuracy == 0.5
    settings = {"by", "judge", "regression_margin"}
    gates = {name for subject in GateSubject for name in Gates.on(subject)}
    assert gates == Gates.model_fields.keys() - settings, "each has its subject"


def test_judges_of_which_not_one_answered_lose_the_evaluation() -> None:
    asked = History().sent().answered().classified().sent(turn=1, purpose="judge")
    asked.failed(turn=1, purpose="judge", disposition="final")
    evaluation = fold(asked.judged("j1", None).abandoned("judge_failed").events)
    assert unscored_group(evaluation) == "no_verdict"


def test_why_evaluations_have_no_score_is_said_by_group_where_there_are_many_reasons() -> None:
    losses = [lost(reason=f"refused {n}") for n in range(40)]
    gate = only(judge_gates(Gates(), tally(*losses, *[answered("truncated")] * 3)))
    assert (
        "43 of 43 evaluations have no score: lost, no usable answer of the model (40), "
        in (gate["why"])
    )
    assert "cut off at max_tokens (3); nothing was scored" in gate["why"]


def test_a_gate_and_its_text_count_the_same_evaluations_without_a_score() -> None:
    gate = only(judge_gates(Gates(), tally(*[answered("truncated")] * 10, *[unscored()] * 16)))
    assert gate["measured"] == 10 / 26
    assert "10 of 26 evaluations have no score: cut off at max_tokens (10); " in gate["why"]
    assert "16 await review by people; nothing was scored" in gate["why"]


# -- what was asked again because of how it had ended ------------------------------------------

RATES: dict[str, Any] = {
    "min_accuracy": 0.0,
    "min_accuracy_by_suite": {"s": 0.0},
    "min_csr": 0.0,
    "min_safety_accuracy": 0.0,
    "no_failures_at": ["S0"],
    "no_regression_against": 1,
}


def test_no_rate_is_judged_where_a_score_chose_what_was_asked_again() -> None:
    limits = Gates(max_cost_usd=9.0, max_unscored_rate=0.2, **RATES)
    again = RetryBias("run 2 asked again only what had failed")
    better = change(0.5, (0.1, 0.9))
    judged = judge_gates(limits, tally(*GOOD), changes=[better], again=again)
    assert judged.pop("max_cost_usd")["met"] and judged.pop("max_unscored_rate")["met"]
    assert len(judged) == len(RATES)
    for name, gate in judged.items():
        assert (gate["measured"], gate["met"]) == (None, False), name
        assert "not judged: run 2 asked again only what had failed" in describe_gate(name, gate)
    assert all(each["met"] for each in judge_gates(limits, tally(*GOOD), changes=[better]).values())


def test_asking_until_there_is_a_score_does_not_take_an_answer_out_of_the_count() -> None:
    scores = tally(*[of_model("m", scored(1.0))] * 10)
    gate = only(judge_gates(Gates(), scores, again=RetryBias(unscored_before={"m": 2})))
    assert (gate["measured"], gate["met"]) == (0.2, False)
    why = "a score only because a first answer without one was asked again"
    assert gate["why"] == f"model m: 2 evaluations have {why}"
    gate = only(judge_gates(Gates(), scores, again=RetryBias(unscored_before={"m": 1})))
    assert (gate["measured"], gate["met"]) == (0.1, True)


TENTHS = st.integers(0, 10).map(lambda tenths: tenths / 10)


@given(grades=st.lists(TENTHS, min_size=1, max_size=12))
def test_a_mean_of_decimal_grades_meets_a_limit_that_it_equals(grades: list[float]) -> None:
    mean = sum(Decimal(str(grade)) for grade in grades) / len(grades)
    of = tally(*((a_case(), scored(grade)) for grade in grades))
    gate = only(judge_gates(Gates(min_accuracy=float(mean)), of))
    assert gate["measured"] == float(mean) and gate["met"]


WHOLE: dict[str, Any] = {"items": []}
PARTIAL: dict[str, Any] = {"items": [{"item": "i", "void": "quotes nothing"}]}


@every(
    ("verdicts", "kind", "group"),
    [
        ((None, WHOLE), "judge_failed", "no_verdict"),
        ((WHOLE, None), "judge_failed", "no_verdict"),
        ((None, None), "judge_failed", "no_verdict"),
        ((WHOLE, PARTIAL), "judge_failed", "no_verdict"),
        ((WHOLE, PARTIAL), "judges_disagree", "undecided"),
        ((WHOLE, None), "judges_disagree", "undecided"),
        ((WHOLE, WHOLE), "judges_disagree", "undecided"),
        ((WHOLE, None), "truncated", "cut_off"),
        ((WHOLE, WHOLE), "scorer_failed", "ungraded"),
    ],
)
def test_a_judge_that_is_missed_loses_the_evaluation(
    verdicts: Sequence[dict[str, Any] | None], kind: str, group: str
) -> None:
    history = History().sent().answered().classified()
    for judge, verdict in zip(("j1", "j2"), verdicts, strict=True):
        problem = "void_items: i" if verdict is PARTIAL else None
        history.asked_judge(judge, "said").judged(judge, verdict, problem=problem)
    assert unscored_group(fold(history.abandoned(kind).events)) == group


def test_the_gate_farthest_from_its_limit_is_named_first_and_an_unmeasured_one_last() -> None:
    gates: dict[str, dict[str, Any]] = {
        "met": {"limit": 1, "measured": 0, "met": True},
        "no_regression": {"limit": "main", "measured": -0.2, "met": False},
        "unmeasured": {"limit": 0.9, "measured": None, "met": False},
        "near": {"limit": 0.9, "measured": 0.85, "met": False},
        "far": {"limit": 0.0, "measured": 0.1, "met": False},
        "severity": {"limit": ["S0"], "measured": 1, "met": False},
    }
    assert unmet_gates(gates) == ["severity", "far", "near", "no_regression", "unmeasured"]
