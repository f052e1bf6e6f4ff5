"""Measures the errors of judges against labels, and corrects their rates. Reads nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple
from uuid import UUID

from failproof_es.engine.calibration.judged_run import JudgedEvaluation, JudgedRun
from failproof_es.engine.calibration.label_sample import Labels
from failproof_es.engine.queues.agreement import agreement_of_labels
from failproof_es.engine.reviews.comparison import JUDGES, VERDICT, ItemOutcome, item_votes
from failproof_es.events import JudgeErrors, Measured, Reviewed
from failproof_es.support.statistics import (
    EstimatedFigure,
    JudgedSample,
    Rate,
    corrected_difference,
    corrected_rate,
    error_difference,
    false_positive_rate,
    judge_kappa,
    rate,
    transferred_rate,
    true_positive_rate,
)

_HAPPENED: ItemOutcome = "happened"
LABELS = "labels"
"""A rate was corrected by labels of the model's own evaluations."""
ERROR_RATES = "error rates"
"""A rate was corrected by the error rates of the judges on other evaluations."""


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """The judged pass rate of a model, and the rate corrected for the errors of the judges."""

    model: str
    judged: Rate
    labels: int
    """Labels of the model's own evaluations."""
    corrected: EstimatedFigure
    by: str | None
    """`labels` or `error rates`; `None` if the rate could not be corrected."""


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """The difference of two models' pass rates, judged and corrected.

    `errors` is the difference of the judges' true positive rates on the two, `false_errors` that of
    their false positive rates: an interval without 0 shows that the judges treat them differently.
    """

    one: str
    other: str
    judged: float
    corrected: EstimatedFigure
    errors: EstimatedFigure
    false_errors: EstimatedFigure

    @property
    def errs_differently(self) -> bool:
        """Whether the judges visibly err more often on one of the two models."""
        return any(excludes_zero(estimate) for estimate in (self.errors, self.false_errors))


def excludes_zero(estimate: EstimatedFigure) -> bool:
    """Whether the estimate has an interval without 0."""
    interval = estimate.interval
    return interval is not None and not interval.low <= 0 <= interval.high


def verdict_sample(
    evaluations: Sequence[JudgedEvaluation], labels: Mapping[UUID, bool]
) -> JudgedSample:
    """The verdicts of the judges on these evaluations, with their labels."""
    return JudgedSample.of(
        [evaluation.passed for evaluation in evaluations],
        [labels.get(evaluation.evaluation_id) for evaluation in evaluations],
        [evaluation.family for evaluation in evaluations],
    )


def corrected_rates(
    run: JudgedRun, labels: Mapping[UUID, bool], elsewhere: JudgedSample | None = None
) -> tuple[CorrectedRate, ...]:
    """The pass rate of each model, judged and corrected.

    `labels` are those of the run's own evaluations. If a model's labels do not determine its rate,
    it is corrected by the errors of the judges on all labelled evaluations of the run, or without
    any, on those of `elsewhere`.
    """
    pooled = verdict_sample(run.evaluations, labels) if labels else elsewhere
    return tuple(
        _corrected(model, own, labels, pooled) for model, own in by_model(run.evaluations).items()
    )


def _corrected(
    model: str,
    evaluations: Sequence[JudgedEvaluation],
    labels: Mapping[UUID, bool],
    pooled: JudgedSample | None,
) -> CorrectedRate:
    sample = verdict_sample(evaluations, labels)
    corrected, by = corrected_rate(sample), LABELS
    if corrected.value is None and pooled is not None:
        corrected, by = transferred_rate(pooled, sample), ERROR_RATES
    judged = rate(
        [evaluation.passed for evaluation in evaluations],
        [evaluation.family for evaluation in evaluations],
    )
    return CorrectedRate(
        model, judged, sample.labelled, corrected, None if corrected.value is None else by
    )


