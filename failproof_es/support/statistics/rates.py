"""Rates of pass and fail, and means of scores, with their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from scipy.special import betaincc, gammaincinv, ndtri

from failproof_es.core.clusters import ClusterSums
from failproof_es.support.percentages import ratio
from failproof_es.support.statistics.interval import CONFIDENCE, Interval

_RARE = 3 + 1e-9
"""Counts up to which Wilson's interval covers too little; a 3 that was rounded is one of them."""


@dataclass(frozen=True, slots=True)
class Rate:
    """`passed` of `total`, never without both, with its interval; `None` of nothing."""

    passed: int
    total: int
    clusters: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The share that passed; `None` if `total` is 0."""
        return ratio(self.passed, self.total)

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; `None` if there is no interval."""
        return None if self.interval is None else (self.interval.high - self.interval.low) / 2


def wilson(passed: float, total: float, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of the rate `passed` / `total` of independent outcomes.

    Both may be fractions, for an effective number of outcomes; `total` is above 0.
    """
    z, share = float(ndtri(0.5 + 0.5 * confidence)), passed / total
    spread = 2 * (total + z**2)
    middle = (2 * total * share + z**2) / spread
    margin = z / spread * sqrt(4 * total * share * (1 - share) + z**2)
    low = 0.0 if passed == 0 else middle - margin
    high = 1.0 if passed == total else middle + margin
    return Interval(low, high, "Wilson", confidence)


def binomial_cdf(successes: int, trials: int, chance: float) -> float:
    """The probability of at most `successes` (below `trials`) in `trials` of this chance."""
    return float(betaincc(successes + 1, trials - successes, chance))


def rate(
    outcomes: Sequence[bool],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = CONFIDENCE,
) -> Rate:
    """The rate of true outcomes, with its interval.

    `clusters` names the cluster of each outcome; by default each is its own.
    """
    names: Sequence[Hashable] = range(len(outcomes)) if clusters is None else clusters
    passed: Counter[Hashable] = Counter()
    for outcome, name in zip(outcomes, names, strict=True):
        passed[name] += outcome
    sizes = Counter(names)
    return rate_of_sums(
        ClusterSums.of((passed[name], size) for name, size in sizes.items()), confidence
    )


def rate_of_sums(sums: ClusterSums, confidence: float = CONFIDENCE) -> Rate:
    """The rate of clustered outcomes with its interval, from sums over the clusters.

    The interval is Wilson's on the effective size (`effective_size`): the number of outcomes if
    each is its own cluster, the number of clusters if all outcomes are alike. The end near a rare
    outcome is moved outwards (`effective_wilson`).
    """
    passed, size, clusters = sums.passed, sums.size, sums.clusters
    if not size:
        return Rate(0, 0, 0, None)
    share = passed / size
    if passed in (0, size) or clusters == size:
        return Rate(passed, size, clusters, effective_wilson(share, clusters, confidence))
    squared_deviations = Fraction(
        size * size * sums.passed_squared
        - 2 * passed * size * sums.passed_by_size
        + passed * passed * sums.size_squared,
        size * size,
    )
    unlike = min(sums.with_passed, sums.with_failed)
    effective = effective_size(
        share * (1 - share), float(squared_deviations), size, clusters, sums.size_squared,
        unlike=unlike, most=size,
    )  # fmt: skip
    return Rate(passed, size, clusters, effective_wilson(share, effective, confidence))


def effective_wilson(share: float, effective: float, confidence: float) -> Interval:
    """Wilson's interval of the rate `share` for `effective` independent outcomes.

    Near an outcome that occurs three times or less, Wilson's end is too close: it is moved to the
    end for a Poisson count (L. Brown, T. Cai, A. DasGupta, Statistical Science 16, 2001). Near an
    outcome that never occurs, it is moved to the exact one-sided bound (C. Clopper, E. Pearson,
    Biometrika 26, 1934), which is farther for up to six outcomes.
    """
    interval = wilson(share * effective, effective, confidence)
    low, high = interval.low, interval.high
    exact = (1 - confidence) ** (1 / effective)
    if share == 0:
        high = max(high, 1 - exact)
    if share == 1:
        low = min(low, exact)
    if 0 < (count := share * effective) <= _RARE:
        low = min(low, float(gammaincinv(count, 1 - confidence)) / effective)
    if 0 < (count := (1 - share) * effective) <= _RARE:
        high = max(high, 1 - float(gammaincinv(count, 1 - confidence)) / effective)
    return Interval(low, high, "Wilson", confidence)


def effective_size(
    variance: float,
    squared_deviations: float,
    size: int,
    clusters: int,
    size_squared: int,
    *,
    unlike: int,
    most: float,
) -> float:
    """The number of independent outcomes with as much information: `size` / design effect.

    `variance` is that of one outcome, `squared_deviations` the sum over clusters of (sum - mean *
    size)^2, `size_squared` the sum of the clusters' squared sizes. The design effect of few
    clusters is uncertain: it is raised by its relative standard error, 1 / sqrt(2 (G - 1)) for the
    G = `unlike` clusters that hold the rarer outcome, and is at most that of clusters whose
    outcomes are all alike (Kish, 1965). Returns at most `most`.
    """
    fewest = size * size / size_squared
    if unlike < 2:
        return fewest
    error_squared = clusters / (clusters - 1) * squared_deviations / (size * size)
    design_effect = error_squared * size / variance * (1 + 1 / sqrt(2 * (unlike - 1)))
    return min(max(size / design_effect if design_effect else most, fewest), most)
