"""The Scorer of specification 000 § 2: one number, 0 or 1."""

from __future__ import annotations

from failproof_es.case import Case
from failproof_es.evaluation import Classification, Score

NAME = "failproof.accuracy"
VERSION = "1"


def score(case: Case, classification: Classification) -> Score:
    """`accuracy`: 1 when the primary class is the expected one (absent: `pass`), else 0."""
    expected = case.expectation.get("expected_classification", "pass")
    accuracy = 1 if classification.primary == expected else 0
    return Score(
        scores={"accuracy": accuracy},
        reason=f"expected {expected}, classified {classification.primary}",
        scorer=NAME,
        version=VERSION,
    )
