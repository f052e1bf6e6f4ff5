"""Exact decimal arithmetic on recorded numbers: 0.1 is a tenth. Pure.

A binary float only approximates it: the mean of 0, 0 and 0.3 would be less than 0.1, and miss a
limit of 0.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Inexact
from fractions import Fraction
from functools import lru_cache

UNROUNDED = Context(prec=2_000, traps=[Inexact])
"""A context that never rounds: it raises `Inexact` instead. So a sum depends neither on its order
nor on the program that computes it."""


@lru_cache(maxsize=4_096)
def exact(number: float) -> Fraction:
    """The number as it is written in decimals. Raises `ValueError` if it is not a number."""
    return Fraction(repr(float(number)))


def difference(one: float, other: float) -> float:
    """`one` less `other`, exact in decimals: 0.5 less 0.4 is 0.1."""
    return float(exact(one) - exact(other))


def mean(numbers: Iterable[float]) -> float:
    """The exact mean of the numbers, whatever their order. There must be at least one."""
    total, count = Fraction(0), 0
    for number in numbers:
        total, count = total + exact(number), count + 1
    return float(total / count)
