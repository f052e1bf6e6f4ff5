"""Shares as text."""

from __future__ import annotations

from failproof_es.support.percentages import percent_range


def test_what_is_not_all_is_never_shown_as_all_nor_what_is_not_nothing_as_nothing() -> None:
    shares = (0.0, 0.0004, 0.469, 0.9996, 1)
    assert percent_range(shares) == "0.0 % to 0.1 % to 46.9 % to 99.9 % to 100.0 %"
