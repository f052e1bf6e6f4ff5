"""Parses a judge's reply, for a running run and for a replayed one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import Case
from failproof_es.core.evaluation import Failure, Judging, ReadJudgement, unusable_reply
from failproof_es.core.transcript import CUT_OFF
from failproof_es.dialects.protocol import (
    Dialect,
    JudgeReading,
    ReadsJudges,
    people_can_judge,
)
from failproof_es.events import RunStarted
from failproof_es.problems import Problem

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


def judging_of(started: RunStarted) -> Judging:
    """A run's judges, how their verdicts are combined, and how often each is asked, as recorded in
    its configuration."""
    judging = recorded_configuration(started).judging
    return Judging(tuple(judge.key for judge in started.judges), judging.rule, judging.attempts)


def judge_problems(dialect: Dialect, configuration: Configuration) -> Iterator[Problem]:
    """Errors, warnings and remarks about the judges that are configured for the dialect; none if
    the dialect asks no judges."""
    if not isinstance(dialect, ReadsJudges):
        return
    from failproof_es.models import provider_type  # not needed to read a log

    judges = configuration.judges
    for number, judge in enumerate(configuration.asked_judges):
        if provider_type(judge.provider).too_weak_to_judge(judge):
            yield Problem(
                "weak-judge",
                f"the embedded model {judge.model} is too weak to judge: expect nearly every "
                "evaluation to end as judge_failed, and do not trust its verdicts",
                field="judge" if judges is None else f"judges[{number}]",
                remedy="to see the steps it will do; for verdicts name a strong model",
                severity="warning",
            )
    if configuration.asked_judges:
        if people_can_judge(dialect) and configuration.gates.by != "people":
            yield Problem(
                "remark",
                "models judge: reviews by people stand beside their verdicts, and decide the gates "
                "only with `gates: {by: people}`",
                severity="remark",
            )
        return
    if people_can_judge(dialect):
        yield Problem(
            "no-judge",
            "no model judges: what the checks do not decide waits for people",
            field="judge",
            remedy="judge with `failproof-es review`, or name a model here",
            severity="warning",
        )
        return
    yield Problem(
        "no-judge",
        f"is missing: the dialect {dialect.name!r} has replies judged by a model; "
        "`failproof-es review` compares people with it and cannot replace it",
        field="judge",
        remedy="name the model that judges",
    )
