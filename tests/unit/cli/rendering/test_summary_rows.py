"""What `show` and the final table say is what the run's summary says, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.costs import Spent
from failproof_es.core.outcome import RequestError
from failproof_es.events import ModelPrices, TokenPrices, Usage
from failproof_es.reading.summary_rows import (
    describe_messages,
    errors_by_kind,
    errors_by_message,
    model_rows,
    suite_rows,
    total_row,
)
from tests.unit.cli.summaries import Counted, abandoned_one, an_outcome, scored_one, summed


def spent(*tokens: int | None, cost: str | None = "0.1") -> Spent:
    found = Spent()
    for each in tokens:
        usage = Usage(input_tokens=each, output_tokens=7)
        found.add(usage, None if cost is None else Decimal(cost))
    return found


def test_each_model_has_totals_of_its_own() -> None:
    summary = summed(
        *(scored_one(n, 1, "good", suite="s") for n in range(9)),
        scored_one(0, 0, "bad"),
        abandoned_one(1, "bad", unscored_as="no_answer"),
        models=("good", "bad", "silent"),
    )
    told = {
        row["model"]: (row["passed"], row["failed"], row["abandoned"], row["lost"])
        for row in model_rows(summary)
    }
    assert told == {"bad": (0, 1, 1, 1), "good": (9, 0, 0, 0), "silent": (0, 0, 0, 0)}
    assert [row["mean_of_suites"] for row in model_rows(summary)] == [0.0, 1.0, None]


def test_passed_is_what_the_dialect_says_and_not_what_the_accuracy_or_the_class_is() -> None:
    summary = summed(
        scored_one(0, 0.6, passed=True, class_="answered"),
        scored_one(1, 1.0, passed=False, class_="pass"),
        scored_one(2, None, passed=None, class_="answered"),
    )
    row = total_row(summary)
    assert (row["scored"], row["passed"], row["failed"], row["measured"]) == (3, 1, 1, 2)
    assert row["correct"] == 1.6


def test_what_servers_said_is_told_once_each_with_how_often() -> None:
    said = [
        *[RequestError("bad_request", None, "401: invalid api key")] * 12,
        RequestError("timeout", None, "no route"),
        *(RequestError("timeout", "judge", f"m{n}") for n in range(3, 6)),
    ]
    summary = summed(abandoned_one(1, errors=tuple(said)))
    assert describe_messages(summary) == (
        "401: invalid api key (12); no route (1); m3 (1); and 2 other messages"
    )
    assert errors_by_kind(summary) == {"bad_request": 12, "timeout": 4}
    assert errors_by_message(summary).total() == summary.asking().errors == len(said)
    assert describe_messages(summed()) == ""


def test_an_abandoned_evaluation_is_finished_and_has_no_accuracy() -> None:
    row = total_row(summed(abandoned_one(1, class_="error")))
    assert (row["evaluations"], row["scored"], row["abandoned"]) == (1, 0, 1)
    assert (row["accuracy"], row["classes"]) == (None, {"error": 1})


def test_a_small_suite_counts_as_much_as_a_large_one_in_the_mean_of_suites() -> None:
    large = (scored_one(case, 0, suite="large") for case in range(1, 10))
    (row,) = model_rows(summed(scored_one(0, 1), *large))
    assert row["accuracy"] == pytest.approx(0.1)
    assert row["mean_of_suites"] == pytest.approx(0.5)


def test_rows_come_per_model_and_suite_and_the_total_adds_them_up() -> None:
    summary = summed(
        scored_one(0, 1, "a"), scored_one(0, 0, "b"), scored_one(1, 1, "b", suite="large"),
        models=("b", "a"),
    )  # fmt: skip
    assert [(row["model"], row["suite"], row["cases"]) for row in suite_rows(summary)] == [
        ("a", "small", 1),
        ("b", "large", 1),
        ("b", "small", 1),
    ]
    total = total_row(summary)
    assert (total["correct"], total["evaluations"]) == (2, 3)


def test_a_case_that_is_asked_three_times_is_one_case() -> None:
    asked = (scored_one(0, accuracy, repetition=n) for n, accuracy in enumerate((1, 0, 1), 1))
    (row,) = suite_rows(summed(*asked))
    assert (row["cases"], row["evaluations"], row["passed"]) == (1, 3, 2)


@given(st.lists(st.tuples(st.integers(0, 49), st.integers(0, 1))))
def test_totals_differ_by_case_and_by_suite(results: list[tuple[int, int]]) -> None:
    """By case large suites weigh more; by suite each with a score counts the same."""
    suites: dict[str, list[int]] = {}
    for case, accuracy in results:
        suites.setdefault("small" if case == 0 else "large", []).append(accuracy)
    summary = summed(*(scored_one(n, a, suite="large" if n else "small") for n, a in results))
    (row,) = model_rows(summary)
    if not results:
        assert (row["accuracy"], row["mean_of_suites"]) == (None, None)
        return
    assert row["accuracy"] == pytest.approx(fmean(accuracy for _, accuracy in results))
    assert row["mean_of_suites"] == pytest.approx(fmean(map(fmean, suites.values())))


def priced(*counted: Counted) -> float | None:
    """What a run of the model `a`, which has a price, cost."""
    summary = summed(*counted)
    prices = {"a": ModelPrices(model_key="a", source="list", rates=(TokenPrices(),))}
    cost = replace(summary, run=replace(summary.run, prices=prices)).cost_usd
    return None if cost is None else float(cost)


def test_a_cost_is_known_where_every_answer_and_every_model_has_its_price() -> None:
    assert priced() == 0
    judged = an_outcome(1, spending={"a": spent(1), "judge:j": spent(1, cost="100")})
    assert priced(judged) == 100.1
    unpriced = an_outcome(2, spending={"judge:j": spent(1, cost=None)})
    assert priced(judged, unpriced) is None, "a part is not the whole"
    assert summed(judged).cost_usd is None, "the model has no price on record"


def test_beside_a_known_sum_of_tokens_stands_how_many_answers_did_not_tell() -> None:
    total = summed(an_outcome(1, spending={"a": spent(10, 5, None)})).spent
    assert (total.input.reported_total, total.input.unknown, total.output.reported_total) == (
        15,
        1,
        21,
    )
