"""How far two that judged the same agree beyond chance: Cohen's kappa with its interval.

J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
Measurement 20 (1960). The standard error is the large-sample one of J. Fleiss, J. Cohen and
B. Everitt, Psychological Bulletin 72 (1969), written as a sum over influence values, so that
answers that belong together can be taken as one: with G of these, G / (G - 1) times the
variance of their sums, and Student's t with G - 1 degrees of freedom (docs/review.md has the
coverage that this was chosen by).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95
FEWEST_CLUSTERS = 10
"""Of fewer, no interval is given: it would cover far less than it says."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two say the same of the same, and kappa with its confidence interval.

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
    confidence: float = CONFIDENCE,
) -> Agreement:
    """Cohen's kappa of these answers, the interval at `confidence`, cut at -1 and 1.

    `clusters` says of each pair what it belongs to; without, each stands alone.
    """
    agreeing = sum(one == other for one, other in pairs)
    table, cells = _proportions(pairs)
    expected = float(table.sum(axis=1) @ table.sum(axis=0))
    if not pairs or np.isclose(expected, 1.0):
        return Agreement(len(pairs), agreeing, None, None)
    kappa = (agreeing / len(pairs) - expected) / (1 - expected)
    influence = _influence(table, expected)[cells[:, 0], cells[:, 1]]
    margin = _margin(influence, clusters, (1 + confidence) / 2)
    interval = None if margin is None else (max(kappa - margin, -1.0), min(kappa + margin, 1.0))
    return Agreement(len(pairs), agreeing, kappa, interval)


def _proportions(pairs: Sequence[tuple[str, str]]) -> tuple[Floats, NDArray[np.int_]]:
    """The table of proportions, and in which of its cells each pair stands."""
    words = {word: n for n, word in enumerate(sorted({word for pair in pairs for word in pair}))}
    cells = np.array([(words[one], words[other]) for one, other in pairs], dtype=int)
    table = np.zeros((len(words), len(words)))
    if pairs:
        np.add.at(table, (cells[:, 0], cells[:, 1]), 1 / len(pairs))
    return table, cells


def _influence(table: Floats, expected: float) -> Floats:
    """How far one answer in each cell moves kappa: its derivative, centred."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    disagreement = 1 - np.trace(table)
    moves = np.eye(len(table)) / (1 - expected)
    moves -= disagreement * (columns[:, None] + rows[None, :]) / (1 - expected) ** 2
    centred: Floats = moves - (table * moves).sum()
    return centred


def _margin(
    influence: Floats, clusters: Sequence[Hashable] | None, quantile: float
) -> float | None:
    """How far the interval reaches to either side; `None` where nothing varies, or little is."""
    if clusters is None:
        error = float(np.sqrt((influence**2).sum())) / len(influence)
        reach = float(stats.norm.ppf(quantile))
    else:
        numbers = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters))}
        if (count := len(numbers)) < FEWEST_CLUSTERS:
            return None
        sums = np.zeros(count)
        np.add.at(sums, [numbers[cluster] for cluster in clusters], influence)
        error = float(np.sqrt((sums**2).sum() * count / (count - 1))) / len(influence)
        reach = float(stats.t.ppf(quantile, count - 1))
    return reach * error if error > np.finfo(float).eps * len(influence) else None
