"""Figures by people: every count in its group, and a rate over what people decided."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.case import Case
from failproof_es.core.people import OUTCOMES, REVIEW_STATUSES, ReviewStatus, review_status
from failproof_es.reading.people_figures import figures_of
from failproof_es.reading.recorded_run import PlannedOutcome
from failproof_es.support.statistics import rate
from tests.unit.summaries import abandoned_outcome, scored_outcome

STATUSES: tuple[ReviewStatus, ...] = ("awaiting", *REVIEW_STATUSES)
WORDS = ("pass", "fail", "unclear")


def case(number: int, severity: str, category: str, tags: tuple[str, ...]) -> Case:
    return Case(
        dialect="redteam", case_id=f"c{number}", suite_id="s", turns=(), severity=severity,
        category=category, tags=tags,
    )  # fmt: skip


evaluations = st.lists(
    st.tuples(
        st.sampled_from(("m", "n")),
        st.builds(
            case,
            st.integers(0, 3),
            st.sampled_from(("S0", "S1")),
            st.sampled_from(("a", "b")),
            st.sampled_from(((), ("x",), ("x", "y", "x"), ("paraphrase:p", "y"))),
        ),
        st.sampled_from(STATUSES),
    ),
    max_size=12,
)


@given(evaluations)
def test_every_evaluation_counts_once_in_each_of_its_groups(
    drawn: list[tuple[str, Case, ReviewStatus]],
) -> None:
    planned = [
        PlannedOutcome(n, of, abandoned_outcome(awaiting=True)._replace(model_key=model), status)
        for n, (model, of, status) in enumerate(drawn, 1)
    ]
    expected: Counter[tuple[str, str, str, str]] = Counter()
    for model, of, status in drawn:
        tags = {tag for tag in of.tags if not tag.startswith("paraphrase:")}
        groups = [("overall", "all cases"), ("severity", of.severity), ("category", of.category)]
        for dimension, name in [*groups, *(("tag", tag) for tag in tags)]:
            expected[model, dimension, str(name), OUTCOMES[status]] += 1
    counted: Counter[tuple[str, str, str, str]] = Counter()
    for figure in figures_of(planned, ("m", "n")):
        key = (figure.model, figure.dimension, figure.name)
        counted[*key, "passed_by_people"] += figure.passed
        counted[*key, "failed_by_people"] += figure.failed
        counted[*key, "unclear"] += figure.unclear
        counted[*key, "disputed"] += figure.disputed
        counted[*key, "awaiting_review"] += figure.awaiting_review
    assert +counted == expected


def test_a_rate_is_over_what_people_decided_and_its_interval_over_independent_cases() -> None:
    statuses: list[ReviewStatus] = [
        "pass", "pass", "fail", "pass", "pass", "fail", "disputed", "awaiting", "unclear",
    ]  # fmt: skip
    cases = [case(n // 2, "S1", "a", ()) for n in range(len(statuses))]
    planned = [
        PlannedOutcome(n, of, abandoned_outcome(awaiting=True), status)
        for n, (of, status) in enumerate(zip(cases, statuses, strict=True), 1)
    ]
    overall = figures_of(planned, ("m",))[0]
    passed = [status == "pass" for status in statuses[:6]]
    interval = rate(passed, [of.family for of in cases[:6]]).interval
    assert interval is not None
    assert (overall.decided, overall.rate, overall.clusters) == (6, 4 / 6, 3)
    assert (overall.interval, overall.method) == ((interval.low, interval.high), interval.method)


def test_what_a_program_decided_is_in_no_figure_by_people() -> None:
    planned = [PlannedOutcome(1, case(1, "S1", "a", ()), scored_outcome(1.0))]
    assert figures_of(planned, ("m",)) == ()


class Given(NamedTuple):
    """A verdict as `review_status` takes it."""

    reviewer: str
    verdict: str
    adjudicates: bool = False


@pytest.mark.parametrize("verdicts", list(product(WORDS, repeat=2)))
def test_reviewers_that_say_different_things_dispute(verdicts: tuple[str, str]) -> None:
    one, other = verdicts
    given = [Given("ann", one), Given("bob", other)]
    status = review_status(given)
    assert status == (review_status(given[:1]) if one == other else "disputed")
    assert review_status([*given, Given("ann", other)]) == other, "the last one of each counts"


@pytest.mark.parametrize("verdicts", list(product(WORDS, repeat=3)))
def test_an_adjudicator_decides_whatever_others_say_before_or_after(
    verdicts: tuple[str, str, str],
) -> None:
    one, other, decision = verdicts
    given = [Given("ann", one), Given("bob", other), Given("cat", decision, adjudicates=True)]
    for order in permutations(given):
        assert review_status(order) == decision
    assert review_status([*given, Given("dan", one, adjudicates=True)]) == one, "the last decides"
