"""What `show` and the final table say follows from the events alone."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from uuid import uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.cli.run_facts import RunFacts, model_rows, suite_rows, told_messages, total_row
from failproof_es.costs import Tokens, tokens_told
from failproof_es.dialects.failproof.totals import totals
from failproof_es.events import Event, Usage
from tests.unit.cli.samples import (
    RUN,
    abandoned,
    answered,
    classified,
    failed,
    lost,
    scored,
    sent,
)

SUITES = {uuid5(RUN, str(case)): "small" if case == 0 else "large" for case in range(50)}


def after(*events: Event) -> RunFacts:
    facts = RunFacts(SUITES)
    for event in events:
        facts.evolve(event)
    return facts


def test_requests_retries_losses_and_errors_are_counted_by_kind() -> None:
    facts = after(sent(1), failed(1), sent(1, attempt=2), lost(1), sent(1, attempt=3), answered(1))
    assert (facts.requests, facts.retries, facts.lost) == (3, 2, 1)
    assert facts.errors == {"timeout": 1}


def test_what_a_judge_answers_costs_what_the_judge_costs() -> None:
    prices = {"a": 1.0, "judge": 100.0}
    facts = RunFacts(SUITES, lambda answer: prices[answer.judge or answer.model_key])
    facts.evolve(answered(1))
    facts.evolve(answered(1).model_copy(update={"purpose": "judge", "judge": "judge"}))
    assert facts.cost_usd == 101.0


def test_tokens_are_summed_and_a_cost_without_a_price_is_unknown() -> None:
    facts = after(answered(1, tokens=10), answered(2, tokens=5))
    assert (facts.input_tokens.known, facts.output_tokens.known) == (15, 2)
    assert facts.cost_usd is None
    assert after().input_tokens == Tokens()


def test_beside_a_known_sum_of_tokens_stands_how_many_answers_did_not_tell() -> None:
    silent = answered(3).model_copy(update={"usage": Usage(input_tokens=None, output_tokens=7)})
    facts = after(answered(1, tokens=10), answered(2, tokens=5), silent)
    assert (facts.input_tokens.known, facts.output_tokens.known) == (15, 9)
    assert tokens_told(15, facts.input_tokens.unknown) == "15 and 1 unknown"
    assert tokens_told(after(silent).input_tokens.known, 1) == "unknown"


def test_of_a_run_without_a_price_nothing_is_known_to_have_cost_nothing() -> None:
    assert after().cost_usd is None
    assert after(sent(1), failed(1)).cost_usd is None


def test_a_sum_of_costs_does_not_depend_on_the_order_of_the_answers() -> None:
    costs = [Decimal("0.1"), Decimal("0.2"), Decimal("0.3"), Decimal("1e-9")]
    for order in permutations(costs):
        priced = iter(order)
        facts = RunFacts(SUITES, lambda _, priced=priced: next(priced))  # type: ignore[misc]
        for case in range(len(costs)):
            facts.evolve(answered(case))
        assert facts.cost_usd == 0.600000001


def test_each_model_has_totals_of_its_own() -> None:
    facts = after(*(scored(n, 1, "good") for n in range(9)), scored(0, 0, "bad"))
    told = {row["model"]: (row["correct"], row["scored"]) for row in model_rows(facts)}
    assert told == {"good": (9, 9), "bad": (0, 1)}
    assert [row["mean_of_suites"] for row in model_rows(facts)] == [0.0, 1.0]


def test_what_servers_said_is_told_once_each_with_how_often() -> None:
    refused = failed(1).model_copy(update={"status": 401, "message": "invalid\n api key"})
    gone = failed(2).model_copy(update={"message": "no route to host"})
    others = [failed(n).model_copy(update={"message": f"m{n}"}) for n in range(3, 6)]
    facts = after(*[refused] * 12, gone, *others)
    assert told_messages(facts) == (
        "401: invalid api key (12); no route to host (1); m3 (1); and 2 other messages"
    )
    assert told_messages(after()) == ""


def test_an_abandoned_evaluation_is_finished_and_has_no_accuracy() -> None:
    total = after(classified(1, "error"), abandoned(1)).total
    assert (total.finished, total.scored, total.accuracy) == (1, 0, None)
    assert total.classes == {"error": 1}


def test_a_small_suite_counts_as_much_as_a_large_one_in_the_mean_of_suites() -> None:
    facts = after(scored(0, 1), *(scored(case, 0) for case in range(1, 10)))
    assert facts.total.accuracy == pytest.approx(0.1)
    assert facts.mean_of_suite_means == pytest.approx(0.5)


def test_rows_come_per_model_and_suite_and_the_total_adds_them_up() -> None:
    facts = after(scored(0, 1, "a"), scored(0, 0, "b"), scored(1, 1, "b"))
    rows = suite_rows(facts)
    assert [(row["model"], row["suite"], row["cases"]) for row in rows] == [
        ("a", "small", 1),
        ("b", "large", 1),
        ("b", "small", 1),
    ]
    total = total_row(facts)
    assert (total["correct"], total["cases"], total["evaluations"]) == (2, 2, 3)


def test_a_case_that_is_asked_three_times_is_one_case() -> None:
    (row,) = suite_rows(after(*(scored(0, accuracy) for accuracy in (1, 0, 1))))
    assert (row["cases"], row["evaluations"], row["correct"]) == (1, 3, 2)


@given(st.lists(st.tuples(st.integers(0, 49), st.integers(0, 1), st.sampled_from("ab"))))
def test_both_totals_are_those_of_the_dialect(results: list[tuple[int, int, str]]) -> None:
    facts = after(*(scored(case, accuracy, model) for case, accuracy, model in results))
    rows = ((SUITES[uuid5(RUN, str(case))], float(accuracy), None) for case, accuracy, _ in results)
    expected = totals(rows)
    assert facts.total.accuracy == pytest.approx(expected.accuracy_by_case)
    assert facts.mean_of_suite_means == pytest.approx(expected.accuracy_by_suite)


@pytest.mark.parametrize(
    ("percent", "latency"), [(50, 50.0), (95, 95.0), (99, 99.0), (100, 100.0), (0.1, 1.0)]
)
def test_percentiles_are_latencies_that_were_measured(percent: float, latency: float) -> None:
    facts = after()
    facts.latencies_ms.extend(float(number) for number in range(100, 0, -1))
    assert facts.latency_ms(percent) == latency


def test_no_response_has_no_latency() -> None:
    assert after().latency_ms(50) is None
