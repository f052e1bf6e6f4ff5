"""The permutation test against enumeration in fractions, and its interval against the test."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.support.statistics import compare_outcomes, compare_scores
from failproof_es.support.statistics import sign_permutation as module
from failproof_es.support.statistics.sign_permutation import (
    as_fraction,
    as_integers,
    sign_permutation,
)


def enumerated(sums: Sequence[Fraction]) -> float:
    """The share of all combinations of signs whose sum is as far from 0, one by one."""
    total = abs(sum(sums, Fraction(0)))
    turned = [
        abs(sum((sign * number for sign, number in zip(signs, sums, strict=True)), Fraction(0)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    return sum(number >= total for number in turned) / len(turned)


FRACTIONS = st.sampled_from((1, 2, 3, 6, 7, 10)).flatmap(
    lambda parts: st.integers(-parts, parts).map(lambda number: Fraction(number, parts))
)


def test_thirds_that_add_up_alike_are_as_far() -> None:
    """Rounded to twelve decimals before they were compared, they gave 0.625."""
    assert compare_scores([-1 / 3, 1, -1, 2 / 3, 2 / 3]).p == 0.6875
    twelfth = [n / 3 for n in (3, 1, 3, 2, -1, -3, 2, -1, 2, 3, 2, 2)]
    assert compare_scores(twelfth).p == pytest.approx(0.06640625)


@given(st.lists(st.lists(FRACTIONS, min_size=1, max_size=3), min_size=1, max_size=8))
def test_every_combination_of_signs_is_counted(clusters: list[list[Fraction]]) -> None:
    """Of values as floats, in clusters."""
    values = [float(number) for own in clusters for number in own]
    names = [at for at, own in enumerate(clusters) for _ in own]
    expected = enumerated([sum(own, Fraction(0)) for own in clusters])
    assert compare_scores(values, names).p == pytest.approx(expected, rel=1e-12)


@given(
    st.lists(FRACTIONS, min_size=1, max_size=60), st.randoms(use_true_random=False), st.booleans()
)
def test_p_is_the_same_whoever_is_named_first_and_in_whatever_order(
    sums: list[Fraction], order: random.Random, turned: bool
) -> None:
    once = compare_scores(list(map(float, sums)))
    order.shuffle(sums)
    again = compare_scores([float(-number if turned else number) for number in sums])
    assert again.p == once.p
    assert (again.interval is None) == (once.interval is None)
    if once.interval is not None and again.interval is not None:
        ends = (once.interval.low, once.interval.high)
        expected = (-ends[1], -ends[0]) if turned else ends
        assert (again.interval.low, again.interval.high) == pytest.approx(expected, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("method", ["convolution", "enumeration", "drawing"])
def test_each_way_to_compute_it_gives_the_same(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(method)
    if method != "convolution":
        monkeypatch.setattr(module, "LARGEST_TABLE", 0)
    if method == "drawing":
        monkeypatch.setattr(module, "MOST_ENUMERATED", 0)
    for count in (2, 5, 9, 12):
        sums = [Fraction(chance.randint(-6, 7), chance.choice((1, 3, 7))) for _ in range(count)]
        close = 0.02 if method == "drawing" else 1e-12
        assert sign_permutation(sums) == pytest.approx(enumerated(sums), abs=close)


def test_numbers_that_are_no_short_fractions_tie_where_they_are_equal() -> None:
    odd = 0.7310585786300049
    sums = [as_fraction(number) for number in (odd, odd, -odd, 1 / 3, odd, -0.1234567890123)]
    assert sign_permutation(sums) == enumerated(sums)
    integers, unit = as_integers(sums)
    assert integers[0] == integers[1] == -integers[2]
    assert float(integers[3] * unit) == pytest.approx(1 / 3, abs=1e-15)


def test_many_denominators_take_no_long_time() -> None:
    chance = random.Random(1)
    sums = [Fraction(chance.randint(-999_983, 999_983), n) for n in range(900_000, 903_000)]
    integers, unit = as_integers(sums)
    assert sum(map(abs, integers)) < 2**62
    assert float(integers[7] * unit) == pytest.approx(float(sums[7]), abs=1e-12)
    assert 0 < sign_permutation(sums) <= 1


@pytest.mark.parametrize("number", [0.1 + 0.2, 1 / 3, 2 / 3 - 1 / 3, 1 - 2 / 3, 0.8 - 0.7, 5 / 7])
def test_a_float_is_the_fraction_that_it_was_computed_from(number: float) -> None:
    found = as_fraction(number)
    assert found.denominator <= 10
    assert float(found) == pytest.approx(number, abs=1e-15)


def test_hundreds_of_pairs_need_no_chance() -> None:
    """Against the binomial distribution: each pair alone is McNemar's test."""
    signs = [1.0] * 520 + [-1.0] * 455 + [0.0] * 300
    alone = compare_outcomes([(n > 0, n < 0) for n in signs])
    assert sign_permutation(list(map(Fraction, signs))) == pytest.approx(alone.p, rel=1e-9)


@given(
    st.lists(st.lists(FRACTIONS, min_size=1, max_size=3), min_size=1, max_size=40), st.booleans()
)
def test_test_and_interval_never_contradict_each_other(
    clusters: list[list[Fraction]], outcomes: bool
) -> None:
    names = [at for at, own in enumerate(clusters) for _ in own]
    values = [float(number) for own in clusters for number in own]
    if outcomes:
        found = compare_outcomes([(number > 0.2, number < -0.4) for number in values], names)
    else:
        found = compare_scores(values, names)
    if found.interval is not None:
        assert (found.interval.low <= 0 <= found.interval.high) is (found.p > 0.05)
        assert found.interval.low <= found.difference <= found.interval.high


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(1,) * 8, (1, 3, 2, 2, 1, 3, 1, 2)])
def test_the_interval_holds_the_differences_that_the_test_would_not_reject(
    sizes: tuple[int, ...],
) -> None:
    chance = np.random.default_rng(5)
    for _ in range(3):
        sums = [Fraction(int(n), 6) for n in chance.integers(-6, 9, len(sizes))]
        values = [float(own / size) for own, size in zip(sums, sizes, strict=True)]
        names = [at for at, size in enumerate(sizes) for _ in range(size)]
        each = [value for value, size in zip(values, sizes, strict=True) for _ in range(size)]
        found = compare_scores(each, names).interval
        assert found is not None and found.method == "inverted permutation test"
        for number in range(-48, 80, 3):
            shift = Fraction(number, 40) + Fraction(1, 997)
            moved = [own - shift * size for own, size in zip(sums, sizes, strict=True)]
            inside = found.low <= float(shift) <= found.high
            assert inside is (enumerated(moved) > 0.05), (sums, shift, found)
