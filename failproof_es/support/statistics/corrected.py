"""Rates that a fallible judge measured, corrected by the labels of people on a random sample.

All evaluations have the judge's verdict; a random sample of them, stratified by that verdict, has
labels, which count as the truth. The corrected rate is the mean of the labelled shares, weighted by
the sizes of their strata (stratified prediction-powered inference: A. Fisch et al., arXiv
2406.04291, 2024). It assumes nothing of the judge. For evaluations without labels the measured rate
is corrected by the error rates of the sample (W. Rogan, B. Gladen, American Journal of Epidemiology
107, 1978), which assumes that the judge errs there as often as in the sample.

An interval has the percentiles of the figure over draws of its shares: a labelled share from
Jeffreys' posterior (L. Brown, T. Cai, A. DasGupta, Statistical Science 16, 2001), the sizes of the
strata from their Dirichlet posterior. Clusters divide all counts by the figure's design effect.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv, ndtri, stdtrit

from failproof_es.support.statistics.interval import CONFIDENCE, Floats, Interval

DRAWS = 2_048
SEED = 20_261_130
_PRIOR = 0.5
"""Jeffreys' prior of a share: half a success and half a failure."""
_STEP = 1e-5
"""Step of the numerical derivatives."""
Shares = Sequence[tuple[Floats, Floats]]
"""For each sample the true shares of its strata, and the shares of the strata in all evaluations.
The first axis is the stratum."""
FigureOfShares = Callable[[Shares], Floats]


@dataclass(frozen=True, slots=True)
class EstimatedFigure:
    """A figure with its interval. Both are `None` if the labels do not determine the figure."""

    value: float | None
    interval: Interval | None


UNKNOWN = EstimatedFigure(None, None)


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """Evaluations with a judge's verdict, some of which have a label of people.

    `passed` has the verdict of each stratum; a verdict that no evaluation has is an empty stratum.
    The other arrays have one entry for each evaluation: its stratum, its label (1, 0, or NaN
    without one) and its cluster, numbered by name.
    """

    passed: NDArray[np.bool_]
    strata: NDArray[np.int_]
    labels: Floats
    clusters: tuple[Hashable, ...]

    @classmethod
    def of(
        cls,
        verdicts: Sequence[bool],
        labels: Sequence[bool | None],
        clusters: Sequence[Hashable],
        drawn_from: Sequence[Hashable] | None = None,
    ) -> JudgedSample:
        """The sample of these evaluations: one entry of each sequence for each evaluation.

        `drawn_from` names the stratum that an evaluation was drawn from; by default its verdict.
        Labels must be missing at random within a stratum and a verdict.
        """
        names = list(zip(drawn_from or verdicts, verdicts, strict=True))
        given = {verdict for _, verdict in names}
        never = [(None, verdict) for verdict in (True, False) if names and verdict not in given]
        numbers = {name: number for number, name in enumerate(dict.fromkeys([*names, *never]))}
        return cls(
            np.array([verdict for _, verdict in numbers], dtype=bool),
            np.array([numbers[name] for name in names], dtype=int),
            np.array([np.nan if label is None else float(label) for label in labels]),
            tuple(clusters),
        )

    @property
    def labelled(self) -> int:
        """The number of evaluations with a label."""
        return int(np.count_nonzero(~np.isnan(self.labels)))

    @property
    def sizes(self) -> Floats:
        """The number of evaluations of each stratum."""
        return np.bincount(self.strata, minlength=len(self.passed)).astype(float)

    @property
    def label_counts(self) -> tuple[Floats, Floats]:
        """For each stratum the number of labels, and of those that are true."""
        has_label = ~np.isnan(self.labels)
        strata, count = self.strata[has_label], len(self.passed)
        true: Floats = np.bincount(strata, self.labels[has_label], minlength=count).astype(float)
        return np.bincount(strata, minlength=count).astype(float), true

    def influences(self, by_share: Floats, by_size: Floats, shares: Floats) -> Floats:
        """The influence of each evaluation on a figure with these derivatives.

        The derivatives are by the true share and by the relative size of each stratum; `shares` are
        the true shares.
        """
        total = len(self.strata)
        labels, _ = self.label_counts
        mean = float(by_size @ self.sizes) / total
        influence: Floats = (by_size[self.strata] - mean) / total
        has_label = ~np.isnan(self.labels)
        strata = self.strata[has_label]
        residuals = self.labels[has_label] - shares[strata]
        influence[has_label] += by_share[strata] * residuals / labels[strata]
        return influence


