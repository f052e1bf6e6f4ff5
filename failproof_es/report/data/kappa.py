"""Cohen's kappa with its interval: the agreement of two raters beyond chance.

J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement
20 (1960). The standard error is the large-sample one of J. Fleiss, J. Cohen and B. Everitt,
Psychological Bulletin 72 (1969), written as a sum over influence values, so that they can be summed
by cluster: with G clusters it uses G / (G - 1) times the variance of the sums, and Student's t with
G - 1 degrees of freedom (docs/how-to/review.md has the coverage that decided this).

Raters say `happened` more often of some kinds of items than of others, so that one table of all
kinds would underestimate the agreement by chance. The agreement expected by chance is therefore
computed within each kind and weighted by the kind's share; with one kind this is Cohen's kappa.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from failproof_es.support.statistics.interval import CONFIDENCE

FEWEST_CLUSTERS = 10
"""Fewest clusters for an interval; with fewer, its coverage is far below the nominal one."""
ADDED = 0.5
"""Pairs added to each cell for the interval, not for kappa (Haldane, Anscombe).

Where nearly all answers are alike, a cell can be empty by chance. Without the added pairs the
interval then covers far less than it claims: 0.61 for two independent raters, 40 pairs and 90 % of
one answer.
"""

Floats = NDArray[np.float64]


class KappaAgreement(NamedTuple):
    """The agreement of two raters, and kappa with its confidence interval.

    `kappa` is `None` without pairs, and where agreement by chance is already full (both raters
    always give one and the same answer). The interval is `None` where there is too little data:
    full agreement of a few pairs is not certainty.
    """

    pairs: int
    agreeing: int
    kappa: float | None
    interval: tuple[float, float] | None


def agreement(
    pairs: Sequence[tuple[str, str]],
    clusters: Sequence[Hashable] | None = None,
    *,
    kinds: Sequence[Hashable] | None = None,
    added: float = ADDED,
    confidence: float = CONFIDENCE,
) -> KappaAgreement:
    """Cohen's kappa of pairs of answers, with its interval within -1 and 1.

    `clusters` holds the cluster of each pair (`None`: every pair is independent), `kinds` the kind
    of each pair (`None`: all are of one kind). `added` pairs are added to each cell for the
    interval only, as `ADDED` explains. `confidence` is a share: 0.95 gives a 95 % interval.
    """
    agreeing = sum(one == other for one, other in pairs)
    if not pairs:
        return KappaAgreement(0, 0, None, None)
    counts, cells = _contingency_tables(pairs, kinds or [None] * len(pairs))
    tables = counts / len(pairs)
    if np.isclose(sum(_chance_agreement(table) for table in tables), 1.0):
        return KappaAgreement(len(pairs), agreeing, None, None)
    kappa = _kappa(tables)
    margin = _margin(counts + added, cells, clusters, (1 + confidence) / 2)
    middle = _kappa((counts + added) / (counts + added).sum())
    interval = None
    if margin is not None:
        interval = max(min(middle - margin, kappa), -1.0), min(max(middle + margin, kappa), 1.0)
    return KappaAgreement(len(pairs), agreeing, kappa, interval)


def _kappa(tables: Floats) -> float:
    expected = sum(_chance_agreement(table) for table in tables)
    return float((np.trace(tables, axis1=1, axis2=2).sum() - expected) / (1 - expected))


def _contingency_tables(
    pairs: Sequence[tuple[str, str]], kinds: Sequence[Hashable]
) -> tuple[Floats, tuple[NDArray[np.int_], ...]]:
    """Numbers of pairs by kind, first answer and second answer, and the cell of each pair.

    The cells are three arrays of indices (kind, first answer, second answer), one index for each
    pair.
    """
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


def _chance_agreement(table: Floats) -> float:
    """Agreement expected by chance within a kind, times the kind's share of all pairs.

    `table` has the share of each two answers, in all pairs, for this kind.
    """
    return float(table.sum(axis=1) @ table.sum(axis=0) / table.sum())


def _influence(tables: Floats) -> Floats:
    """The change of kappa by one more pair in each cell: the derivative, centred on its mean.

    `tables` has the share of each cell; the result has the same shape.
    """
    expected = sum(_chance_agreement(table) for table in tables)
    disagreement = 1 - float(np.trace(tables, axis1=1, axis2=2).sum())
    moves = np.empty_like(tables)
    for table, move in zip(tables, moves, strict=True):
        share, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
        chance = (columns[:, None] + rows[None, :] - _chance_agreement(table)) / share
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
    """Half the interval's width; `None` with too few clusters or without variance.

    `counts` are pairs by cell with the added ones, which belong to no cluster and vary
    independently; `cells` has the cell of each real pair. `quantile` is 0.975 for a 95 % interval.
    """
    influence = _influence(counts / counts.sum())
    pairs = len(cells[0])
    beyond = counts.copy()
    np.subtract.at(beyond, cells, 1.0)
    added = float((beyond * influence**2).sum())
    if clusters is None:
        varies = float((influence[cells] ** 2).sum())
        reach = float(ndtri(quantile))
    else:
        numbers = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters))}
        if (count := len(numbers)) < FEWEST_CLUSTERS:
            return None
        sums = np.zeros(count)
        np.add.at(sums, [numbers[cluster] for cluster in clusters], influence[cells])
        varies = float((sums**2).sum()) * count / (count - 1)
        reach = float(stdtrit(count - 1, quantile))
    error = float(np.sqrt(varies + added)) / pairs
    return reach * error if error > np.finfo(float).eps * pairs else None
