"""Rates corrected for the errors of a judge, and the errors themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.support.statistics import (
    EstimatedFigure,
    JudgedSample,
    corrected_difference,
    corrected_rate,
    error_difference,
    false_positive_rate,
    judge_kappa,
    judge_required_labels,
    krippendorff_alpha,
    transferred_rate,
    true_positive_rate,
)
from tests.every import every

Row = tuple[bool, bool | None]
GOOD = 30 * [(True, True)] + 10 * [(False, True)]
BAD = 20 * [(True, False)] + 40 * [(False, False)]


def sample(rows: Sequence[Row], clusters: Sequence[object] | None = None) -> JudgedSample:
    names = range(len(rows)) if clusters is None else clusters
    return JudgedSample.of(
        [verdict for verdict, _ in rows], [label for _, label in rows], list(names)
    )


def width(estimate: EstimatedFigure) -> float:
    assert estimate.interval is not None
    return estimate.interval.high - estimate.interval.low


def test_with_every_label_the_figures_are_those_of_the_table_of_verdicts_and_labels() -> None:
    whole = sample(GOOD + BAD)
    assert corrected_rate(whole).value == pytest.approx(0.4)
    assert true_positive_rate(whole).value == pytest.approx(0.75)
    assert false_positive_rate(whole).value == pytest.approx(1 / 3)
    assert judge_kappa(whole).value == pytest.approx((0.7 - 0.5) / (1 - 0.5))


def test_labels_of_a_stratum_count_for_its_whole_size() -> None:
    labelled = [(True, True)] * 9 + [(True, False)] + [(False, True)] + [(False, False)] * 4
    rows: list[Row] = [*labelled, *[(True, None)] * 70, *[(False, None)] * 15]
    drawn = sample(rows)
    assert corrected_rate(drawn).value == pytest.approx(0.8 * 0.9 + 0.2 * 0.2)
    assert true_positive_rate(drawn).value == pytest.approx(0.72 / 0.76)
    assert false_positive_rate(drawn).value == pytest.approx(0.08 / 0.24)


def test_without_labels_of_a_verdict_nothing_is_known() -> None:
    rows: list[Row] = [(True, True), (True, None), (False, None)]
    for estimate in (corrected_rate, true_positive_rate, false_positive_rate, judge_kappa):
        assert estimate(sample(rows)) == EstimatedFigure(None, None)
    passed: list[Row] = [(True, True), (True, True), (True, None)]
    assert corrected_rate(sample(passed)).value == 1.0
    assert false_positive_rate(sample(passed)).value is None, "nothing false is labelled"
    assert corrected_rate(sample([])).value is None


def test_error_rates_correct_a_rate_elsewhere_and_only_a_judge_that_tells_something() -> None:
    measured = sample(GOOD + BAD)
    elsewhere = sample([(True, None)] * 50 + [(False, None)] * 50)
    known = transferred_rate(measured, elsewhere)
    assert known.value == pytest.approx((0.5 - 1 / 3) / (0.75 - 1 / 3))
    assert width(known) > width(corrected_rate(measured)), "two samples, not one"
    coin = sample([(verdict, label) for verdict in (True, False) for label in (True, False)] * 25)
    assert transferred_rate(coin, elsewhere) == EstimatedFigure(None, None)
    weak = sample([(True, True)] * 21 + [(False, True)] * 19 + BAD[:18] + BAD[20:42])
    assert transferred_rate(weak, elsewhere).value is None, "as likely a coin"


def test_differences_cancel_for_two_alike_and_show_a_judge_that_favours_one() -> None:
    one, same = sample(GOOD + BAD), sample(GOOD + BAD)
    alike = corrected_difference(one, same)
    assert alike.value == 0.0 and alike.interval is not None
    assert alike.interval.low < 0 < alike.interval.high
    favoured = sample([(True, label) for _, label in GOOD + BAD[:-2]] + BAD[-2:])
    shown = error_difference(favoured, one, true=False)
    assert shown.interval is not None and shown.interval.low > 0.3


def test_evaluations_of_one_cluster_are_no_further_evidence() -> None:
    rows = GOOD + BAD
    alone = width(corrected_rate(sample(rows)))
    copies = sample(rows * 4, list(range(len(rows))) * 4)
    assert alone * 0.9 < width(corrected_rate(copies)) < alone * 1.4
    assert width(corrected_rate(sample(rows * 4))) < alone * 0.6


@every("families", [1, 2, 5])
def test_few_clusters_are_less_evidence_than_their_evaluations(families: int) -> None:
    rows = GOOD + BAD
    alone = width(corrected_rate(sample(rows)))
    alike = sample(rows, [(place // 2) % families for place in range(len(rows))])
    assert width(corrected_rate(alike)) > alone * (2.5 if families == 1 else 0.999)
    halves = sample(rows, [place < len(rows) / 2 for place in range(len(rows))])
    assert width(corrected_rate(halves)) > 2.5 * alone, "Student's t of one degree of freedom"


def test_a_judge_that_gave_one_verdict_is_not_known_to_always_give_it() -> None:
    passed = sample([(True, label) for label in (True, False) * 5])
    for estimate in (true_positive_rate(passed), false_positive_rate(passed)):
        assert estimate.value == 1.0 and 0.05 < width(estimate) < 0.6
    kappa = judge_kappa(passed)
    assert kappa.value == 0.0 and width(kappa) > 0.05
    assert corrected_rate(passed).value == 0.5


verdicts = st.tuples(st.booleans(), st.sampled_from([True, False, None]))


@pytest.mark.long
@settings(max_examples=40)
@given(st.lists(verdicts, min_size=1, max_size=30), st.integers(1, 5))
def test_a_figure_is_in_its_interval_and_an_interval_is_of_possible_figures(
    rows: list[Row], families: int
) -> None:
    drawn = sample(rows, [place % families for place in range(len(rows))])
    figures = [corrected_rate(drawn), true_positive_rate(drawn), false_positive_rate(drawn)]
    figures.append(transferred_rate(drawn, drawn))
    for figure in figures:
        if figure.value is not None:
            assert figure.interval is not None
            assert 0 <= figure.interval.low <= figure.value <= figure.interval.high <= 1
    assert corrected_rate(drawn) == figures[0], "the draws are seeded"


@every(("ends", "passed"), [(0.1, 0.8), (0.2, 0.5), (0.06, 0.9)])
def test_the_required_labels_give_the_wanted_width(ends: float, passed: float) -> None:
    evaluations = 4_000
    labels = judge_required_labels(
        ends, passed=passed, true_positive_rate=0.95, false_positive_rate=0.2,
        evaluations=evaluations,
    )  # fmt: skip
    assert labels is not None
    good = (passed - 0.2) / (0.95 - 0.2)
    sizes = {True: round(evaluations * passed), False: round(evaluations * (1 - passed))}
    whole = sum(map(math.sqrt, sizes.values()))
    rows: list[Row] = []
    for verdict, size in sizes.items():
        share = good * (0.95 if verdict else 0.05) / (passed if verdict else 1 - passed)
        drawn = round(labels * math.sqrt(size) / whole)
        true = round(drawn * share)
        rows += [(verdict, True)] * true + [(verdict, False)] * (drawn - true)
        rows += [(verdict, None)] * (size - drawn)
    assert width(corrected_rate(sample(rows))) == pytest.approx(ends, rel=0.15)


def test_a_stratum_without_errors_needs_labels_to_show_it() -> None:
    labels = judge_required_labels(
        0.3, passed=0.1, true_positive_rate=0.9, false_positive_rate=0.1, evaluations=400
    )
    assert labels is not None
    drawn = {True: round(labels / 4), False: round(labels * 3 / 4)}
    rows: list[Row] = [(verdict, False) for verdict, own in drawn.items() for _ in range(own)]
    rows += [(True, None)] * (40 - drawn[True]) + [(False, None)] * (360 - drawn[False])
    assert width(corrected_rate(sample(rows))) == pytest.approx(0.3, rel=0.25)


def test_required_labels_of_an_impossible_judge_or_width() -> None:
    given_rates = {"true_positive_rate": 0.9, "false_positive_rate": 0.1}
    assert judge_required_labels(0.01, passed=0.5, evaluations=100, **given_rates) is None
    for passed, width_wanted in ((0.95, 0.1), (0.05, 0.1), (0.5, 0.0)):
        with pytest.raises(ValueError, match="between"):
            judge_required_labels(width_wanted, passed=passed, evaluations=100, **given_rates)
    with pytest.raises(ValueError, match="tells nothing"):
        judge_required_labels(
            0.1, passed=0.5, evaluations=100, true_positive_rate=0.5, false_positive_rate=0.5
        )


def test_the_alpha_of_krippendorffs_own_example() -> None:
    meg, owen = "0100000010", "1110010000"
    alpha = krippendorff_alpha(list(zip(meg, owen, strict=True)))
    assert alpha == pytest.approx(0.095, abs=0.0005)
    assert krippendorff_alpha([("a", "a"), ("b", "b"), ("c",)]) == 1.0
    assert krippendorff_alpha([("a", "a"), ("a", "a")]) is None
    assert krippendorff_alpha([("a",), ("b",)]) is None


def test_the_strata_are_the_verdicts_and_what_was_drawn_from() -> None:
    drawn = JudgedSample.of(
        [True, True, False], [None, True, False], "abc", drawn_from=[True, False, False]
    )
    assert drawn.passed.tolist() == [True, True, False]
    assert np.bincount(drawn.strata).tolist() == [1, 1, 1] and drawn.labelled == 2
