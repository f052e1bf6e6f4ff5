"""Formats a share as a percentage."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share in percent. Only all is written as 100 %, and only none as 0 %."""
    shown = round(share * 100, 1)
    if 0.0 < share < 1.0:
        shown = min(max(shown, 0.1), 99.9)
    return f"{shown:.1f} %"
