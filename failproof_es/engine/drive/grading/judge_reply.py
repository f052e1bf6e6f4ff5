"""Parses a judge's reply, for a running run and for a replayed one."""

from __future__ import annotations

from dataclasses import replace

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Failure, ReadJudgement, unusable_reply
from failproof_es.core.transcript import CUT_OFF
from failproof_es.dialects.protocol import Dialect, JudgeReading, ReadsJudges

_UNANSWERED = ("unanswered", "1")


def read_judgement(dialect: Dialect, case: Case, action: ReadJudgement) -> JudgeReading:
    """The verdict in a judge's reply, parsed by the dialect.

    Without a usable reply the verdict is `None`, and `problem` says why. If the verdict lacks
    votes, `problem` says so; the verdict is left out if the judge is asked again. Raises
    `TypeError` if the dialect cannot parse judges' replies.
    """
    if isinstance(action.answer, Failure):
        problem = f"{action.answer.kind}: {action.answer.message}"
        return JudgeReading(None, problem, *_UNANSWERED)
    if (unusable := unusable_reply([action.answer])) is not None:
        problem = f"{unusable.failure.kind}: {unusable.failure.message}"
        return JudgeReading(None, problem, *_UNANSWERED)
    if action.answer.cut_off:
        problem = f"{CUT_OFF}: the reply was cut off, and more could have followed"
        return JudgeReading(None, problem, *_UNANSWERED)
    if not isinstance(dialect, ReadsJudges):
        raise TypeError(f"dialect {dialect.name!r} asks judges and cannot parse their replies")
    reading = dialect.read_judgement(case, action.transcript, action.answer)
    if reading.missing is None:
        return reading
    return replace(
        reading, verdict=reading.verdict if action.last else None, problem=reading.missing
    )
