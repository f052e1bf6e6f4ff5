"""The number of labels that a corrected rate needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import sqrt

from scipy.special import ndtri

from failproof_es.support.statistics.interval import CONFIDENCE


def judge_required_labels(
    width: float,
    *,
    passed: float,
    true_positive_rate: float,
    false_positive_rate: float,
    evaluations: int,
    confidence: float = CONFIDENCE,
) -> int | None:
    """The labels with which the interval of a corrected rate is about this wide, at least 2.

    `passed` is the share of the `evaluations` that the judge passes, which must lie between the two
    error rates. The strata share the labels by the square roots of their sizes
    (`failproof_es.engine.calibration.label_sample`). `None` if not even labels of all evaluations
    suffice, since the evaluations are too few. Raises `ValueError` for shares that no judge has.
    """
    if not 0 <= false_positive_rate <= passed <= true_positive_rate <= 1 or not width > 0:
        raise ValueError("passed must lie between the false and the true positive rate")
    if true_positive_rate == false_positive_rate:
        raise ValueError("a judge that passes as many false answers as true ones tells nothing")
    rate = (passed - false_positive_rate) / (true_positive_rate - false_positive_rate)
    sizes = (passed, 1 - passed)
    true = (
        rate * true_positive_rate / passed if passed else 0.0,
        rate * (1 - true_positive_rate) / (1 - passed) if passed < 1 else 0.0,
    )
    of_evaluations = passed * (1 - passed) * (true[0] - true[1]) ** 2 / evaluations
    allowed = (width / 2 / float(ndtri((1 + confidence) / 2))) ** 2 - of_evaluations
    if allowed <= 0 or _variance(evaluations, sizes, true) > allowed:
        return None
    enough = range(2, max(evaluations, 2) + 1)
    at = bisect_left(enough, True, key=lambda labels: _variance(labels, sizes, true) <= allowed)
    return enough[at]


def _variance(labels: int, sizes: Sequence[float], true: Sequence[float]) -> float:
    """The variance of a corrected rate by Jeffreys' posteriors of the strata, which share the
    labels; `true` has the true share of each."""
    whole, variance = sum(map(sqrt, sizes)), 0.0
    for size, share in zip(sizes, true, strict=True):
        own = labels * sqrt(size) / whole
        yes, no = own * share + 0.5, own * (1 - share) + 0.5
        variance += size**2 * yes * no / ((yes + no) ** 2 * (yes + no + 1))
    return variance
