"""The number of labels that a corrected rate needs."""

from __future__ import annotations

from math import ceil, sqrt

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
    whole = sum(map(sqrt, sizes))
    of_one_label = sum(
        size**2 * share * (1 - share) / (sqrt(size) / whole)
        for size, share in zip(sizes, true, strict=True)
        if size
    )
    of_evaluations = passed * (1 - passed) * (true[0] - true[1]) ** 2 / evaluations
    allowed = (width / 2 / float(ndtri((1 + confidence) / 2))) ** 2 - of_evaluations
    if allowed <= 0 or of_one_label / allowed > evaluations:
        return None
    return max(2, ceil(of_one_label / allowed))
