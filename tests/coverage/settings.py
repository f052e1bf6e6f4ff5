"""The grid of everything that is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

from failproof_es.core.clusters import ClusterSums
from failproof_es.report.data.kappa import agreement
from failproof_es.support.statistics import (
    compare_outcomes,
    compare_scores,
    mean_interval,
    percentile_interval,
    rate_of_sums,
)
from tests.coverage import judged
from tests.coverage.setting import Ends, Setting


def grid() -> Iterator[Setting]:
    """Every setting, those of one number after the other."""
    yield from _rates()
    yield from _means()
    yield from _percentiles()
    yield from _differences_of_rates()
    yield from _differences_of_scores()
    yield from _kappas()
    yield from judged.settings()


def _rates() -> Iterator[Setting]:
    for clusters, share in product((10, 20, 50, 100, 300), (0.5, 0.7, 0.9, 0.97)):
        yield _rate(clusters, 1, share, 0.0)
    within = product((5, 8, 10, 20, 30, 50, 100), (3, 10), (0.5, 0.7, 0.9), (0.0, 0.3, 0.7, 1.0))
    for clusters, size, share, alike in within:
        yield _rate(clusters, size, share, alike)


def _rate(clusters: int, size: int, share: float, alike: float) -> Setting:
    def draw(chance: np.random.Generator) -> Ends | None:
        passed = chance.binomial(size, _shares(chance, share, alike, clusters))
        interval = rate_of_sums(ClusterSums.of((int(each), size) for each in passed)).interval
        return None if interval is None else (interval.low, interval.high)

    what = "pass rate" if size == 1 else "pass rate, clusters"
    of = f"{share:.0%} pass" + (f", intraclass correlation {alike}" if size > 1 else "")
    return Setting(what, clusters, size, of, share, draw)


def _shares(
    chance: np.random.Generator, share: float, alike: float, clusters: int
) -> np.typing.NDArray[np.float64]:
    """How often each cluster passes: beta-distributed with this intraclass correlation."""
    if alike == 0:
        return np.full(clusters, share)
    if alike == 1:
        return (chance.random(clusters) < share).astype(float)
    whole = (1 - alike) / alike
    return chance.beta(share * whole, (1 - share) * whole, clusters)


def _means() -> Iterator[Setting]:
    for clusters, size in product((10, 20, 50, 200), (1, 3)):
        for first, second in ((6.0, 2.0), (2.0, 2.0)):
            yield _mean_score(clusters, size, first, second)
        yield _mean_speed(clusters, size)


def _mean_score(clusters: int, size: int, first: float, second: float) -> Setting:
    def draw(chance: np.random.Generator) -> Ends | None:
        own = np.repeat(chance.beta(first, second, clusters), size)
        values = np.round(np.clip(own + chance.normal(0, 0.05, len(own)) * (size > 1), 0, 1), 3)
        return _of_mean(values, clusters, size)

    truth = first / (first + second)
    return Setting("mean score", clusters, size, f"beta({first:g}, {second:g})", truth, draw)


def _mean_speed(clusters: int, size: int) -> Setting:
    def draw(chance: np.random.Generator) -> Ends | None:
        own = np.repeat(chance.gamma(6.0, 10.0, clusters), size)
        return _of_mean(own * chance.uniform(0.9, 1.1, len(own)), clusters, size)

    return Setting("mean output speed", clusters, size, "gamma(6), in tokens/s", 60.0, draw)


def _of_mean(values: np.typing.NDArray[Any], clusters: int, size: int) -> Ends | None:
    names = np.repeat(range(clusters), size).tolist()
    interval = mean_interval(values.tolist(), names)
    return None if interval is None else (interval.low, interval.high)


def _percentiles() -> Iterator[Setting]:
    for percent in (50, 95):
        for clusters in (5, 10, 20, 50, 58, 72, 200):
            yield _percentile(percent, clusters, 1, 0.0)
        for clusters, alike in product((8, 20, 50, 100), (0.2, 0.6, 0.9)):
            yield _percentile(percent, clusters, 3, alike)


def _percentile(percent: int, clusters: int, size: int, alike: float) -> Setting:
    def draw(chance: np.random.Generator) -> Ends | None:
        own = np.repeat(chance.normal(0, alike**0.5, clusters), size)
        values = np.exp(own + chance.normal(0, (1 - alike) ** 0.5, len(own)))
        names = np.repeat(range(clusters), size).tolist()
        interval = percentile_interval(values.tolist(), percent, names)
        return None if interval is None else (interval.low, interval.high)

    of = "log-normal" + (f", intraclass correlation {alike}" if size > 1 else "")
    truth = float(np.exp(NormalDist().inv_cdf(percent / 100)))
    return Setting(f"latency, {percent}th percentile", clusters, size, of, truth, draw)


def _differences_of_rates() -> Iterator[Setting]:
    chances = ((0.05, 0.05), (0.1, 0.0), (0.2, 0.2), (0.3, 0.1))
    for clusters, (first, second) in product((6, 10, 20, 50, 200), chances):
        yield _difference_of_rates(clusters, 1, first, second, 0.0)
    for clusters, (first, second), alike in product((8, 15, 29, 60), chances, (0.0, 0.5, 1.0)):
        yield _difference_of_rates(clusters, 3, first, second, alike)


def _difference_of_rates(
    clusters: int, size: int, first: float, second: float, alike: float
) -> Setting:
    """Each pair does as its cluster does, with a chance that makes the correlation `alike`."""

    def draw(chance: np.random.Generator) -> Ends | None:
        def drawn(count: int) -> np.typing.NDArray[np.int_]:
            return chance.choice([1, -1, 0], count, p=[first, second, 1 - first - second])

        own, of_cluster = drawn(clusters * size), np.repeat(drawn(clusters), size)
        follows = chance.random(clusters * size) < alike**0.5
        signs = np.where(follows, of_cluster, own)
        names = np.repeat(range(clusters), size).tolist()
        interval = compare_outcomes([(n > 0, n < 0) for n in signs], names).interval
        return None if interval is None else (interval.low, interval.high)

    what = "difference of pass rates" + (", clusters" if size > 1 else "")
    of = f"{first:.0%} the first alone, {second:.0%} the second"
    of += f", intraclass correlation {alike}" if size > 1 else ""
    return Setting(what, clusters, size, of, first - second, draw)


def _differences_of_scores() -> Iterator[Setting]:
    for clusters, size in ((8, 1), (15, 1), (29, 1), (60, 1), (8, 3), (15, 3), (29, 3)):
        for parts in (3, 12):
            yield _difference_of_scores(clusters, size, parts)


def _difference_of_scores(clusters: int, size: int, parts: int) -> Setting:
    """Shares of so many items that held: the first meets seven of ten, the second six."""

    def draw(chance: np.random.Generator) -> Ends | None:
        case = np.repeat(chance.normal(0, 0.15, clusters), size)
        one, two = (
            chance.binomial(parts, np.clip(mean + case, 0, 1)) / parts for mean in (0.55, 0.45)
        )
        names = np.repeat(range(clusters), size).tolist()
        interval = compare_scores((one - two).tolist(), names).interval
        return None if interval is None else (interval.low, interval.high)

    of = f"shares of {parts} items"
    return Setting("difference of mean scores", clusters, size, of, 0.1, draw)


def _kappas() -> Iterator[Setting]:
    for clusters, size in ((60, 1), (200, 1), (10, 5), (20, 5), (60, 5)):
        yield _kappa(clusters, size)


def _kappa(clusters: int, size: int) -> Setting:
    """Both raters see the truth, 60 % of it positive, and err in 15 of 100, each by itself."""

    def draw(chance: np.random.Generator) -> Ends | None:
        true = chance.random(clusters * size) < 0.6
        words = [true ^ (chance.random(len(true)) < 0.15) for _ in range(2)]
        pairs = [(str(one), str(other)) for one, other in zip(*words, strict=True)]
        names = np.repeat(range(clusters), size).tolist() if size > 1 else None
        return agreement(pairs, names).interval

    positive = 0.6 * 0.85 + 0.4 * 0.15
    by_chance = positive**2 + (1 - positive) ** 2
    truth = (0.85**2 + 0.15**2 - by_chance) / (1 - by_chance)
    return Setting("kappa", clusters, size, "two raters who err in 15 %", truth, draw)
