"""Why an evaluation ended without a score: the one definition, in a closed list of groups. Pure.

Every gate, table, export and page counts by these groups. Evaluations that wait for people are a
group of their own: no error, and neither lost nor abandoned in any count that users see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from failproof_es.core.evaluation_state import Evaluation
from failproof_es.core.transcript import (
    AWAITING_REVIEW,
    BROKEN_OFF,
    CUT_OFF,
    GRADING_STOPPED,
    JUDGE_FAILED,
    JUDGES_DISAGREE,
    UNKNOWN_END,
    WITHHELD_KINDS,
)

UnscoredGroup = Literal[
    "no_answer",
    "no_verdict",
    "undecided",
    "cut_off",
    "withheld",
    "broken_off",
    "unknown_end",
    "grading_stopped",
    "ungraded",
    "awaiting_people",
]
GROUPS: tuple[UnscoredGroup, ...] = get_args(UnscoredGroup)
"""All groups, in the order in which lists show them."""

WORDS: Mapping[UnscoredGroup, str] = {
    "no_answer": "lost, no usable answer of the model",
    "no_verdict": "no usable verdict of its judges",
    "undecided": "its judges decided nothing",
    "cut_off": "cut off at max_tokens",
    "withheld": "withheld by the provider",
    "broken_off": "broken off by its server",
    "unknown_end": "ended for a reason that nobody knows",
    "grading_stopped": "its grading was stopped",
    "ungraded": "its answer could not be graded",
    "awaiting_people": "awaits review by people",
}
"""Each group in words: why an evaluation of it has no score."""

LOST: UnscoredGroup = "no_answer"
"""The group in which the model failed to answer: in every count an error of the model."""

NOTHING_USABLE: frozenset[UnscoredGroup] = frozenset({LOST, "no_verdict"})
"""The groups without a usable reply of the model, or of judges that the evaluation needed."""

BY_ANSWER: frozenset[UnscoredGroup] = frozenset(
    {"undecided", "cut_off", "withheld", "broken_off", "unknown_end", "grading_stopped", "ungraded"}
)
"""The groups in which the answer itself left the evaluation without a score."""


class UnscoredKey(NamedTuple):
    """The attributes that unscored evaluations share if they are counted together."""

    model_key: str
    group: UnscoredGroup
    kind: str
    reason: str


_BY_KIND: Mapping[str, UnscoredGroup] = {
    AWAITING_REVIEW: "awaiting_people",
    CUT_OFF: "cut_off",
    GRADING_STOPPED: "grading_stopped",
    JUDGES_DISAGREE: "undecided",
    BROKEN_OFF: "broken_off",
    UNKNOWN_END: "unknown_end",
    **dict.fromkeys(WITHHELD_KINDS, "withheld"),
}


def unscored_group(evaluation: Evaluation) -> UnscoredGroup | None:
    """The group of an evaluation that ended without a score; `None` for any other evaluation."""
    ended = evaluation.abandoned
    if ended is None:
        return None
    if (group := _BY_KIND.get(ended.kind)) is not None:
        return group
    if evaluation.verdicts:
        if all(verdict.verdict is None for verdict in evaluation.verdicts):
            return "no_verdict"
        if ended.kind == JUDGE_FAILED and not all(
            verdict.is_whole for verdict in evaluation.verdicts
        ):
            return "no_verdict"
    elif evaluation.last_error is not None or evaluation.import_error is not None:
        return "no_answer"
    return "undecided" if ended.kind == JUDGE_FAILED else "ungraded"
