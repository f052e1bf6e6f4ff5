"""Refuses to close the reviews of a run before people have decided everything its gates need."""

from __future__ import annotations

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.problems import InvalidInput, Problems
from failproof_es.reading.people_gates import PeopleJudgement
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.support.plurals import plural


def require_closable(run: RecordedRun) -> None:
    """Raise `InvalidInput` unless the run is complete and its gates are for people to decide."""
    number = run.started.run_number
    if recorded_configuration(run.started).gates.by != "people":
        raise InvalidInput.because(
            "gates-not-by-people",
            f"people do not decide the gates of run {number}",
            remedy="`gates: {by: people}` in the configuration of a new run lets them",
        )
    if run.run.status != "completed":
        raise InvalidInput.because(
            "run-not-completed",
            f"run {number} is {run.run.status}",
            remedy="close its reviews when it is complete",
        )


def require_complete(run: RecordedRun, judgement: PeopleJudgement) -> None:
    """Raise `InvalidInput` while reviews are missing that the run's gates need.

    They are missing if evaluations await review, if nobody has reviewed the run, or if people
    passed failed evaluations of a model and have not reviewed its others.
    """
    number, problems = run.started.run_number, Problems()
    review = f"`failproof-es review {number}`"
    if waiting := judgement.reviews["awaiting"]:
        problems.error(
            "reviews-missing",
            f"{plural(waiting, 'evaluation')} of run {number} await review",
            remedy=f"{review}; --incomplete counts them as not passed",
        )
    elif not judgement.reviewed:
        problems.error("reviews-missing", f"nobody has reviewed run {number}", remedy=review)
    for model, unreviewed in judgement.selected.items():
        problems.error(
            "reviews-missing",
            f"people passed evaluations of {model} that had failed, and have not reviewed "
            f"{plural(unreviewed, 'other evaluation')} that the engine scored",
            remedy=f"{review}; with --incomplete the failures stand",
        )
    problems.raise_errors()