def corrected_differences(
    run: JudgedRun, labels: Mapping[UUID, bool]
) -> tuple[CorrectedDifference, ...]:
    """The differences of every two models of the run whose own labels determine both rates."""
    samples = {
        model: sample
        for model, own in by_model(run.evaluations).items()
        for sample in (verdict_sample(own, labels),)
        if corrected_rate(sample).value is not None
    }
    return tuple(
        CorrectedDifference(
            one, other, _judged_rate(first) - _judged_rate(second),
            corrected_difference(first, second),
            error_difference(first, second, true=True),
            error_difference(first, second, true=False),
        )
        for (one, first), (other, second) in combinations(samples.items(), 2)
    )  # fmt: skip


def _judged_rate(sample: JudgedSample) -> float:
    return float(sample.sizes[sample.passed].sum() / sample.sizes.sum())


def by_model(evaluations: Iterable[JudgedEvaluation]) -> dict[str, list[JudgedEvaluation]]:
    """The evaluations by model, in order."""
    models: dict[str, list[JudgedEvaluation]] = {}
    for evaluation in evaluations:
        models.setdefault(evaluation.model_key, []).append(evaluation)
    return models


def measure_errors(run: JudgedRun, labels: Labels) -> tuple[JudgeErrors, ...]:
    """The errors of the judges together on whole evaluations, then on each kind of items that has
    labels, and those of each of several judges on each such kind."""
    whole = verdict_sample(run.evaluations, labels.passed)
    return (_errors(JUDGES, VERDICT, whole), *_item_errors(run.evaluations, labels))


class _ItemVote(NamedTuple):
    """A vote on an item (whether it happened), its label, its cluster and its sampled stratum."""

    happened: bool
    label: bool | None
    family: tuple[str, str]
    passed: bool


def _item_errors(evaluations: Sequence[JudgedEvaluation], labels: Labels) -> Iterator[JudgeErrors]:
    votes: defaultdict[tuple[str, str], list[_ItemVote]] = defaultdict(list)
    for evaluation in evaluations:
        people = joint_votes(labels.reviews.get(evaluation.evaluation_id, ()))
        if (decision := labels.adjudications.get(evaluation.evaluation_id)) is not None:
            people |= item_votes(decision)
        for item, by_rater in evaluation.items.items():
            label = people[item] == _HAPPENED if item in people else None
            kind, _, _ = item.partition(".")
            for rater, vote in by_rater.items():
                own = _ItemVote(vote == _HAPPENED, label, evaluation.family, evaluation.passed)
                votes[rater, kind].append(own)
    judges = {rater for rater, _ in votes} - {JUDGES}
    for (rater, kind), own_votes in votes.items():
        sample = JudgedSample.of(*zip(*own_votes, strict=True))
        if sample.labelled and (rater == JUDGES or len(judges) > 1):
            yield _errors(rater, kind, sample)


def joint_votes(reviews: Sequence[Reviewed]) -> dict[str, ItemOutcome]:
    """The votes by item key, of the items on which all these reviews agree."""
    votes: defaultdict[str, set[ItemOutcome]] = defaultdict(set)
    for review in reviews:
        for item, vote in item_votes(review).items():
            votes[item].add(vote)
    return {item: own.pop() for item, own in votes.items() if len(own) == 1}


def _errors(by: str, what: str, sample: JudgedSample) -> JudgeErrors:
    return JudgeErrors(
        by=by,
        what=what,
        verdicts=len(sample.strata),
        labels=sample.labelled,
        true_positive_rate=_measured(true_positive_rate(sample)),
        false_positive_rate=_measured(false_positive_rate(sample)),
        kappa=_measured(judge_kappa(sample)),
    )


def _measured(estimate: EstimatedFigure) -> Measured | None:
    if estimate.value is None or estimate.interval is None:
        return None
    return Measured(value=estimate.value, low=estimate.interval.low, high=estimate.interval.high)


def reliability(labels: Labels) -> float | None:
    """Krippendorff's alpha of the labels (`agreement_of_labels`)."""
    return agreement_of_labels(labels.reviews.values())
