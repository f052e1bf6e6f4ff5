"""Two models or runs on the same questions: the difference, its test, and its interval.

A test and its interval never contradict each other: the interval contains 0 if and only if the
p value is above 5 %.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import nextafter, sqrt
from typing import Literal

import numpy as np
from scipy.special import ndtri

from failproof_es.core.exact_numbers import mean
from failproof_es.support.statistics.interval import CONFIDENCE, POWER, Floats, Interval
from failproof_es.support.statistics.rates import binomial_cdf, effective_size
from failproof_es.support.statistics.sign_permutation import (
    RESAMPLES,
    SEED,
    as_fraction,
    as_integers,
    sign_permutation,
)

LARGEST_TABLE = 40_000_000
"""Largest clusters times cells in a table of their sums and sizes. Up to it the means of all
subsets are counted, in a third of a second; above it 9,999 subsets are drawn.
"""
_NUMBERS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Paired:
    """Two that were asked the same: where they differ, by how much, and whether by chance.

    `difference` is the first's mean less the second's over `pairs`. `first_only` and
    `second_only` count the discordant pairs of pass and fail, `None` for scores.
    """

    pairs: int
    clusters: int
    difference: float
    interval: Interval | None
    """`None` without pairs, and for scores over fewer than six clusters, with which the test cannot
    exclude a difference.
    """
    p: float
    test: Literal["exact McNemar", "permutation of signs"]
    first_only: int | None
    second_only: int | None
    smallest_effect: float | None
    """The smallest difference that as many pairs detect with a power of 80 %."""


def compare_outcomes(
    pairs: Sequence[tuple[bool, bool]], clusters: Sequence[Hashable] | None = None
) -> Paired:
    """Compare pass and fail of two models on the same cases, by McNemar's exact test.

    A pair is whether the first and whether the second passed; `clusters` names each pair's cluster,
    by default its own. If a cluster has several pairs, the test permutes the signs of clusters,
    because McNemar's would take the pairs as independent.
    """
    first_only = sum(one and not other for one, other in pairs)
    second_only = sum(other and not one for one, other in pairs)
    comparison = compare_scores([float(one) - float(other) for one, other in pairs], clusters)
    alone = comparison.clusters == len(pairs)
    return replace(
        comparison, test="exact McNemar" if alone else "permutation of signs",
        first_only=first_only, second_only=second_only,
    )  # fmt: skip


def mcnemar(first_only: int, second_only: int) -> float:
    """The exact two-sided p value of McNemar's test; 1 without discordant pairs.

    `first_only` and `second_only` are the numbers of pairs of which only that side passed: each
    gets half of the discordant pairs by chance.
    """
    if first_only == second_only:
        return 1.0
    fewer, discordant = min(first_only, second_only), first_only + second_only
    return min(2 * binomial_cdf(fewer, discordant, 0.5), 1.0)


def compare_scores(
    differences: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Paired:
    """Test the mean of paired differences (first score less second) by permutation.

    `clusters` names the cluster of each difference; by default each is its own. The test flips the
    signs of clusters.
    """
    names: Sequence[Hashable] = range(len(differences)) if clusters is None else clusters
    members: defaultdict[Hashable, list[float]] = defaultdict(list)
    for value, name in zip(differences, names, strict=True):
        members[name].append(value)
    sums = [sum(map(as_fraction, own), Fraction(0)) for own in members.values()]
    sizes = [len(own) for own in members.values()]
    if len(members) == len(differences) and set(differences) <= {-1.0, 0.0, 1.0}:
        p = mcnemar(
            sum(delta > 0 for delta in differences), sum(delta < 0 for delta in differences)
        )
    else:
        p = sign_permutation(sums)
    error = clustered_error(sums, sizes) if len(members) > 1 else 0.0
    smallest = None
    if error > 0:
        smallest = float(ndtri((1 + CONFIDENCE) / 2) + ndtri(POWER)) * error
    difference = mean(differences) if differences else 0.0
    return Paired(
        len(differences), len(members), difference,
        _interval(differences, sums, sizes, difference, p), p,
        "permutation of signs", None, None, smallest,
    )  # fmt: skip


def clustered_error(sums: Sequence[Fraction], sizes: Sequence[int]) -> float:
    """The standard error of a mean of clustered numbers, with the factor G / (G - 1).

    `sums` and `sizes` are the sum and the number of values of each of the G clusters; G is at least
    2.
    """
    count = len(sums)
    return sqrt(count / (count - 1) * _squared_deviations(sums, sizes)) / sum(sizes)


def _squared_deviations(sums: Sequence[Fraction], sizes: Sequence[int]) -> float:
    """The sum over clusters of (sum - mean * size)^2. Exactly 0 if all means are alike.

    `sums` and `sizes` have one number for each cluster.
    """
    integers, unit = as_integers(sums)
    whole, size = sum(integers), sum(sizes)
    squares = sum(
        (own * size - whole * its_size) ** 2 for own, its_size in zip(integers, sizes, strict=True)
    )
    return float(Fraction(squares, size * size) * unit * unit)


def _interval(
    differences: Sequence[float],
    sums: Sequence[Fraction],
    sizes: Sequence[int],
    difference: float,
    p: float,
) -> Interval | None:
    """The interval of a mean difference, made consistent with the p value of its test.

    `sums` and `sizes` are the sum and the number of differences of each cluster. `None` without
    differences, and where the inverted test has no interval.
    """
    if not differences:
        return None
    if set(differences) <= {-1.0, 0.0, 1.0}:
        interval: Interval | None = _bonett_price(differences, sums, sizes)
    else:
        interval = _inverted(sums, sizes)
    return None if interval is None else _reconcile_with_test(interval, difference, p)


def _reconcile_with_test(interval: Interval, difference: float, p: float) -> Interval:
    """The interval with one end moved, so that it contains 0 exactly if p is above 5 %."""
    low, high = interval.low, interval.high
    if p > 1 - CONFIDENCE:
        low, high = min(low, 0.0), max(high, 0.0)
    elif difference > 0:
        low = max(low, nextafter(0.0, 1.0))
    else:
        high = min(high, nextafter(0.0, -1.0))
    return replace(interval, low=low, high=high)


def _bonett_price(
    differences: Sequence[float], sums: Sequence[Fraction], sizes: Sequence[int]
) -> Interval:
    """The interval of a difference of two rates by Bonett and Price, at 95 %.

    Each difference is -1, 0 or 1; `sums` and `sizes` are the sum and the number of differences of
    each cluster. The method (D. Bonett, R. Price, Journal of Educational and Behavioral Statistics
    37, 2012) adds one discordant pair to either side, here to the effective number of pairs, so
    that the interval has a width even if no pair differs.
    """
    size, count = len(differences), len(sums)
    first = sum(difference > 0 for difference in differences) / size
    second = sum(difference < 0 for difference in differences) / size
    variance = first + second - (first - second) ** 2
    effective = float(size)
    if count < size:
        squares = sum(cluster_size * cluster_size for cluster_size in sizes)
        effective = size * size / squares
        if variance:
            deviations = _squared_deviations(sums, sizes)
            effective = effective_size(
                variance, deviations, size, count, squares, unlike=count, most=size
            )
    first, second = ((share * effective + 1) / (effective + 2) for share in (first, second))
    middle = first - second
    z = float(ndtri((1 + CONFIDENCE) / 2))
    margin = z * sqrt((first + second - middle**2) / (effective + 2))
    return Interval(max(middle - margin, -1.0), min(middle + margin, 1.0), "Bonett-Price")


def _inverted(sums: Sequence[Fraction], sizes: Sequence[int]) -> Interval | None:
    """The interval of all mean differences that the permutation test does not reject at 5 %.

    `sums` and `sizes` are the sum and the number of differences of each cluster. By J. Hartigan,
    JASA 64 (1969), the test rejects a difference beyond nearly all means of subsets of the
    clusters. `None` if it rejects no difference, as with too few clusters.
    """
    integers, unit = as_integers(sums)
    means, chances = _subset_means(integers, sizes)
    none = 2.0 ** -len(sums)
    low = _first_not_rejected(means, chances, none)
    high = _first_not_rejected(means[::-1], chances[::-1], none)
    if low is None or high is None:
        return None
    scale = float(unit)
    return Interval(low * scale, high * scale, "inverted permutation test")


def _first_not_rejected(means: Floats, chances: Floats, none: float) -> float | None:
    """The first of the ordered means that the test does not reject at 5 %.

    `chances` are the means' probabilities, `none` that of the empty subset. `None` if the test can
    reject no mean at all.
    """
    rejected = 2 * none <= 1 - CONFIDENCE
    if not rejected:
        return None
    at = int(np.searchsorted(np.cumsum(chances) + none, (1 - CONFIDENCE) / 2, side="right"))
    return float(means[at])


def _subset_means(sums: Sequence[int], sizes: Sequence[int]) -> tuple[Floats, Floats]:
    """The means of all non-empty subsets of the clusters, ascending, and their probabilities.

    `sums` and `sizes` have one number for each cluster. If the table of sums would be too large
    (`LARGEST_TABLE`), the means of drawn subsets.
    """
    below = -sum(total for total in sums if total < 0)
    reach = below + sum(total for total in sums if total > 0)
    whole = sum(sizes)
    if (reach + 1) * (whole + 1) * len(sums) > LARGEST_TABLE:
        return _drawn_subset_means(sums, sizes)
    table = np.zeros((whole + 1, reach + 1))
    table[0, below] = 1.0
    for own, size in sorted(zip(sums, sizes, strict=True)):
        table *= 0.5
        halved = table.copy()
        if own >= 0:
            table[size:, own:] += halved[: whole + 1 - size, : reach + 1 - own]
        else:
            table[size:, :own] += halved[: whole + 1 - size, -own:]
    table[0] = 0.0
    rows, columns = np.nonzero(table)
    means = (columns - below) / rows
    order = np.argsort(means, kind="stable")
    return means[order], table[rows, columns][order]


def _drawn_subset_means(sums: Sequence[int], sizes: Sequence[int]) -> tuple[Floats, Floats]:
    order = sorted(zip(sums, sizes, strict=True))
    values = np.array([[float(own), float(size)] for own, size in order])
    chance = np.random.default_rng(SEED)
    means: list[Floats] = []
    remaining, at_once = RESAMPLES, max(1, _NUMBERS_AT_ONCE // len(order))
    while remaining > 0:
        drawn = chance.integers(0, 2, (min(remaining, at_once), len(order)))
        parts = drawn.astype(float) @ values
        parts = parts[parts[:, 1] > 0]
        means.append(parts[:, 0] / parts[:, 1])
        remaining -= len(drawn)
    sorted_means = np.sort(np.concatenate(means))
    return sorted_means, np.full(len(sorted_means), 1 / len(sorted_means))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The p values, in their order, adjusted by Benjamini and Hochberg.

    This bounds the expected share of false discoveries in multiple comparisons.
    """
    count = len(p_values)
    order = np.argsort(p_values, kind="stable")
    scaled = np.asarray(p_values, dtype=float)[order] * (count / np.arange(1, count + 1))
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return [float(p_value) for p_value in adjusted]
