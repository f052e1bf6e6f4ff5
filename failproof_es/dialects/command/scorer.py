"""One number, 0 or 1: whether the case passed."""

from __future__ import annotations

from failproof_es.evaluation import Classification, Score

NAME = "command.success"
VERSION = "1"


def score(classification: Classification) -> Score:
    """`accuracy`: 1 when the case's category's checker agrees with the case, else 0."""
    passed = classification.primary == "pass"
    reason = classification.details.get("reason")
    return Score(
        scores={"accuracy": 1 if passed else 0},
        reason="passed" if reason is None else str(reason["type"]),
        scorer=NAME,
        version=VERSION,
    )
