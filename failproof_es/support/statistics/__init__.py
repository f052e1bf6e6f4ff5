"""Confidence intervals and significance tests, on scipy. Pure; every random draw is seeded.

Evaluations of one case, and cases of one family, are not independent: they form a cluster, and
where there are clusters the error of a rate is that of the clusters (E. Miller, "Adding error
bars to evals", arXiv 2411.00640, 2024). How often each interval covers the truth stands in
`docs/concepts/statistics.md`, measured by `python -m tests.coverage`.
"""

from failproof_es.support.statistics.corrected import (
    EstimatedFigure,
    JudgedSample,
    corrected_difference,
    corrected_rate,
    error_difference,
    false_positive_rate,
    judge_kappa,
    transferred_rate,
    true_positive_rate,
)
from failproof_es.support.statistics.interval import (
    CONFIDENCE,
    POWER,
    Interval,
    Method,
    OpenInterval,
)
from failproof_es.support.statistics.measures import (
    mean_interval,
    percentile_interval,
    score_interval,
)
from failproof_es.support.statistics.paired import (
    Paired,
    benjamini_hochberg,
    clustered_error,
    compare_outcomes,
    compare_scores,
    mcnemar,
)
from failproof_es.support.statistics.rates import (
    Rate,
    rate,
    rate_of_sums,
    wilson,
)
from failproof_es.support.statistics.reliability import krippendorff_alpha
from failproof_es.support.statistics.required_labels import judge_required_labels

__all__ = [
    "CONFIDENCE",
    "POWER",
    "EstimatedFigure",
    "Interval",
    "JudgedSample",
    "Method",
    "OpenInterval",
    "Paired",
    "Rate",
    "benjamini_hochberg",
    "clustered_error",
    "compare_outcomes",
    "compare_scores",
    "corrected_difference",
    "corrected_rate",
    "error_difference",
    "false_positive_rate",
    "judge_kappa",
    "judge_required_labels",
    "krippendorff_alpha",
    "mcnemar",
    "mean_interval",
    "percentile_interval",
    "rate",
    "rate_of_sums",
    "score_interval",
    "transferred_rate",
    "true_positive_rate",
    "wilson",
]
