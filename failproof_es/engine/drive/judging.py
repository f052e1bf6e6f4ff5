"""The judges of a run, as its configuration names them."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.configuration.schema import Configuration
from failproof_es.core.evaluation import Judging
from failproof_es.dialects.protocol import (
    Dialect,
    ReadsJudges,
    people_can_judge,
)
from failproof_es.events import RunStarted
from failproof_es.problems import Problem
from failproof_es.support.plurals import plural


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
        yield from _unseen_by_judges(configuration)
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


def _unseen_by_judges(configuration: Configuration) -> Iterator[Problem]:
    """A warning if the models get a system text that no case has: judges see cases alone."""
    templated = [
        model.key or model.model
        for model in configuration.models
        if model.prompt_template is not None and model.prompt_template.system is not None
    ]
    if templated:
        yield Problem(
            "unseen-by-judges",
            f"the system text of {plural(len(templated), 'model')} ({templated[0]} ...) is in no "
            "case, so judges do not see it: they cannot tell whether an answer leaks or breaks it",
            field="models",
            remedy="if that is judged, put it into the cases as a turn of the system",
            severity="warning",
        )
