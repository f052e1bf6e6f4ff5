"""Confidence intervals and significance tests, on scipy. Pure; every random draw is seeded.

Evaluations of one case, and cases of one family, are not independent: they form a cluster, and
where there are clusters the error of a rate is that of the clusters (E. Miller, "Adding error
bars to evals", arXiv 2411.00640, 2024). How often each interval covers the truth stands in
`docs/concepts/statistics.md`, measured by `python -m tests.coverage`.
"""

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

__all__ = [
    "CONFIDENCE",
    "POWER",
    "Interval",
    "Method",
    "OpenInterval",
    "Paired",
    "Rate",
    "benjamini_hochberg",
    "clustered_error",
    "compare_outcomes",
    "compare_scores",
    "mcnemar",
    "mean_interval",
    "percentile_interval",
    "rate",
    "rate_of_sums",
    "score_interval",
    "wilson",
]
