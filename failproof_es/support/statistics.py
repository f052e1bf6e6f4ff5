"""Confidence intervals and significance tests, by scipy. Pure; every random draw is seeded.

Evaluations of one case, and cases of one family, are not independent: they form a cluster, and
where there are clusters the error of a rate is that of the clusters (E. Miller, "Adding error
bars to evals", arXiv 2411.00640, 2024). A t interval is nowhere: with rare failures it covers
far less than it says.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri

from failproof_es.core.exact_numbers import mean

CONFIDENCE = 0.95
POWER = 0.8
FEW_CLUSTERS = 30
"""Under so many, the normal approximation of the clustered error is not to be trusted."""
FEW_UNLIKE = 10
"""Where fewer clusters hold the rarer outcome, a standard error of theirs is not to be trusted."""
RESAMPLES = 9_999
MANY = 5_000
"""Of so many values BCa and percentiles hardly differ, and BCa would take their square."""
AT_ONCE = 4_000_000
"""So many numbers of resamples are held in memory."""
SEED = 20_241_101
_ALIKE = 1e-12
"""So small a part of two numbers is what rounding makes of equal ones."""
_DIGITS = 12
"""What stands behind so many decimals of a sum is what rounding makes of it."""

Method = Literal[
    "Wilson",
    "Clopper-Pearson, one-sided",
    "Wilson, over clusters",
    "clustered standard error",
    "cluster bootstrap",
    "BCa bootstrap",
    "percentile bootstrap",
]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high` with this confidence. A one-sided one ends at 0 or 1."""

    low: float
    high: float
    method: Method
    confidence: float = CONFIDENCE


@dataclass(frozen=True, slots=True)
class Rate:
    """`passed` of `total`, never without both, with its interval; `None` of nothing."""

    passed: int
    total: int
    clusters: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The share; `None` where there is nothing to divide by."""
        return self.passed / self.total if self.total else None

    @property
    def half_width(self) -> float | None:
        """Half the interval."""
        return None if self.interval is None else (self.interval.high - self.interval.low) / 2


def wilson(passed: int, total: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a rate of independent outcomes."""
    z, share = float(ndtri(0.5 + 0.5 * confidence)), passed / total
    spread = 2 * (total + z**2)
    middle = (2 * total * share + z**2) / spread
    margin = z / spread * sqrt(4 * total * share * (1 - share) + z**2)
    low = 0.0 if passed == 0 else middle - margin
    high = 1.0 if passed == total else middle + margin
    return Interval(low, high, "Wilson", confidence)


@lru_cache(maxsize=10_000)
def clopper_pearson_margin(passed: int, total: int, confidence: float = CONFIDENCE) -> Interval:
    """Where all are alike: how far from it the truth may lie (Clopper and Pearson, one-sided).

    None of 30 still allows 9.5 %.
    """
    alternative = "less" if passed == 0 else "greater"
    found = stats.binomtest(passed, total, alternative=alternative).proportion_ci(
        confidence, method="exact"
    )
    return Interval(float(found.low), float(found.high), "Clopper-Pearson, one-sided", confidence)


def rate(
    outcomes: Sequence[bool],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = CONFIDENCE,
) -> Rate:
    """The rate of these outcomes. `clusters` says of each to what it belongs; alone without.

    All alike: one-sided, on as many as there are clusters. Each alone: Wilson. Where the rarer
    outcome is in few clusters, or all clusters are alike: Wilson as if each cluster were one
    outcome, which errs on the wide side. Else the clustered error, by bootstrap where there
    are fewer than thirty clusters.
    """
    total, passed = len(outcomes), sum(outcomes)
    if not total:
        return Rate(0, 0, 0, None)
    groups = list(range(total)) if clusters is None else list(clusters)
    count = len(set(groups))
    if passed in (0, total):
        return Rate(
            passed, total, count, clopper_pearson_margin(count if passed else 0, count, confidence)
        )
    if count == total:
        return Rate(passed, total, count, wilson(passed, total, confidence))
    sums, sizes = _by_cluster(np.asarray(outcomes, dtype=float), groups)
    error = clustered_error(sums, sizes) if count > 1 else 0.0
    unlike = min(np.count_nonzero(sums), np.count_nonzero(sizes - sums))
    if unlike < FEW_UNLIKE or error == 0:
        interval = _wilson_over_clusters(passed, total, count, confidence)
    elif count < FEW_CLUSTERS:
        interval = _cluster_bootstrap(sums, sizes, confidence)
    else:
        margin = _z(confidence) * error
        low, high = max(0.0, passed / total - margin), min(1.0, passed / total + margin)
        interval = Interval(low, high, "clustered standard error", confidence)
    return Rate(passed, total, count, interval)


