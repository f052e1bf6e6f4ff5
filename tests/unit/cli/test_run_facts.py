"""What `show` and the final table say follows from the events alone."""

from __future__ import annotations

from uuid import uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.cli.run_facts import RunFacts, suite_rows, total_row
from failproof_es.dialects.failproof.totals import totals
from failproof_es.events import Event
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
    assert (facts.input_tokens, facts.output_tokens, facts.cost_usd) == (15, 2, None)
    assert after().input_tokens is None


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
    assert (total_row(facts)["correct"], total_row(facts)["cases"]) == (2, 3)


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