def corrected_rate(sample: JudgedSample) -> EstimatedFigure:
    """The true rate of the evaluations, from the labels, whatever the errors of the judge.

    Unknown if a stratum has no label.
    """
    return _estimate((sample,), lambda shares: _true_rate(*shares[0]))


def true_positive_rate(sample: JudgedSample) -> EstimatedFigure:
    """The share of the true evaluations that the judge passed (its sensitivity).

    Unknown without a true label, or if a stratum has no label.
    """
    return _estimate((sample,), lambda shares: _passed_share(sample, *shares[0], true=True))


def false_positive_rate(sample: JudgedSample) -> EstimatedFigure:
    """The share of the false evaluations that the judge passed (1 less its specificity).

    Unknown without a false label, or if a stratum has no label.
    """
    return _estimate((sample,), lambda shares: _passed_share(sample, *shares[0], true=False))


def judge_kappa(sample: JudgedSample) -> EstimatedFigure:
    """Cohen's kappa of judge and labels over all evaluations, not over the drawn ones alone.

    Unknown if a stratum has no label, or if all verdicts and labels are of one kind.
    """

    def figure(shares: Shares) -> Floats:
        true, sizes = shares[0]
        passed = sizes[sample.passed].sum(axis=0)
        rate = _true_rate(true, sizes)
        alike = np.where(sample.passed.reshape(-1, *[1] * (true.ndim - 1)), true, 1 - true)
        agreeing = (alike * sizes).sum(axis=0)
        by_chance = passed * rate + (1 - passed) * (1 - rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            kappa: Floats = (agreeing - by_chance) / (1 - by_chance)
        return kappa

    return _estimate((sample,), figure)


def corrected_difference(one: JudgedSample, other: JudgedSample) -> EstimatedFigure:
    """The true rate of one sample less that of the other. Equal cluster names are one cluster."""

    def figure(shares: Shares) -> Floats:
        return _true_rate(*shares[0]) - _true_rate(*shares[1])

    return _estimate((one, other), figure)


def error_difference(one: JudgedSample, other: JudgedSample, *, true: bool) -> EstimatedFigure:
    """The difference of the judge's true (or false) positive rates on two samples.

    If the interval excludes 0, the judge errs more often on one of the two.
    """

    def figure(shares: Shares) -> Floats:
        first = _passed_share(one, *shares[0], true=true)
        return first - _passed_share(other, *shares[1], true=true)

    return _estimate((one, other), figure)


def transferred_rate(calibration: JudgedSample, judged: JudgedSample) -> EstimatedFigure:
    """The true rate of other evaluations that the same judge judged, from its error rates.

    Unknown unless the judge passes true evaluations more often than false ones, beyond chance.
    """

    def informedness(shares: Shares) -> Floats:
        passed = _passed_share(calibration, *shares[0], true=True)
        return passed - _passed_share(calibration, *shares[0], true=False)

    def figure(shares: Shares) -> Floats:
        _, sizes = shares[1]
        measured = sizes[judged.passed].sum(axis=0)
        false = _passed_share(calibration, *shares[0], true=False)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate: Floats = np.clip((measured - false) / informedness(shares), 0.0, 1.0)
        return rate

    tells = _estimate((calibration,), informedness)
    if tells.interval is None or tells.interval.low <= 0:
        return UNKNOWN
    return _estimate((calibration, judged), figure, unlabelled=(1,))


def _true_rate(true: Floats, sizes: Floats) -> Floats:
    rate: Floats = (true * sizes).sum(axis=0)
    return rate


def _passed_share(sample: JudgedSample, shares: Floats, sizes: Floats, *, true: bool) -> Floats:
    """The share that the judge passed of all evaluations that are true (or not)."""
    of_each = (shares if true else 1 - shares) * sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        passed: Floats = of_each[sample.passed].sum(axis=0) / of_each.sum(axis=0)
    return passed


def _estimate(
    samples: Sequence[JudgedSample],
    figure: FigureOfShares,
    unlabelled: Sequence[int] = (),
) -> EstimatedFigure:
    """The figure and its interval; `unlabelled` samples, by index, need no labels."""
    counts = [sample.label_counts for sample in samples]
    if any(
        not len(sample.strata) or (at not in unlabelled and not labels[sample.sizes > 0].all())
        for at, (sample, (labels, _)) in enumerate(zip(samples, counts, strict=True))
    ):
        return UNKNOWN
    sizes = [sample.sizes / len(sample.strata) for sample in samples]
    with np.errstate(invalid="ignore"):
        measured = [true / np.maximum(labels, 1) for labels, true in counts]
    value = float(figure(list(zip(measured, sizes, strict=True))))
    if not np.isfinite(value):
        return UNKNOWN
    effect = _design_effect(samples, counts, sizes, figure)
    drawn = figure(_drawn(samples, counts, effect))
    beyond = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn[np.isfinite(drawn)], [beyond, 1 - beyond])
    ends = min(float(low), value), max(float(high), value)
    return EstimatedFigure(value, Interval(*ends, "Jeffreys' draws", CONFIDENCE))


