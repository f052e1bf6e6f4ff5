"""Kappa against a published example, against the delta method done numerically, at its edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from failproof_es.report.data.kappa import FEWEST_CLUSTERS, agreement

Pairs = list[tuple[str, str]]

SKIN = ((10, 4, 1, 0), (5, 10, 12, 2), (2, 4, 12, 5), (0, 2, 6, 13))
"""88 patients, two dermatologists: the example of the SAS/STAT documentation, PROC FREQ."""

pair = st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))
pairs = st.lists(pair, min_size=2, max_size=40)


def counted(table: Sequence[Sequence[int]]) -> Pairs:
    cells = product(range(len(table)), repeat=2)
    return [(str(i), str(j)) for i, j in cells for _ in range(table[i][j])]


def kappa_of(proportions: np.ndarray) -> float:
    expected = proportions.sum(axis=1) @ proportions.sum(axis=0)
    return float((np.trace(proportions) - expected) / (1 - expected))


def kappa_over_kinds(proportions: np.ndarray) -> float:
    """What agrees beyond what chance gives within each kind, of what chance leaves."""
    shares = [kind.sum() for kind in proportions]
    expected = sum(
        share * ((kind / share).sum(axis=1) @ (kind / share).sum(axis=0))
        for kind, share in zip(proportions, shares, strict=True)
        if share > 0
    )
    agreed = sum(np.trace(kind) for kind in proportions)
    return float((agreed - expected) / (1 - expected))


def numerical_error(
    proportions: np.ndarray, count: int, kappa: Callable[[np.ndarray], float] = kappa_of
) -> float:
    """The delta method for a multinomial table, its gradient by central differences."""
    step = 1e-6
    gradient = np.zeros(proportions.size)
    for cell in range(proportions.size):
        moved = np.zeros(proportions.shape)
        moved.flat[cell] = step
        gradient[cell] = (kappa(proportions + moved) - kappa(proportions - moved)) / 2 / step
    flat = proportions.ravel()
    covariance = np.diag(flat) - np.outer(flat, flat)
    return float(np.sqrt(max(gradient @ covariance @ gradient, 0.0) / count))


def test_the_published_example() -> None:
    found = agreement(counted(SKIN), added=0)
    assert found.interval is not None and found.kappa is not None
    assert (found.pairs, found.agreeing) == (88, 45)
    assert round(found.kappa, 4) == 0.3449
    assert [round(bound, 4) for bound in found.interval] == [0.2030, 0.4868]


@given(pairs)
def test_the_interval_is_that_of_the_delta_method(given_pairs: Pairs) -> None:
    found = agreement(given_pairs, added=0)
    assume(found.kappa is not None)
    words = sorted({word for pair in given_pairs for word in pair})
    table = np.zeros((len(words), len(words)))
    for one, other in given_pairs:
        table[words.index(one), words.index(other)] += 1 / len(given_pairs)
    assert found.kappa == pytest.approx(kappa_of(table))
    error = numerical_error(table, len(given_pairs))
    if found.interval is None:
        assert error < 1e-4
        return
    margin = NormalDist().inv_cdf(0.975) * error
    assert found.kappa is not None
    expected = (max(found.kappa - margin, -1.0), min(found.kappa + margin, 1.0))
    assert found.interval == pytest.approx(expected, abs=1e-4)


@given(st.lists(st.tuples(st.sampled_from("xyz"), pair), min_size=2, max_size=40))
def test_the_interval_over_kinds_is_that_of_the_delta_method(given: list[tuple[str, Any]]) -> None:
    kinds, given_pairs = [kind for kind, _ in given], [pair for _, pair in given]
    found = agreement(given_pairs, kinds=kinds, added=0)
    assume(found.kappa is not None)
    table = np.zeros((3, 3, 3))
    for kind, (one, other) in given:
        table["xyz".index(kind), "abc".index(one), "abc".index(other)] += 1 / len(given)
    assert found.kappa == pytest.approx(kappa_over_kinds(table))
    error = numerical_error(table, len(given), kappa_over_kinds)
    if found.interval is None:
        assert error < 1e-4
        return
    margin = NormalDist().inv_cdf(0.975) * error
    assert found.kappa is not None
    expected = (max(found.kappa - margin, -1.0), min(found.kappa + margin, 1.0))
    assert found.interval == pytest.approx(expected, abs=1e-4)


@given(pairs)
def test_it_does_not_matter_who_is_named_first(given_pairs: Pairs) -> None:
    swapped = agreement([(other, one) for one, other in given_pairs])
    found = agreement(given_pairs)
    assert (found.pairs, found.agreeing) == (swapped.pairs, swapped.agreeing)
    if found.kappa is not None:
        assert found.kappa == pytest.approx(swapped.kappa)


def test_full_agreement_of_few_is_not_called_certain() -> None:
    found = agreement([("pass", "pass")] * 3 + [("fail", "fail")] * 2)
    assert (found.kappa, found.agreeing) == (1.0, found.pairs)
    assert found.interval is not None and found.interval[0] < 0.1 and found.interval[1] == 1.0
    many = agreement([("pass", "pass")] * 300 + [("fail", "fail")] * 200)
    assert many.interval is not None and many.interval[0] > 0.98


@pytest.mark.parametrize("positive", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("count", [40, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.long
def test_two_who_toss_coins_have_an_interval_that_holds_0(positive: float, count: int) -> None:
    """However they are weighted: nearly all alike is where it is hard."""
    chance = np.random.default_rng(20261122)
    holding = []
    for _ in range(300):
        said = (chance.random((count, 2)) < positive).astype(str)
        found = agreement([(str(one), str(other)) for one, other in said], range(count))
        if found.interval is not None:
            holding.append(found.interval[0] <= 0 <= found.interval[1])
    assert len(holding) > 200 and np.mean(holding) >= 0.93


def test_there_is_no_kappa_where_chance_alone_agrees_or_nothing_was_compared() -> None:
    same = agreement([("pass", "pass")] * 5)
    assert (same.kappa, same.interval, same.agreeing) == (None, None, same.pairs)
    nothing = agreement([])
    assert (nothing.kappa, nothing.interval, nothing.pairs) == (None, None, 0)


def test_answers_that_belong_together_are_less_evidence() -> None:
    once = counted(((8, 3), (2, 7)))
    alone = agreement(once, range(len(once)), added=0)
    copied = agreement(once * 4, list(range(len(once))) * 4, added=0)
    taken_as_new = agreement(once * 4, added=0)
    assert copied.kappa == pytest.approx(alone.kappa)
    assert copied.interval == pytest.approx(alone.interval)
    assert copied.interval is not None and taken_as_new.interval is not None
    assert copied.interval[0] < taken_as_new.interval[0]


def test_clusters_of_one_differ_from_none_by_what_few_clusters_cost() -> None:
    once = counted(((8, 3), (2, 7)))
    alone, clustered = agreement(once, added=0), agreement(once, range(20), added=0)
    assert alone.interval is not None and clustered.interval is not None
    widths = [high - low for low, high in (alone.interval, clustered.interval)]
    student = 2.093024 / 1.959964  # two-sided 95 %, 19 degrees of freedom, against infinitely many
    assert widths[1] / widths[0] == pytest.approx(student * (20 / 19) ** 0.5, rel=1e-6)


def test_few_clusters_have_no_interval() -> None:
    once = counted(((8, 3), (2, 7)))
    few = [n % (FEWEST_CLUSTERS - 1) for n in range(len(once))]
    enough = [n % FEWEST_CLUSTERS for n in range(len(once))]
    assert agreement(once, few).interval is None
    assert agreement(once, enough).interval is not None


@pytest.mark.long
def test_the_clustered_interval_covers_what_it_says() -> None:
    """Two raters over 20 cases of 5 items, a fifth of the cases too hard for the second."""
    chance = np.random.default_rng(20261121)

    def rated(cases: int) -> tuple[Pairs, list[int]]:
        truth = chance.random((cases, 5)) < 0.7
        skill = np.where(chance.random(cases) < 0.2, 0.55, 0.95)[:, None]
        one = truth ^ (chance.random(truth.shape) > 0.92)
        other = truth ^ (chance.random(truth.shape) > skill)
        said = zip(one.ravel().astype(str), other.ravel().astype(str), strict=True)
        return [(str(a), str(b)) for a, b in said], [n for n in range(cases) for _ in range(5)]

    truly = agreement(rated(40_000)[0]).kappa
    assert truly is not None
    intervals = [agreement(*rated(20)).interval for _ in range(300)]
    covering = sum(each is not None and each[0] <= truly <= each[1] for each in intervals)
    assert 0.90 <= covering / len(intervals) <= 0.98
