"""Replies that were cut off at max_tokens: one rule for all dialects.

A reply is cut off if its finish reason says so, however much text came (`ModelReply.cut_off`:
`length` and its synonyms in `core.finish_reasons`).

The missing text could turn a match into a mismatch and back, and the point of the cut is not the
model's fault. So an incomplete reply is not graded: its class is `CLASS`, before any other but
`error` and those of `unusable`, and the evaluation ends without a score, as `UNSCORED`. A part that
is complete before the cut may be graded if the missing text can undo neither a pass nor a fail: a
verdict, a command. A part that only a fail is certain of is not graded: a forbidden act before the
cut does not fail a case that could not have passed.

With `grading.on_cut_off: fail` such an evaluation fails instead, and so does an evaluation whose
grading the reply stopped: the model controls both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failproof_es.core.evaluation import CUT_OFF, GRADING_STOPPED, Failure, Score

CLASS = CUT_OFF
MESSAGE = "a reply was cut off at max_tokens: what is missing could decide otherwise"
UNSCORED = Failure(CLASS, MESSAGE)

SCORER = "grading.on_cut_off"
VERSION = "1"
STOPPED_SCORER = f"{SCORER}.{GRADING_STOPPED}"
"""The scorer of a stopped grading: a replay cannot compute its score again."""


def fails(configuration: Mapping[str, Any]) -> bool:
    """Whether a resolved configuration has `grading.on_cut_off: fail`."""
    grading = configuration.get("grading")
    return isinstance(grading, Mapping) and grading.get("on_cut_off") == "fail"


def failed(failure: Failure, scores: Mapping[str, float]) -> Score:
    """The failing score of an evaluation that would otherwise end without one.

    `failure` is the reason why it would. `scores` are the dialect's scores of a failing answer
    (`protocol.failing_scores`).
    """
    scorer = STOPPED_SCORER if failure.kind == GRADING_STOPPED else SCORER
    reason = f"failed by grading.on_cut_off: {failure.message}"
    return Score(dict(scores), reason, scorer, VERSION, passed=False)