def _design_effect(
    samples: Sequence[JudgedSample],
    counts: Sequence[tuple[Floats, Floats]],
    sizes: Sequence[Floats],
    figure: FigureOfShares,
) -> float:
    """The variance of the figure with its clusters, relative to that of independent evaluations.

    As for a rate (`rates.effective_size`), the design effect of few clusters is raised by its
    relative standard error, or by Student's t where that is more, and is at most that of clusters
    whose outcomes are all alike (Kish, 1965): that one, if a single cluster has labels. 1 if every
    evaluation is its own cluster.
    """
    names = [name for sample in samples for name in sample.clusters]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if len(numbers) == len(names):
        return 1.0
    places = np.array([numbers[name] for name in names])
    labelled = np.concatenate([~np.isnan(sample.labels) for sample in samples])
    with_labels = len(np.unique(places[labelled]))
    if with_labels < 2:
        return _alike(places[labelled])
    shares = [(true + _PRIOR) / (labels + 2 * _PRIOR) for labels, true in counts]
    influences = np.concatenate(
        [
            sample.influences(*_derivatives(figure, shares, sizes, at), shares[at])
            for at, sample in enumerate(samples)
        ]
    )
    independent = float((influences**2).sum())
    if not independent:
        return 1.0
    count = len(numbers)
    together = float((np.bincount(places, influences) ** 2).sum()) * count / (count - 1)
    effect = together / independent * _few_clusters(with_labels)
    most = max(_alike(places[labelled]), _alike(places))
    return max(min(effect, most), 1.0 if len(samples) == 1 else _SMALLEST_EFFECT)


_SMALLEST_EFFECT = 0.25
"""Pairs of the same cases can make a difference more certain, at most by this factor."""


def _alike(places: NDArray[np.int_]) -> float:
    """The design effect of clusters whose outcomes are all alike; `places` numbers the clusters."""
    sizes = np.bincount(places)
    return float((sizes**2).sum() / sizes.sum())


def _few_clusters(clusters: int) -> float:
    """The factor by which a design effect from this many clusters is raised."""
    student = float(stdtrit(clusters - 1, _UPPER) / ndtri(_UPPER))
    return max(1 + 1 / sqrt(2 * (clusters - 1)), student**2)


_UPPER = (1 + CONFIDENCE) / 2


def _derivatives(
    figure: FigureOfShares, shares: Sequence[Floats], sizes: Sequence[Floats], at: int
) -> tuple[Floats, Floats]:
    """The figure's derivatives by the true shares and by the sizes of one sample's strata."""

    def moved(part: int, stratum: int, step: float) -> float:
        state = [(own.copy(), size.copy()) for own, size in zip(shares, sizes, strict=True)]
        state[at][part][stratum] += step
        return float(figure(state))

    by_share, by_size = (
        np.array(
            [
                (moved(part, stratum, _STEP) - moved(part, stratum, -_STEP)) / (2 * _STEP)
                for stratum in range(len(sizes[at]))
            ]
        )
        for part in (0, 1)
    )
    return np.nan_to_num(by_share), np.nan_to_num(by_size)


def _drawn(
    samples: Sequence[JudgedSample], counts: Sequence[tuple[Floats, Floats]], effect: float
) -> Shares:
    """Draws of all shares and sizes: each array has a row for each stratum, a column a draw."""
    strata = [len(sample.passed) for sample in samples]
    levels = _levels(2 * sum(strata))
    drawn = []
    for sample, (labels, true), end in zip(samples, counts, accumulate(strata), strict=True):
        begin = end - len(labels)
        own, of_sizes = levels[2 * begin : begin + end], levels[begin + end : 2 * end]
        yes, no = (count[:, None] / effect + _PRIOR for count in (true, labels - true))
        weights = gammaincinv(sample.sizes[:, None] / effect + _PRIOR, of_sizes)
        drawn.append((betaincinv(yes, no, own), weights / weights.sum(axis=0)))
    return drawn


@lru_cache(maxsize=16)
def _levels(dimensions: int) -> Floats:
    """A Latin hypercube of probabilities, shape (dimensions, draws): each row has every level."""
    chance = np.random.default_rng(SEED)
    order = np.argsort(chance.random((dimensions, DRAWS)), axis=1)
    levels: Floats = (order + 0.5) / DRAWS
    return levels
