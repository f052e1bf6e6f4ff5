"""Reading what a judge answered, for a run that goes on and for one that is replayed."""

from __future__ import annotations

from typing import Any

from failproof_es.case import Case
from failproof_es.dialects.protocol import Dialect, JudgeReading, ReadsJudges
from failproof_es.evaluation import Failure, Judging, ReadJudgement

_UNANSWERED = ("unanswered", "1")


def read_judgement(dialect: Dialect, case: Case, action: ReadJudgement) -> JudgeReading:
    """The reply as the dialect reads it; a judge that failed said nothing."""
    if isinstance(action.answer, Failure):
        problem = f"{action.answer.kind}: {action.answer.message}"
        return JudgeReading(None, problem, *_UNANSWERED)
    if not isinstance(dialect, ReadsJudges):
        raise TypeError(f"dialect {dialect.name!r} asks judges and cannot read them")
    return dialect.read_judgement(case, action.transcript, action.answer)


def judging_of(configuration: dict[str, Any], judges: tuple[str, ...]) -> Judging:
    """How a run judges, by its recorded configuration; before there were several, as one."""
    judging = configuration.get("judging") or {}
    return Judging(judges, judging.get("rule", "majority"), int(judging.get("attempts", 1)))
