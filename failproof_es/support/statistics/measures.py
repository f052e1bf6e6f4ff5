"""Means and percentiles of scores, latencies and speeds, with their intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import astuple
from math import ceil, floor, fsum, inf, sqrt

import numpy as np
from scipy.special import stdtrit

from failproof_es.support.statistics.interval import CONFIDENCE, OpenInterval
from failproof_es.support.statistics.rates import (
    binomial_cdf,
    effective_size,
    effective_wilson,
    rate,
)

_ROUNDING = 1e-12
"""Tolerance for equal probabilities: as a float, 1 - 0.95 is not 0.05."""


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    confidence: float = CONFIDENCE,
) -> OpenInterval | None:
    """The interval of the mean of `values`, whose clusters have the names in `clusters`.

    `None` if all values are equal or there is one cluster only. Values between 0 and 1: Wilson's
    interval on the effective size, as for a rate (`rate_of_sums`). Others: Student's t with G - 1
    degrees of freedom for G clusters.
    """
    members: defaultdict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        members[cluster].append(value)
    if len(members) < 2 or min(values) == max(values):
        return None
    mean = fsum(values) / len(values)
    squared = fsum((fsum(own) - mean * len(own)) ** 2 for own in members.values())
    sizes = sum(len(own) ** 2 for own in members.values())
    count, size = len(members), len(values)
    if min(values) >= 0 and max(values) <= 1:
        effective = effective_size(
            mean * (1 - mean), squared, size, count, sizes, unlike=count, most=inf
        )
        if effective == inf:
            return None
        return OpenInterval(*astuple(effective_wilson(mean, effective, confidence)))
    error = sqrt(count / (count - 1) * squared) / size
    margin = float(stdtrit(count - 1, (1 + confidence) / 2)) * error
    return OpenInterval(mean - margin, mean + margin, "Student's t, over clusters", confidence)


def score_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    confidence: float = CONFIDENCE,
) -> OpenInterval | None:
    """The interval of a mean of scores from 0 to 1.

    If all scores are 0 or 1, the interval of their rate (`rate`), else `mean_interval`. `clusters`
    names the cluster of each value. `None` without values, and where `mean_interval` has none.
    """
    if not set(values) <= {0.0, 1.0}:
        return mean_interval(values, clusters, confidence)
    interval = rate([value == 1 for value in values], clusters, confidence).interval
    return None if interval is None else OpenInterval(*astuple(interval))


def percentile_interval(
    values: Sequence[float],
    percent: float,
    clusters: Sequence[Hashable],
    confidence: float = CONFIDENCE,
) -> OpenInterval | None:
    """The interval of the percentile `percent` (0 to 100) of clustered values.

    Its ends are the values whose ranks the binomial distribution gives, as the distribution of the
    number of independent values below the percentile. If the sample is too small for one end, that
    end is open (`None`) and the other one one-sided. `None` if neither end exists, or all values
    are equal. Clustered values count as fewer (`effective_size` of their ranks).
    """
    ordered = sorted(values)
    if not ordered or ordered[0] == ordered[-1]:
        return None
    effective = _effective_ranks(values, clusters)
    low, high = _ranks(effective, percent / 100, confidence)
    if low is None and high is None:
        return None
    times = len(values) / effective
    """Number of values for each effective value."""
    return OpenInterval(
        None if low is None else ordered[floor((low - 0.5) * times - 0.5 + _ROUNDING)],
        None if high is None else ordered[ceil((high - 0.5) * times - 0.5 - _ROUNDING)],
        "order statistics",
        confidence,
    )


def _effective_ranks(values: Sequence[float], clusters: Sequence[Hashable]) -> int:
    """The effective number of `values`: independent ones with as much information.

    It compares the variance of the clusters' ranks to that of independent ranks.
    """
    members: defaultdict[Hashable, list[float]] = defaultdict(list)
    ordered = np.sort(values)
    below, up_to = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    ranks = (below + up_to + 1) / 2 / len(values)
    for rank, cluster in zip(ranks.tolist(), clusters, strict=True):
        members[cluster].append(rank)
    count, size = len(members), len(values)
    if count == size:
        return size
    mean = fsum(ranks) / size
    variance = fsum((ranks - mean) ** 2) / size
    squared = fsum((fsum(own) - mean * len(own)) ** 2 for own in members.values())
    squares = sum(len(own) ** 2 for own in members.values())
    effective = effective_size(variance, squared, size, count, squares, unlike=count, most=size)
    return floor(effective + _ROUNDING)


def _ranks(count: int, share: float, confidence: float) -> tuple[int | None, int | None]:
    """The ranks, from 1, of the two ends of a quantile's interval among `count` values.

    `share` is the quantile, from 0 to 1. `None` is an open end.
    """
    beyond = (1 - confidence) / 2
    low, high = _lower_rank(count, share, beyond), _upper_rank(count, share, beyond)
    if low is not None and high is not None:
        return low, high
    if high is None and share > 0.5 and (above := share**count) <= 2 * beyond + _ROUNDING:
        return _lower_rank(count, share, 2 * beyond - above), count
    if low is None and share < 0.5 and (below := (1 - share) ** count) <= 2 * beyond + _ROUNDING:
        return 1, _upper_rank(count, share, 2 * beyond - below)
    if share >= 0.5:
        return _lower_rank(count, share, 2 * beyond), None
    return None, _upper_rank(count, share, 2 * beyond)


def _lower_rank(count: int, share: float, beyond: float) -> int | None:
    """The largest rank (from 1) whose value exceeds the quantile with at most this chance.

    `share` is the quantile of `count` values, `beyond` the chance. `None` if no rank qualifies.
    """
    rank = bisect_right(
        range(count), beyond + _ROUNDING, key=lambda below: binomial_cdf(below, count, share)
    )
    return rank or None


def _upper_rank(count: int, share: float, beyond: float) -> int | None:
    """The smallest rank (from 1) whose value is below the quantile with at most this chance.

    `share` is the quantile of `count` values, `beyond` the chance. `None` if no rank qualifies.
    """
    rank = _lower_rank(count, 1 - share, beyond)
    return None if rank is None else count + 1 - rank