def rate_of_counts(
    passed: int, total: int, clusters: int | None = None, confidence: float = CONFIDENCE
) -> Rate:
    """As `rate`, where only counts are known: what is in which cluster is not.

    With as many clusters as outcomes, or none named, it is the same. With fewer it is Wilson as if
    each cluster were one outcome, which errs on the wide side.
    """
    if not total:
        return Rate(0, 0, 0, None)
    count = total if clusters is None else min(max(clusters, 1), total)
    if passed in (0, total):
        interval = clopper_pearson_margin(count if passed else 0, count, confidence)
    elif count == total:
        interval = wilson(passed, total, confidence)
    else:
        interval = _wilson_over_clusters(passed, total, count, confidence)
    return Rate(passed, total, count, interval)


def _wilson_over_clusters(passed: int, total: int, clusters: int, confidence: float) -> Interval:
    """From the low end of the whole number below to the high end of the one above."""
    below, above = passed * clusters // total, -(-passed * clusters // total)
    low, high = wilson(below, clusters, confidence).low, wilson(above, clusters, confidence).high
    return Interval(low, high, "Wilson, over clusters", confidence)


def clustered_error(sums: Floats, sizes: Floats) -> float:
    """The standard error of sum / size over clusters, with the factor G / (G - 1) for few.

    Exactly 0 where all are alike.
    """
    count = len(sums)
    mean = sums.sum() / sizes.sum()
    expected = mean * sizes
    residuals = np.where(np.isclose(sums, expected, rtol=_ALIKE, atol=0), 0.0, sums - expected)
    return float(sqrt(count / (count - 1) * (residuals**2).sum()) / sizes.sum())


def _by_cluster(values: Floats, groups: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """The sum and the size of each cluster, in an order of their own: that of cases shows nowhere.

    What rounding leaves of a sum that is 0 is taken away.
    """
    number = {group: at for at, group in enumerate(dict.fromkeys(groups))}
    places = np.array([number[group] for group in groups], dtype=int)
    ascending = np.argsort(values, kind="stable")
    sums = np.bincount(places[ascending], weights=values[ascending], minlength=len(number))
    sums, sizes = np.round(sums, _DIGITS), np.bincount(places, minlength=len(number))
    order = np.lexsort((sizes, sums))
    return sums[order].astype(float), sizes[order].astype(float)


def _cluster_bootstrap(sums: Floats, sizes: Floats, confidence: float) -> Interval:
    """Percentiles of the rate over clusters drawn with replacement."""
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (RESAMPLES, len(sums)))
    rates = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(rates, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high), "cluster bootstrap", confidence)


def _z(confidence: float) -> float:
    return float(stats.norm.ppf((1 + confidence) / 2))


