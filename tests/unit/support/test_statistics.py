"""Every number against a second way to come by it: a closed form, a table, counting, trying."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
import pytest
import scipy  # loads `scipy.stats`, which takes a second, where it is used
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.clusters import ClusterSums
from failproof_es.core.exact_numbers import difference
from failproof_es.support.statistics import (
    OpenInterval,
    benjamini_hochberg,
    clustered_error,
    compare_outcomes,
    compare_scores,
    mcnemar,
    mean_interval,
    percentile_interval,
    rate,
    rate_of_sums,
    wilson,
)
from failproof_es.support.statistics.sign_permutation import sign_permutation
from tests.every import every

Z = NormalDist().inv_cdf(0.975)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_the_root_of_its_equation(counts: tuple[int, int]) -> None:
    k, n = counts
    middle = (k + Z**2 / 2) / (n + Z**2)
    margin = Z / (n + Z**2) * sqrt(k * (n - k) / n + Z**2 / 4)
    found = wilson(k, n)
    assert found.low == pytest.approx(max(0, middle - margin), abs=1e-9)
    assert found.high == pytest.approx(min(1, middle + margin), abs=1e-9)


def test_wilson_of_published_examples() -> None:
    """R. Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263 and 15 of 148."""
    assert (wilson(81, 263).low, wilson(81, 263).high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert (wilson(15, 148).low, wilson(15, 148).high) == pytest.approx((0.0624, 0.1605), abs=5e-5)


@given(st.integers(1, 1000))
def test_none_of_n_allows_at_least_what_the_exact_bound_and_wilson_allow(n: int) -> None:
    found = rate([False] * n).interval
    assert found is not None and found.low == 0.0
    exact, score = 1 - 0.05 ** (1 / n), Z**2 / (n + Z**2)
    assert found.high == pytest.approx(max(exact, score))
    turned = rate([True] * n).interval
    assert turned is not None
    assert (turned.low, turned.high) == pytest.approx((1 - found.high, 1.0))


def test_rates_near_an_end_are_covered_however_few_the_cases() -> None:
    """Over every count there can be, at rates of 0.1 to 10 % and of 90 to 99.9 %."""
    for n in (5, 6, 10, 20, 50, 100):
        ends = [rate([True] * k + [False] * (n - k)).interval for k in range(n + 1)]
        for thousandths in (*range(1, 101, 3), *range(900, 1000, 3)):
            truth = thousandths / 1000
            covered = sum(
                comb(n, k) * truth**k * (1 - truth) ** (n - k)
                for k, interval in enumerate(ends)
                if interval is not None and interval.low <= truth <= interval.high
            )
            assert covered > 0.925, (n, truth)


def test_the_interval_of_failures_is_that_of_passes_turned_round() -> None:
    for n in range(1, 120):
        for k in range(n + 1):
            passes, failures = (
                rate_of_sums(ClusterSums.alone(count, n - count)).interval for count in (k, n - k)
            )
            assert passes is not None and failures is not None
            turned = (1 - failures.high, 1 - failures.low)
            assert (passes.low, passes.high) == pytest.approx(turned, abs=1e-9), (k, n)


def test_all_rates_have_one_method_so_that_a_column_of_them_has_one() -> None:
    outcomes: tuple[list[bool], ...] = [], [True, False, True], [True] * 9, [True, False] * 10
    methods = [
        interval and interval.method
        for some in outcomes
        for clusters in (None, [number // 2 for number in range(len(some))])
        for interval in [rate(some, clusters).interval]
    ]
    assert methods == [None, None, *["Wilson"] * 6]


def test_ten_repetitions_of_three_cases_are_three_and_not_thirty() -> None:
    found = rate([True] * 30, [n // 10 for n in range(30)])
    assert (found.passed, found.total, found.clusters) == (30, 30, 3)
    assert found.interval == rate([True] * 3).interval


def test_the_clustered_error_of_singletons_is_that_of_a_mean() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0]
    found = clustered_error(list(map(Fraction, values)), [1] * 5)
    assert found == pytest.approx(np.std(values, ddof=1) / sqrt(5))


def test_the_clustered_error_is_that_of_the_sandwich_written_out() -> None:
    outcomes = [[1, 1, 0], [0, 0], [1, 1, 1, 1], [0, 1]]
    n = sum(map(len, outcomes))
    mean = sum(map(sum, outcomes)) / n
    meat = sum((x - mean) * (y - mean) for group in outcomes for x in group for y in group)
    expected = sqrt(meat * 4 / 3) / n
    found = clustered_error([Fraction(sum(group)) for group in outcomes], list(map(len, outcomes)))
    assert found == pytest.approx(expected)


def test_clustered_intervals_cover_what_they_say_where_wilson_does_not() -> None:
    """By trying: 40 cases of unequal difficulty, 8 repetitions each, 400 times."""
    chance = np.random.default_rng(7)
    clusters = [case for case in range(40) for _ in range(8)]
    covered = naive = 0
    for _ in range(400):
        difficulty = chance.beta(0.7, 0.7, 40)
        outcomes = [bool(chance.random() < difficulty[case]) for case in clusters]
        found = rate(outcomes, clusters).interval
        alone = rate(outcomes).interval
        assert found is not None and alone is not None
        covered += found.low <= 0.5 <= found.high
        naive += alone.low <= 0.5 <= alone.high
    assert 0.91 <= covered / 400 <= 0.98
    assert naive / 400 < 0.75


@every("cases", [30, 100, 300])
def test_rare_failures_of_repeated_cases_are_covered_where_an_error_would_not(cases: int) -> None:
    """Over every count there can be: each case always fails, 2 in 100, and is asked three times."""
    truth, covered, by_error = 0.02, 0.0, 0.0
    for failed in range(min(cases, 40)):
        chance = comb(cases, failed) * truth**failed * (1 - truth) ** (cases - failed)
        asked = [case for case in range(cases) for _ in range(3)]
        found = rate([case < failed for case in asked], asked).interval
        assert found is not None
        covered += chance * (found.low <= truth <= found.high)
        share = failed / cases
        by_error += chance * (abs(share - truth) <= Z * sqrt(share * (1 - share) / (cases - 1)))
    assert covered >= 0.94
    assert by_error < 0.94 and (cases > 30 or by_error < 0.5)


@every(("b", "c"), [(0, 0), (5, 0), (8, 2), (10, 10), (1, 12)])
def test_mcnemar_counts_the_ways_that_chance_has(b: int, c: int) -> None:
    n = b + c
    as_far = sum(comb(n, k) for k in range(n + 1) if abs(2 * k - n) >= abs(b - c))
    assert mcnemar(b, c) == pytest.approx(min(1.0, as_far / 2**n))


def test_two_models_are_compared_on_their_discordant_cases() -> None:
    pairs = [(True, True)] * 40 + [(True, False)] * 12 + [(False, True)] * 2 + [(False, False)] * 6
    found = compare_outcomes(pairs)
    assert (found.first_only, found.second_only, found.test) == (12, 2, "exact McNemar")
    assert found.difference == pytest.approx(10 / 60)
    assert found.p == pytest.approx(mcnemar(12, 2)) and found.p < 0.02
    variance = (14 / 60 - (10 / 60) ** 2) / 59  # of a mean of -1, 0 and 1
    assert found.interval is not None and found.interval.method == "Bonett-Price"
    first, second = 13 / 62, 3 / 62  # one pair more on either side
    margin = Z * sqrt((first + second - (first - second) ** 2) / 62)
    expected = (10 / 62 - margin, 10 / 62 + margin)
    assert (found.interval.low, found.interval.high) == pytest.approx(expected)
    power = NormalDist().inv_cdf(0.8)
    assert found.smallest_effect == pytest.approx((Z + power) * sqrt(variance))


def test_pairs_of_one_cluster_are_not_counted_as_independent() -> None:
    pairs = [(True, False)] * 10
    alone = compare_outcomes(pairs)
    together = compare_outcomes(pairs, [0] * 5 + [1] * 5)
    assert alone.p < 0.01 < together.p and together.test == "permutation of signs"


def test_nothing_that_differs_is_no_difference_and_excludes_none_but_large_ones() -> None:
    for pairs in ([(True, True), (False, False)], [(True, True)], []):
        found = compare_outcomes(pairs)
        assert (found.difference, found.p, found.interval is None) == (0.0, 1.0, not pairs)
        assert (found.pairs, found.clusters) == (len(pairs), len(pairs))
    wide = compare_outcomes([(True, True)] * 5).interval
    narrow = compare_outcomes([(True, True)] * 500).interval
    assert wide is not None and narrow is not None
    assert wide.high > 0.3 and wide.low < -0.3 and 0 < narrow.high < 0.01


@every(("of_each", "passing"), [(22, 15), (23, 13), (49, 3)])
def test_clusters_that_are_all_alike_do_not_make_a_rate_certain(of_each: int, passing: int) -> None:
    """No wider than if all were independent, and no narrower."""
    outcomes = [n < passing for n in range(of_each)] * 20
    found = rate(outcomes, [n // of_each for n in range(len(outcomes))]).interval
    alone = rate(outcomes).interval
    assert found is not None and alone is not None
    assert (found.low, found.high) == (alone.low, alone.high)


def test_a_rate_over_few_clusters_is_no_wider_than_over_as_many_single_outcomes() -> None:
    """37 of 51 in six clusters: 30 to 97 % as if each cluster were one outcome."""
    sizes, passing = (9, 9, 9, 8, 8, 8), (7, 6, 8, 5, 6, 5)
    outcomes = [n < k for size, k in zip(sizes, passing, strict=True) for n in range(size)]
    names = [at for at, size in enumerate(sizes) for _ in range(size)]
    found = rate(outcomes, names)
    assert (found.passed, found.total, found.clusters) == (37, 51, 6)
    assert found.interval is not None
    assert 0.55 < found.interval.low < 0.65 and 0.8 < found.interval.high < 0.87


def test_the_same_difference_everywhere_has_no_error_to_speak_of() -> None:
    found = compare_scores([0.1] * 3)
    assert (found.interval, found.smallest_effect) == (None, None)


@pytest.mark.long
@given(st.lists(st.floats(0.0001, 1.0), min_size=1, max_size=20))
def test_adjusted_p_values_are_those_of_the_step_up_procedure(values: list[float]) -> None:
    n = len(values)
    order = sorted(range(n), key=values.__getitem__)
    expected = [0.0] * n
    least = 1.0
    for rank in range(n, 0, -1):
        at = order[rank - 1]
        least = min(least, values[at] * n / rank)
        expected[at] = least
    assert benjamini_hochberg(values) == pytest.approx(expected)
    assert benjamini_hochberg([]) == []


def test_unlike_outcomes_of_one_case_alone_say_next_to_nothing() -> None:
    found = rate([True, False, True], ["one"] * 3)
    assert found.clusters == 1
    assert found.interval is not None
    assert found.interval.high - found.interval.low > 0.9


def test_what_was_asked_again_is_no_further_evidence_for_a_mean_or_a_percentile() -> None:
    """Each value four times, of one case each: as wide as of each once, and not half as wide."""
    drawn: list[float] = np.random.default_rng(7).normal(100, 10, 60).tolist()

    def middle(values: list[float], of: Sequence[int]) -> OpenInterval | None:
        return percentile_interval(values, 50, of)

    for found in (mean_interval, middle):
        widths = []
        for values, of in (
            (drawn, range(60)),
            (drawn * 4, list(range(60)) * 4),
            (drawn * 4, range(240)),
        ):
            interval = found(values, of)
            assert interval is not None
            assert interval.low is not None and interval.high is not None
            widths.append(interval.high - interval.low)
        once, again, taken_as_new = widths
        assert again == pytest.approx(once, rel=0.15)
        assert taken_as_new < 0.75 * once


def test_a_mean_of_few_cases_asked_often_covers_what_it_says() -> None:
    chance = np.random.default_rng(11)
    covering = []
    for _ in range(200):
        of_case = chance.normal(0.5, 0.2, 40)
        values = (np.repeat(of_case, 5) + chance.normal(0, 0.02, 200)).tolist()
        found = mean_interval(values, np.repeat(range(40), 5).tolist())
        assert found is not None and found.low is not None and found.high is not None
        covering.append(found.low <= 0.5 <= found.high)
    assert np.mean(covering) >= 0.9
    assert mean_interval([1.0] * 6, [1, 1, 2, 2, 3, 3]) is None


GRADES = st.integers(0, 10).map(lambda tenths: tenths / 10)


@given(grades=st.lists(st.tuples(GRADES, GRADES), min_size=1, max_size=8))
def test_a_difference_of_decimal_grades_is_what_people_reckon(
    grades: list[tuple[float, float]],
) -> None:
    total = sum(Decimal(str(one)) - Decimal(str(other)) for one, other in grades)
    found = compare_scores([difference(one, other) for one, other in grades], [0] * len(grades))
    assert found.difference == float(total / len(grades))


@given(
    clusters=st.lists(st.lists(GRADES, min_size=1, max_size=3), min_size=2, max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_no_figure_depends_on_the_order_of_cases(
    clusters: list[list[float]], order: random.Random
) -> None:
    def figures(of: list[tuple[int, list[float]]]) -> list[object]:
        values = [value for _, each in of for value in each]
        names = [name for name, each in of for _ in each]
        outcomes = [value > 0.5 for value in values]
        return [
            rate(outcomes, names),
            mean_interval(values, names),
            percentile_interval(values, 50, names),
            compare_scores([value - 0.5 for value in values], names),
            compare_outcomes([(each, not each) for each in outcomes], names),
        ]

    named = list(enumerate(clusters))
    once = figures(named)
    order.shuffle(named)
    shuffled = [(name, order.sample(each, len(each))) for name, each in named]
    assert figures(shuffled) == once


def test_an_interval_of_differences_that_ends_at_zero_ends_exactly_there() -> None:
    lower = [difference(one, other) for one, other in ((0.5, 0.4), (0.3, 0.4), (0.1, 0.9))]
    found = compare_scores([*lower, *lower], [*"aabccd"]).interval
    assert found is None, "four clusters exclude no difference at 5 %"


@every("total", [1, 2, 7, 60, 1_000, 499_999])
def test_wilsons_interval_is_that_of_scipy(total: int) -> None:
    for passed in sorted({0, 1, total // 3, total // 2, total - 1, total}):
        for confidence in (0.9, 0.95):
            known = scipy.stats.binomtest(passed, total).proportion_ci(confidence, method="wilson")
            found = wilson(passed, total, confidence)
            assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-14)


def test_mcnemars_test_is_the_permutation_of_single_pairs() -> None:
    pairs = [(True, False)] * 9 + [(False, True)] * 3 + [(True, True)] * 20
    found = compare_outcomes(pairs)
    scores = compare_scores([float(one) - float(other) for one, other in pairs])
    assert found.test == "exact McNemar" and scores.test == "permutation of signs"
    assert found.p == pytest.approx(scipy.stats.binomtest(3, 12).pvalue)
    assert sign_permutation([Fraction(1)] * 9 + [Fraction(-1)] * 3) == pytest.approx(found.p)
    assert (found.difference, found.interval) == (scores.difference, scores.interval)
    assert found.smallest_effect == scores.smallest_effect
    assert (found.first_only, found.second_only) == (9, 3)


@every("percent", [5, 25, 50, 95])
@every("count", [72, 100, 250])
def test_the_interval_of_a_percentile_is_that_of_scipy(percent: float, count: int) -> None:
    values = np.random.default_rng(count).exponential(1.0, count).tolist()
    found = percentile_interval(values, percent, range(count))
    known = scipy.stats.quantile_test(values, q=0, p=percent / 100).confidence_interval(0.95)
    assert found is not None
    assert (found.low, found.high) == (known.low, known.high)


@every(
    ("count", "percent", "ends"),
    [
        (2, 95, (0.0, None)),
        (20, 95, (16.0, None)),
        (58, 95, (51.0, None)),
        (59, 95, (49.0, 58.0)),
        (4, 50, None),
        (5, 50, (0.0, None)),
        (6, 50, (0.0, 5.0)),
        (58, 5, (None, 6.0)),
        (59, 5, (0.0, 9.0)),
    ],
)
def test_an_end_that_the_sample_cannot_hold_is_open(
    count: int, percent: float, ends: tuple[float | None, float | None] | None
) -> None:
    found = percentile_interval([float(n) for n in range(count)], percent, range(count))
    assert (None if found is None else (found.low, found.high)) == ends
    if found is not None:
        below = scipy.stats.binom.cdf(-1 if found.low is None else found.low, count, percent / 100)
        above = 1 - scipy.stats.binom.cdf(
            count if found.high is None else found.high, count, percent / 100
        )
        assert below + above <= 0.05 + 1e-9


def test_of_one_value_often_no_percentile_has_an_interval() -> None:
    assert percentile_interval([3.0] * 200, 95, range(200)) is None
    assert percentile_interval([], 95, []) is None
