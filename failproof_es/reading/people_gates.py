"""Judges the gates on the rates of a run by the verdicts of people.

A reviewed evaluation counts as people decided: disputed and unclear ones as not passed. A scored
evaluation without a review keeps its score. People may overrule scores in a model's favour only if
they reviewed all scored evaluations of that model: reviewing only the failures would raise every
rate.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.people import ReviewStatus
from failproof_es.core.run import Run
from failproof_es.core.summary import RunCounts, RunSummary
from failproof_es.engine.history import WINDOW
from failproof_es.engine.related_runs.accuracy_bounds import bounds_of
from failproof_es.engine.related_runs.asked_again import chosen_by_result
from failproof_es.engine.reviews.people import read_reviews, status_of_reviews
from failproof_es.gates import RetryBias, judge_gates, judges_results, limits_by_people
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.support.plurals import plural


@dataclass(slots=True)
class PeopleJudgement:
    """The gates of a run judged by people, and the counts of reviews behind them."""

    reviews: Counter[str] = field(default_factory=Counter)
    """Number of evaluations left to people, by the status of their reviews."""
    overruled: Counter[str] = field(default_factory=Counter)
    """Number of scores that people overruled, by their decision: `passed`, `failed`."""
    reviewed: int = 0
    """Number of evaluations with a review."""
    selected: dict[str, int] = field(default_factory=dict)
    """Models with a failure that people overruled although scored evaluations lack a review, with
    the number of those evaluations."""
    gates: dict[str, Any] = field(default_factory=dict)


def judge_by_people(run: RecordedRun) -> PeopleJudgement:
    """Judge the run's gates on rates by the verdicts of people.

    An evaluation that people did not decide counts as not passed. Gates that were judged when the
    run ended, and those on the share of unscored evaluations, are left out.
    """
    evaluations = list(_reviewed(run))
    carries = any(planned.outcome.carried_over for planned, _ in evaluations)
    by_result = chosen_by_result(run.connection, run.run, carries=carries)
    again = RetryBias(None if by_result is None else by_result.reason)
    return judge_reviewed(run.run, evaluations, again)


def judge_reviewed(
    run: Run, evaluations: Sequence[tuple[PlannedOutcome, ReviewStatus]], again: RetryBias
) -> PeopleJudgement:
    """Judge the run's gates on rates, like `judge_by_people`.

    `evaluations` are all ended ones, each with the status of its reviews. `again` is the run's
    bias from evaluations that were asked again.
    """
    judgement = PeopleJudgement()
    unreviewed, raised = _engine_scores(evaluations, judgement)
    judgement.selected = {model: unreviewed[model] for model in raised if unreviewed[model]}
    limits = limits_by_people(recorded_configuration(run.started).gates)
    counts = RunCounts()
    undecided: Counter[str] = Counter()
    accuracies = []
    for planned, status in evaluations:
        outcome = planned.outcome
        if outcome.awaiting_review:
            judgement.reviews[status] += 1
        judgement.reviewed += status != "awaiting"
        failure_stands = (
            outcome.scored and outcome.failed and outcome.model_key in judgement.selected
        )
        passed = None if failure_stands else _decision(outcome, status)
        undecided[outcome.model_key] += passed is False and status not in ("pass", "fail")
        if passed is not None:
            outcome = _decided(outcome, passed)
        counts.add(outcome, planned.case)
        if limits.judges_lower_end and outcome.accuracy is not None:
            accuracies.append((outcome.model_key, outcome.accuracy, planned.case.family))
    summary = RunSummary(run=run, counts=counts)
    bounds = bounds_of(accuracies) if accuracies else {}
    judged = judge_gates(limits, summary, again=again, bounds=bounds)
    own = run.gates or {}
    judgement.gates = {
        name: {"by": "people"} | _with_undecided(gate, undecided)
        for name, gate in judged.items()
        if name not in own and judges_results([name])
    }
    return judgement


def _reviewed(run: RecordedRun) -> Iterator[tuple[PlannedOutcome, ReviewStatus]]:
    """Every ended evaluation of the run, with the status of its reviews, `awaiting` without any."""
    ended = (planned for planned in run.outcomes() if planned.outcome.finished)
    while window := list(islice(ended, WINDOW)):
        ids = [planned.outcome.evaluation_id for planned in window]
        reviews = read_reviews(run.connection, ids, up_to=run.up_to)
        for planned, evaluation_id in zip(window, ids, strict=True):
            yield planned, status_of_reviews(reviews.get(evaluation_id, ()))


def _engine_scores(
    evaluations: Sequence[tuple[PlannedOutcome, ReviewStatus]], judgement: PeopleJudgement
) -> tuple[defaultdict[str, int], set[str]]:
    """Count overruled scores in `judgement`. Returns the number of scored evaluations without a
    review by model, and the models with a failure that people passed."""
    unreviewed: defaultdict[str, int] = defaultdict(int)
    raised: set[str] = set()
    for planned, status in evaluations:
        outcome = planned.outcome
        if outcome.scored:
            unreviewed[outcome.model_key] += status == "awaiting"
            if status == "pass" and outcome.failed:
                raised.add(outcome.model_key)
                judgement.overruled["passed"] += 1
            elif status not in ("pass", "awaiting") and outcome.passed:
                judgement.overruled["failed"] += 1
    return unreviewed, raised


def _decision(outcome: EvaluationOutcome, status: ReviewStatus) -> bool | None:
    """Whether people passed the evaluation; `None` if its own result stands.

    The result stands if nobody reviewed the evaluation and it was not left to people. Disputed and
    unclear evaluations, and those that still await people, are not passed.
    """
    if status == "awaiting" and not outcome.awaiting_review:
        return None
    return status == "pass"


def _decided(outcome: EvaluationOutcome, passed: bool) -> EvaluationOutcome:
    """The outcome with people's decision as its score."""
    return outcome._replace(
        status="scored",
        passed=passed,
        scores={"accuracy": 1.0 if passed else 0.0},
        unscored_as=None,
    )


def _with_undecided(gate: dict[str, Any], undecided: Counter[str]) -> dict[str, Any]:
    """The gate, with the number of its model's undecided evaluations, if any, in its reason.

    A gate without a model counts those of all models.
    """
    count = undecided[gate["model"]] if "model" in gate else undecided.total()
    if not count:
        return gate
    reason = f"{plural(count, 'evaluation')} of the model that people did not decide: not passed"
    return gate | {"why": f"{gate['why']}; {reason}" if gate.get("why") else reason}
