"""Ratios and percentages."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil


def ratio(part: int | Fraction, whole: int) -> float | None:
    """`part / whole` as the nearest float; `None` if `whole` is 0.

    It computes every rate of this program but those that a specification defines.
    """
    return float(part / whole) if whole else None


def nearest_rank(count: int, percentile: float) -> int:
    """The rank, from 1, of the value at this percentile (0 to 100) of `count` ordered values.

    It is the rule of every percentile of this program, and that of SQL's `percentile_disc`.
    """
    return max(ceil(count * percentile / 100), 1)


def percent(share: float) -> str:
    """A share from 0 to 1 as text in percent, with one decimal.

    Only 1 is written as `100.0 %`, and only 0 as `0.0 %`.
    """
    rounded = round(share * 100, 1)
    if 0.0 < share < 1.0:
        rounded = min(max(rounded, 0.1), 99.9)
    return f"{rounded:.1f} %"


def percent_range(ends: Iterable[float]) -> str:
    """The two ends of a range of shares as text: `81.2 % to 93.0 %`."""
    return " to ".join(map(percent, ends))


def percent_within(share: float, ends: Iterable[float]) -> str:
    """A share with the two ends of its range as text: `56.2 % (39.4 % to 71.4 %)`."""
    return f"{percent(share)} ({percent_range(ends)})"
