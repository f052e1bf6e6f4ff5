"""Latencies as they are counted: rounded, with their percentiles. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from failproof_es.support.percentages import nearest_rank

SIGNIFICANT_DIGITS = 3
"""Significant digits of counted latencies, in microseconds: 12.34 ms counts as 12.3 ms."""


def latency_bucket(ms: float) -> int:
    """A latency in milliseconds as microseconds, rounded to three significant digits."""
    micros = max(round(ms * 1000), 0)
    return round(micros, SIGNIFICANT_DIGITS - len(str(micros)))


def percentile_ms(latencies: Mapping[int, int], percent: float) -> float | None:
    """The latency in milliseconds at this percentile, from 0 to 100 (`nearest_rank`).

    `latencies` has the number of answers by `latency_bucket`. `None` without answers.
    """
    total = sum(latencies.values())
    if not total:
        return None
    rank, seen = nearest_rank(total, percent), 0
    for bucket in sorted(latencies):
        seen += latencies[bucket]
        if seen >= rank:
            return bucket / 1000
    raise AssertionError("the counts do not add up")
