"""Reading what a judge answered, for a run that goes on and for one that is replayed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from failproof_es.case import Case
from failproof_es.configuration.schema import Configuration, Model
from failproof_es.dialects.protocol import Dialect, JudgedByPeople, JudgeReading, ReadsJudges
from failproof_es.evaluation import Failure, Judging, ReadJudgement
from failproof_es.problems import Problem

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


def judge_problems(dialect: Dialect, configuration: Configuration) -> Iterator[Problem]:
    """What is wrong with the judges of a run of the dialect, or to be known of them before."""
    if not isinstance(dialect, ReadsJudges):
        return
    named = configuration.judges
    for number, judge in enumerate(configuration.asked_judges):
        if _too_weak(judge):
            yield Problem(
                f"the embedded model {judge.model} is too weak to judge: expect nearly every "
                "evaluation to end as judge_failed, and believe no verdict of it",
                field="judge" if named is None else f"judges[{number}]",
                remedy="to see the steps it will do; for verdicts name a strong model",
                severity="warning",
            )
    if configuration.asked_judges:
        return
    if isinstance(dialect, JudgedByPeople):
        yield Problem(
            "no model judges: what the checks do not decide waits for people",
            field="judge",
            remedy="judge with `failproof-es review`, or name a model here",
            severity="warning",
        )
        return
    yield Problem(
        f"is missing: the dialect {dialect.name!r} has replies judged by a model; "
        "`failproof-es review` compares people with it and cannot stand in for it",
        field="judge",
        remedy="name the model that judges",
    )


def _too_weak(judge: Model) -> bool:
    from failproof_es.models.weights import INSTALLABLE  # who only reads needs no model

    return judge.provider == "local" and judge.model in INSTALLABLE