def bca(
    values: Sequence[float],
    statistic: Callable[..., float] = np.mean,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """The bootstrap interval of a skewed mean or a quantile; `None` where nothing varies.

    BCa; percentiles where its acceleration is not defined (without any one value the statistic is
    the same), and of more than five thousand values, in memory that does not grow with them.
    """
    sample = np.sort(np.asarray(values, dtype=float))
    if len(sample) < 2 or np.ptp(sample) == 0:
        return None
    methods: tuple[Method, ...] = ("BCa bootstrap", "percentile bootstrap")
    for method in methods[len(sample) > MANY :]:
        with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # it is looked at below
            found = stats.bootstrap(
                (sample,), statistic, confidence_level=confidence, vectorized=True,
                method=method.removesuffix(" bootstrap"), n_resamples=_fitting(len(sample)),
                batch=max(1, AT_ONCE // len(sample)), rng=np.random.default_rng(SEED),
            ).confidence_interval  # fmt: skip
        if np.isfinite(found.low) and np.isfinite(found.high):
            return Interval(float(found.low), float(found.high), method, confidence)
    return None


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """The interval of a mean whose values belong to clusters; `None` where nothing varies.

    Each alone: as `bca`. Else over clusters, as that of a rate.
    """
    if len(set(clusters)) == len(values):
        return bca(values, confidence=confidence)
    sums, sizes = _by_cluster(np.asarray(values, dtype=float), clusters)
    error = clustered_error(sums, sizes) if len(sums) > 1 else 0.0
    if error == 0:
        return None
    if len(sums) < FEW_CLUSTERS:
        return _cluster_bootstrap(sums, sizes, confidence)
    middle, margin = float(sums.sum() / sizes.sum()), _z(confidence) * error
    return Interval(middle - margin, middle + margin, "clustered standard error", confidence)


def percentile_interval(
    values: Sequence[float],
    percent: float,
    clusters: Sequence[Hashable],
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """The interval of a percentile of values that belong to clusters, as `mean_interval`."""
    count = len(set(clusters))
    if count == len(values):

        def statistic(sample: Floats, axis: int = -1) -> Floats:
            found: Floats = np.percentile(sample, percent, axis=axis)
            return found

        return bca(values, statistic, confidence)  # type: ignore[arg-type]
    sample = np.asarray(values, dtype=float)
    if count < 2 or np.ptp(sample) == 0:
        return None
    members: defaultdict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        members[cluster].append(value)
    alike = sorted(sorted(each) for each in members.values())
    sample = np.concatenate([np.asarray(each, dtype=float) for each in alike])
    order = np.argsort(sample, kind="stable")
    places = np.repeat(np.arange(count), [len(each) for each in alike])[order]
    rng = np.random.default_rng(SEED)
    drawn = []
    for _ in range(_fitting(len(sample))):
        times = np.bincount(rng.integers(0, count, count), minlength=count)
        drawn.append(np.percentile(np.repeat(sample[order], times[places]), percent))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high), "cluster bootstrap", confidence)


def _fitting(size: int) -> int:
    """As many resamples as keep a large sample's bootstrap within a second or so."""
    return max(999, min(RESAMPLES, 10_000_000 // size))


@dataclass(frozen=True, slots=True)
class Paired:
    """Two that were asked the same: where they differ, by how much, and whether by chance.

    `difference` is the first's mean less the second's over `pairs`. `first_only` and
    `second_only` count the discordant pairs of pass and fail, `None` for scores.
    """

    pairs: int
    clusters: int
    difference: float
    interval: Interval | None
    p: float
    test: Literal["exact McNemar", "permutation of signs"]
    first_only: int | None
    second_only: int | None
    smallest_effect: float | None
    """The smallest difference that so many pairs would have shown four times in five."""


def compare_outcomes(
    pairs: Sequence[tuple[bool, bool]], clusters: Sequence[Hashable] | None = None
) -> Paired:
    """Two models on pass and fail of the same cases: McNemar's exact test on the discordant.

    Where several pairs are of one cluster the test is the permutation of the clusters' signs:
    McNemar's would take them as independent.
    """
    first_only = sum(one and not other for one, other in pairs)
    second_only = sum(other and not one for one, other in pairs)
    differences = [float(one) - float(other) for one, other in pairs]
    difference = (first_only - second_only) / len(pairs) if pairs else 0.0
    alone = clusters is None or len(set(clusters)) == len(pairs)
    found = _compared(differences, difference, clusters, permuted=not alone)
    if not alone:
        return replace(found, first_only=first_only, second_only=second_only)
    return replace(
        found, p=mcnemar(first_only, second_only), test="exact McNemar",
        first_only=first_only, second_only=second_only,
    )  # fmt: skip


def mcnemar(first_only: int, second_only: int) -> float:
    """The exact two-sided p: of the discordant pairs each side gets half by chance."""
    discordant = first_only + second_only
    return float(stats.binomtest(first_only, discordant).pvalue) if discordant else 1.0


def compare_scores(
    differences: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Paired:
    """The mean of paired differences of scores, with a permutation test over clusters."""
    difference = mean(differences) if differences else 0.0
    return _compared(differences, difference, clusters, permuted=True)


def _compared(
    differences: Sequence[float],
    difference: float,
    clusters: Sequence[Hashable] | None,
    *,
    permuted: bool,
) -> Paired:
    """As `compare_scores`, whose mean is known; its p is 1 where signs are not `permuted`."""
    values = np.asarray(differences, dtype=float)
    groups = list(range(len(values))) if clusters is None else list(clusters)
    sums, sizes = _by_cluster(values, groups)
    count = len(sums)
    interval, smallest = None, None
    if count > 1:
        error = clustered_error(sums, sizes)
        if error > 0:
            smallest = float(stats.norm.ppf((1 + CONFIDENCE) / 2) + stats.norm.ppf(POWER)) * error
            interval = _of_difference(sums, sizes, error)
    return Paired(
        len(values), count, difference, interval, _sign_permutation(sums) if permuted else 1.0,
        "permutation of signs", None, None, smallest,
    )  # fmt: skip


def _of_difference(sums: Floats, sizes: Floats, error: float) -> Interval:
    """An end at 0 is exactly there, so that rounding does not say on which side 0 lies."""
    if len(sums) < FEW_CLUSTERS:
        found = _cluster_bootstrap(sums, sizes, CONFIDENCE)
        low, high = round(found.low, _DIGITS), round(found.high, _DIGITS)
        return Interval(low, high, found.method)
    middle, margin = float(sums.sum() / sizes.sum()), _z(CONFIDENCE) * error
    return Interval(middle - margin, middle + margin, "clustered standard error")


def _sign_permutation(sums: Floats) -> float:
    """How often chance alone gives a sum as far from 0: every cluster's sign is as good turned.

    A cluster without a difference changes no sum. Few are turned in every way there is.
    """
    moving = sums[sums != 0]
    if len(moving) < 2:
        return 1.0
    rng = np.random.default_rng(SEED)
    if 2 ** len(moving) <= RESAMPLES:
        found = stats.permutation_test(
            (moving,), np.sum, permutation_type="samples", vectorized=True, n_resamples=RESAMPLES
        )
        return float(found.pvalue)

    def turned(size: tuple[int, ...]) -> Floats:
        sums: Floats = np.abs(moving) * rng.choice((-1.0, 1.0), size)
        return sums

    tried = stats.monte_carlo_test(
        moving, turned, np.sum, vectorized=True,
        n_resamples=RESAMPLES, batch=max(1, AT_ONCE // len(moving)),
    )  # fmt: skip
    return float(tried.pvalue)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The p values of many questions asked at once (Benjamini and Hochberg)."""
    if not p_values:
        return []
    return [float(each) for each in stats.false_discovery_control(list(p_values))]
