"""Cohen's kappa with its interval: the agreement of two raters beyond chance.

J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
Measurement 20 (1960). The standard error is the large-sample one of J. Fleiss, J. Cohen and
B. Everitt, Psychological Bulletin 72 (1969), written as a sum over influence values, so that
answers that belong together can be taken as one: with G of these, G / (G - 1) times the
variance of their sums, and Student's t with G - 1 degrees of freedom (docs/how-to/review.md has the
coverage that this was chosen by).

Where what is judged is of several kinds, two that say `met` by chance alone do so more often of
one kind than of another, and so meet more often than one table of all kinds would expect. The
agreement expected by chance is therefore that within each kind, weighted by its share; of one kind
it is Cohen's.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from failproof_es.support.statistics.interval import CONFIDENCE

FEWEST_CLUSTERS = 10
"""With fewer, no interval is given: its coverage would be far below the nominal one."""
ADDED = 0.5
"""So many pairs are added to each cell for the interval, not for kappa (Haldane, Anscombe).

Where nearly all answers are alike a cell stays empty by chance, and an interval without them
covers far less than it says: 0.61 for two independent raters, 40 pairs and 90 % of one answer.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KappaAgreement:
    """How often two raters agree, and kappa with its confidence interval.

    `kappa` is `None` where chance alone gives full agreement (both always say one and the
    same word) and where there is nothing to compare. The interval is `None` where there is too
    little to estimate it from: full agreement of few is not certainty.
    """

    pairs: int
    agreeing: int
    kappa: float | None
    interval: tuple[float, float] | None

    @property
    def rate(self) -> float | None:
        """The share of pairs that agree."""
        return self.agreeing / self.pairs if self.pairs else None


def agreement(
    pairs: Sequence[tuple[str, str]],
    clusters: Sequence[Hashable] | None = None,
    *,
    kinds: Sequence[Hashable] | None = None,
    added: float = ADDED,
    confidence: float = CONFIDENCE,
) -> KappaAgreement:
    """Cohen's kappa of these answers, the interval at `confidence`, cut at -1 and 1.

    `clusters` says of each pair what it belongs to; without, each stands alone. `kinds` says of
    which kind it is; without, all are of one. `added` as in `ADDED`.
    """
    agreeing = sum(one == other for one, other in pairs)
    if not pairs:
        return KappaAgreement(0, 0, None, None)
    counts, cells = _counted(pairs, kinds or [None] * len(pairs))
    tables = counts / len(pairs)
    if np.isclose(sum(_by_chance(table) for table in tables), 1.0):
        return KappaAgreement(len(pairs), agreeing, None, None)
    kappa = _kappa(tables)
    margin = _margin(counts + added, cells, clusters, (1 + confidence) / 2)
    middle = _kappa((counts + added) / (counts + added).sum())
    interval = None
    if margin is not None:
        interval = max(min(middle - margin, kappa), -1.0), min(max(middle + margin, kappa), 1.0)
    return KappaAgreement(len(pairs), agreeing, kappa, interval)


def _kappa(tables: Floats) -> float:
    expected = sum(_by_chance(table) for table in tables)
    return float((np.trace(tables, axis1=1, axis2=2).sum() - expected) / (1 - expected))


def _counted(
    pairs: Sequence[tuple[str, str]], kinds: Sequence[Hashable]
) -> tuple[Floats, tuple[NDArray[np.int_], ...]]:
    """A table of each kind, and in which cell each pair stands."""
    words = {word: n for n, word in enumerate(sorted({word for pair in pairs for word in pair}))}
    numbers = {kind: n for n, kind in enumerate(dict.fromkeys(kinds))}
    cells = (
        np.array([numbers[kind] for kind in kinds], dtype=int),
        np.array([words[one] for one, _ in pairs], dtype=int),
        np.array([words[other] for _, other in pairs], dtype=int),
    )
    counts = np.zeros((len(numbers), len(words), len(words)))
    np.add.at(counts, cells, 1.0)
    return counts, cells


def _by_chance(table: Floats) -> float:
    """How often two would agree by chance within a kind, times the share of the kind."""
    return float(table.sum(axis=1) @ table.sum(axis=0) / table.sum())


def _influence(tables: Floats) -> Floats:
    """How far one answer in each cell moves kappa: its derivative, centred."""
    expected = sum(_by_chance(table) for table in tables)
    disagreement = 1 - float(np.trace(tables, axis1=1, axis2=2).sum())
    moves = np.empty_like(tables)
    for table, move in zip(tables, moves, strict=True):
        share, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
        chance = (columns[:, None] + rows[None, :] - _by_chance(table)) / share
        move[:] = np.eye(len(table)) / (1 - expected)
        move -= disagreement * chance / (1 - expected) ** 2
    centred: Floats = moves - (tables * moves).sum()
    return centred


def _margin(
    counts: Floats,
    cells: tuple[NDArray[np.int_], ...],
    clusters: Sequence[Hashable] | None,
    quantile: float,
) -> float | None:
    """How far the interval reaches to either side; `None` where nothing varies, or little is.

    What was added to the counts belongs to no cluster: it varies by itself.
    """
    influence = _influence(counts / counts.sum())
    pairs = len(cells[0])
    beyond = counts.copy()
    np.subtract.at(beyond, cells, 1.0)
    added = float((beyond * influence**2).sum())
    if clusters is None:
        varies = float((influence[cells] ** 2).sum())
        reach = float(stats.norm.ppf(quantile))
    else:
        numbers = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters))}
        if (count := len(numbers)) < FEWEST_CLUSTERS:
            return None
        sums = np.zeros(count)
        np.add.at(sums, [numbers[cluster] for cluster in clusters], influence[cells])
        varies = float((sums**2).sum()) * count / (count - 1)
        reach = float(stats.t.ppf(quantile, count - 1))
    error = float(np.sqrt(varies + added)) / pairs
    return reach * error if error > np.finfo(float).eps * pairs else None
