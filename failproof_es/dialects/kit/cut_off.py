"""Replies that were cut off at max_tokens: one rule for all dialects.

A reply is cut off when its finish reason says so (`ModelReply.cut_off`: `length` and every other
word of that meaning in `core.finish_reasons`), whatever of it came.
What is missing could turn a match into a mismatch and back, and where a server cuts is no fault
of the model. So what a cut-off reply has not said whole is not graded: its class is `CLASS`
before any other but `error` and a reply that the provider withheld, and the evaluation ends
without a score, as `UNSCORED`. What stands whole before the cut may be graded, where the missing
part can neither undo a pass nor a fail: a verdict, a command. Never only one of the two: a
forbidden thing that was done before the cut does not fail a case that could not have passed.

With `grading.on_cut_off: fail` such an evaluation fails instead, and so does one whose grading the
reply made stop: the model controls both.
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
"""The scorer of a grading that was stopped: nothing can be derived of it again."""


def fails(configuration: Mapping[str, Any]) -> bool:
    """Whether a resolved configuration says `grading.on_cut_off: fail`."""
    grading = configuration.get("grading")
    return isinstance(grading, Mapping) and grading.get("on_cut_off") == "fail"


def failed(failure: Failure, scores: Mapping[str, float]) -> Score:
    """The score of an evaluation that fails for what would leave it unscored.

    `scores` are those of an answer that fails in its dialect (`protocol.failing_scores`).
    """
    scorer = STOPPED_SCORER if failure.kind == GRADING_STOPPED else SCORER
    reason = f"failed by grading.on_cut_off: {failure.message}"
    return Score(dict(scores), reason, scorer, VERSION, passed=False)
