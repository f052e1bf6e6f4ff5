"""A share, and as a percentage."""

from __future__ import annotations

from fractions import Fraction


def ratio(part: int | Fraction, whole: int) -> float | None:
    """Every rate that this program computes, but those that a specification defines: exact until it
    is a float; `None` of nothing."""
    return float(part / whole) if whole else None


def percent(share: float) -> str:
    """A share in percent. Only all is written as 100 %, and only none as 0 %."""
    rounded = round(share * 100, 1)
    if 0.0 < share < 1.0:
        rounded = min(max(rounded, 0.1), 99.9)
    return f"{rounded:.1f} %"
