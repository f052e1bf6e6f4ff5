"""The part of the grid that a judge measures: corrected rates, error rates, their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from failproof_es.engine.calibration.label_sample import share_labels
from failproof_es.support.statistics import (
    EstimatedFigure,
    JudgedSample,
    corrected_difference,
    corrected_rate,
    transferred_rate,
    true_positive_rate,
)
from tests.coverage.setting import Ends, Setting

LABELS = (50, 100, 200, 500)
EVALUATIONS = 1_000
_SHAPES = ((EVALUATIONS, 1, 0.0), (EVALUATIONS // 4, 4, 0.3))
"""Number of clusters, size of each, correlation within a cluster."""
Flags = NDArray[np.bool_]


class Judge(NamedTuple):
    """The share of good evaluations, and how often the judge passes good and bad ones."""

    good: float
    sensitivity: float
    specificity: float
    judges: int = 1
    """With two, an evaluation passes if both pass it; half of their errors are the same."""

    def __str__(self) -> str:
        text = f"{self.good:.0%} good, sensitivity {self.sensitivity}, "
        return f"{text}specificity {self.specificity}, judges {self.judges}"


def settings() -> Iterator[Setting]:
    """Every setting, those of one number after the other."""
    rates = (0.6, 0.9, 0.99)
    judges = [
        *(Judge(good, *pair) for good, pair in product((0.3, 0.8), product(rates, rates))),
        *(Judge(good, 0.9, 0.9, 2) for good in (0.3, 0.8)),
    ]
    for labels, shape, judge in product(LABELS, _SHAPES, judges):
        yield _corrected(labels, judge, *shape)
    for labels, judge in product(LABELS, [judge for judge in judges if judge.judges == 1]):
        yield _sensitivity(labels, judge, *_SHAPES[1])
    for labels, judge in product(LABELS, judges):
        if min(judge.sensitivity, judge.specificity) > 0.6:
            yield _transferred(labels, judge, *_SHAPES[1])
    for labels, judge in product(LABELS, judges):
        yield _difference(labels, judge, *_SHAPES[1])


def _corrected(labels: int, judge: Judge, clusters: int, size: int, alike: float) -> Setting:
    def draw(chance: np.random.Generator) -> Ends | None:
        return _ends(corrected_rate(_sample(chance, judge, clusters, size, alike, labels)))

    what = f"corrected rate, {labels} labels"
    return Setting(what, clusters, size, str(judge), judge.good, draw)


def _sensitivity(labels: int, judge: Judge, clusters: int, size: int, alike: float) -> Setting:
    def draw(chance: np.random.Generator) -> Ends | None:
        return _ends(true_positive_rate(_sample(chance, judge, clusters, size, alike, labels)))

    what = f"true positive rate, {labels} labels"
    return Setting(what, clusters, size, str(judge), judge.sensitivity, draw)


def _transferred(labels: int, judge: Judge, clusters: int, size: int, alike: float) -> Setting:
    other = judge._replace(good=1.1 - judge.good)

    def draw(chance: np.random.Generator) -> Ends | None:
        labelled = _sample(chance, judge, clusters, size, alike, labels)
        judged = _sample(chance, other, clusters, size, alike, 0, run=1)
        return _ends(transferred_rate(labelled, judged))

    what = f"rate corrected by error rates, {labels} labels"
    return Setting(what, clusters, size, str(judge), other.good, draw)


def _difference(labels: int, judge: Judge, clusters: int, size: int, alike: float) -> Setting:
    other = judge._replace(good=judge.good - 0.1)

    def draw(chance: np.random.Generator) -> Ends | None:
        hardness = chance.random(clusters)
        one, second = (
            _sample(chance, own, clusters, size, alike, labels, hardness) for own in (judge, other)
        )
        return _ends(corrected_difference(one, second))

    what = f"difference of corrected rates, {labels} labels each"
    return Setting(what, clusters, size, str(judge), 0.1, draw)


def _ends(estimate: EstimatedFigure) -> Ends | None:
    interval = estimate.interval
    return None if interval is None else (interval.low, interval.high)


def _sample(
    chance: np.random.Generator, judge: Judge, clusters: int, size: int, alike: float,
    labels: int, hardness: NDArray[np.float64] | None = None, run: int = 0,
) -> JudgedSample:  # fmt: skip
    """Draw evaluations with their verdicts, and labels of a stratified sample of them.

    A cluster with the same `hardness` (0 to 1) has the same share of good evaluations, relative to
    the other clusters.
    """
    good = _within(chance, judge.good, alike, clusters, size, hardness)
    sensitivity = _shares(chance, judge.sensitivity, alike, clusters, None)[:, None]
    specificity = _shares(chance, judge.specificity, alike, clusters, None)[:, None]
    passed = _passed(chance, good, sensitivity, specificity, judge.judges).ravel()
    truth = good.ravel().astype(float)
    label = np.full(len(truth), np.nan)
    for verdict, count in share_labels(_sizes(passed), labels).items() if labels else ():
        drawn = chance.permutation(np.flatnonzero(passed == verdict))[:count]
        label[drawn] = truth[drawn]
    names = np.repeat(np.arange(clusters), size)
    verdicts = np.array([True, False])[np.unique(~passed).astype(int)]
    strata = np.where(passed, 0, len(verdicts) - 1)
    return JudgedSample(verdicts, strata, label, tuple((run, name) for name in names))


def _sizes(passed: Flags) -> Mapping[bool, int]:
    count = int(passed.sum())
    return {True: count, False: len(passed) - count}


def _passed(
    chance: np.random.Generator, good: Flags, sensitivity: NDArray[np.float64],
    specificity: NDArray[np.float64], judges: int,
) -> Flags:  # fmt: skip
    """The verdicts of one judge, or of two that both have to pass an evaluation.

    Each of two errs in its own half of the cases that a single one errs in, or in the common half.
    """
    missed, false = 1 - sensitivity, 1 - specificity
    if judges == 1:
        errs = chance.random(good.shape)
        return np.where(good, errs >= missed, errs < false)
    common = chance.random(good.shape)
    own = [chance.random(good.shape) for _ in range(2)]
    missing = [(common < missed / 2) | (alone < missed / 2) for alone in own]
    passing = [(common < false / 2) | (alone < false / 2) for alone in own]
    return np.where(good, ~(missing[0] | missing[1]), passing[0] & passing[1])


def _within(
    chance: np.random.Generator, share: float, alike: float, clusters: int, size: int,
    hardness: NDArray[np.float64] | None,
) -> Flags:  # fmt: skip
    shares = _shares(chance, share, alike, clusters, hardness)
    flags: Flags = chance.random((clusters, size)) < shares[:, None]
    return flags


def _shares(
    chance: np.random.Generator, share: float, alike: float, clusters: int,
    hardness: NDArray[np.float64] | None,
) -> NDArray[np.float64]:  # fmt: skip
    """The share of each cluster: beta distributed with this mean and intraclass correlation."""
    if not alike or share in (0, 1):
        return np.full(clusters, share)
    from scipy.special import betaincinv

    amount = 1 / alike - 1
    levels = chance.random(clusters) if hardness is None else hardness
    shares: NDArray[np.float64] = betaincinv(share * amount, (1 - share) * amount, levels)
    return shares
