"""The permutation test of paired differences, which flips the signs of clusters. Exact.

The p value counts permuted sums that are as far from 0 as the observed one, so sums are compared
as integers and never as floats: 2/3 - 1/3 and 1/3 are one number. p is symmetric in both sides and
does not depend on the order of the clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import floor, fsum, gcd, lcm, log2

import numpy as np
from numpy.typing import NDArray

LARGEST_DENOMINATOR = 1_000_000
FLOAT_ERROR = 2.0**-50
"""A fraction this close to a float, relative to the larger of the float and 1, is what the float
was computed from: adding and subtracting a few scores between 0 and 1 errs by less."""
LARGEST_TABLE = 300_000_000
"""Largest clusters times range of their sums for which the distribution of sums is computed by
convolution, which takes a fraction of a second.
"""
MOST_ENUMERATED = 36
"""Most clusters for which all combinations of signs are enumerated, as two halves of 2^18 sums
each, if the range of their sums is too large.
"""
RESAMPLES = 9_999
SEED = 20_241_101
_INTEGERS_AT_ONCE = 4_000_000
_LARGEST_SUM = 2**62
_LARGEST_COMMON = 10**12

Integers = NDArray[np.int64]


@lru_cache(maxsize=65_536)
def as_fraction(number: float) -> Fraction:
    """The fraction with the smallest denominator, up to a million, within float error of the
    number; where there is none, the binary fraction that the float is."""
    binary = Fraction(number)
    short = binary.limit_denominator(LARGEST_DENOMINATOR)
    return short if abs(short - binary) <= FLOAT_ERROR * max(1.0, abs(number)) else binary


def as_integers(numbers: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """The numbers as integers times a common unit, and the unit.

    The integers' absolute values add up to less than 2^62. Exact if a common denominator keeps the
    sum below that. Else each number is rounded to a multiple of the unit: a power of two divided by
    the common denominator of as many numbers, smallest denominator first, as keep it below 10^12.
    Equal numbers stay equal, and the unit is below 2^-58 of the sum.
    """
    total = fsum(abs(number) for number in numbers)
    if not total:
        return [0] * len(numbers), Fraction(1)
    denominators = sorted({number.denominator for number in numbers})
    common = _common_multiple(denominators, _LARGEST_SUM)
    if common is not None and total * common < _LARGEST_SUM / 2:
        integers = [int(number * common) for number in numbers]
        shared = gcd(*integers)
        return [number // shared for number in integers], Fraction(shared, common)
    unit = Fraction(1, _common_multiple(denominators, _LARGEST_COMMON, partly=True) or 1)
    exponent = floor(log2(total) - log2(unit)) - 59
    unit *= Fraction(2) ** exponent
    return [round(number / unit) for number in numbers], unit


def _common_multiple(numbers: Sequence[int], most: int, *, partly: bool = False) -> int | None:
    """The least common multiple of `numbers`, if it is at most `most`.

    Else `None` or, with `partly`, the multiple of as many of the first numbers as keep it there.
    """
    multiple = 1
    for number in numbers:
        following = lcm(multiple, number)
        if following > most:
            return multiple if partly else None
        multiple = following
    return multiple


def sign_permutation(sums: Sequence[Fraction]) -> float:
    """The two-sided p value of the clusters' `sums`: how often a sum is as far from 0.

    It is the share of all combinations of signs whose sum is at least as far from 0 as the observed
    one. Exact to float precision by convolution where the sums' reach allows it, by enumeration of
    up to 36 clusters, else by 9,999 seeded combinations.
    """
    integers, _ = as_integers(sums)
    sizes = np.sort(np.array([abs(number) for number in integers if number], dtype=np.int64))
    if not len(sizes):
        return 1.0
    whole = int(sizes.sum())
    turned = (whole - abs(sum(integers))) // 2
    """A sum is at least as far from 0 if the sizes of one sign add up to no more than this."""
    if len(sizes) * (turned + 1) <= LARGEST_TABLE:
        return min(1.0, 2 * _by_convolution(sizes, turned))
    if len(sizes) <= MOST_ENUMERATED:
        return min(1.0, 2 * _by_enumeration(sizes, turned))
    return _by_drawing(sizes, turned, whole - turned)


def _by_convolution(sizes: Integers, most: int) -> float:
    """The probability that a random subset of the sizes adds up to `most` or less."""
    chances = np.zeros(most + 1)
    chances[0] = 1.0
    reached = 0
    for size in map(int, sizes):
        reached = min(most, reached + size)
        chances[: reached + 1] *= 0.5
        if size <= reached:
            chances[size : reached + 1] += chances[: reached + 1 - size].copy()
    return float(chances.sum())


def _by_enumeration(sizes: Integers, most: int) -> float:
    """The probability that a random subset of the sizes adds up to `most` or less.

    Subset sums of one half are looked up among those of the other.
    """
    one, other = _subset_sums(sizes[::2]), np.sort(_subset_sums(sizes[1::2]))
    parts = int(np.searchsorted(other, most - one, side="right").sum())
    return parts / 2.0 ** len(sizes)


def _subset_sums(sizes: Integers) -> Integers:
    sums = np.zeros(1, dtype=np.int64)
    for size in sizes:
        sums = np.concatenate([sums, sums + size])
    return sums


def _by_drawing(sizes: Integers, low: int, high: int) -> float:
    """The share of 9,999 drawn subsets whose sum is `low` or less, or `high` or more."""
    chance = np.random.default_rng(SEED)
    at_once = max(1, _INTEGERS_AT_ONCE // len(sizes))
    as_far, remaining = 0, RESAMPLES
    while remaining:
        drawn = chance.integers(0, 2, (min(at_once, remaining), len(sizes)))
        sums = drawn @ sizes
        as_far += int(np.count_nonzero((sums <= low) | (sums >= high)))
        remaining -= len(drawn)
    return (as_far + 1) / (RESAMPLES + 1)
