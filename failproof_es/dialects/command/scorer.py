"""One number, 0 or 1: whether the case passed; or why there is none."""

from __future__ import annotations

from failproof_es.dialects import cut_off
from failproof_es.evaluation import Classification, Failure, Score

NAME = "command.success"
VERSION = "2"


def score(classification: Classification) -> Score | Failure:
    """`accuracy`: 1 when the case's category's checker agrees with the case, else 0.

    None where the reply was cut off before its command was whole.
    """
    if classification.primary == cut_off.CLASS:
        return cut_off.UNSCORED
    passed = classification.primary == "pass"
    reason = classification.details.get("reason")
    return Score(
        scores={"accuracy": 1 if passed else 0},
        reason="passed" if reason is None else str(reason["type"]),
        scorer=NAME,
        version=VERSION,
    )
