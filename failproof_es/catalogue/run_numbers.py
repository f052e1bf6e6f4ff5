"""The numbers of a run's document, made of its summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from failproof_es.catalogue.pass_rate import build_model_pass_rate
from failproof_es.catalogue.run import (
    Accuracy,
    ErrorGroup,
    EvaluationCounts,
    ModelProgress,
    Spending,
    SuiteProgress,
    UnscoredReason,
)
from failproof_es.core.spend import ceiling_of, spent_text
from failproof_es.core.summary import RunSummary
from failproof_es.events import ModelSnapshot
from failproof_es.reading.summary_rows import CLASSES, unscored_row

NO_ACCURACY = Accuracy(
    by_case=None, by_case_bounds=None, mean_of_suites=None, mean_of_suites_bounds=None
)
"""The accuracy of several models, whose scores are not combined."""


def counts_of(summary: RunSummary, model: str | None = None) -> EvaluationCounts:
    """Counts of the evaluations and requests of one model, or (if `model` is `None`) of all.

    `passed` and `failed` are `None` for several models together.
    """
    group, asking = summary.group(model=model), summary.asking(model)
    one_model = model is not None or len(summary.models) == 1
    return EvaluationCounts(
        planned=summary.planned if model is None else summary.planned // len(summary.models),
        finished=group.finished,
        scored=group.scored,
        passed=group.passed if one_model else None,
        failed=group.failed if one_model else None,
        abandoned=group.missing,
        lost=group.lost,
        awaiting_review=group.awaiting,
        carried_over=asking.carried_over,
        in_flight=asking.in_flight,
        requests=asking.requests,
        answers=asking.answers,
        retries=asking.retries,
        failed_requests=asking.errors,
        orphaned_requests=asking.orphaned_requests,
    )


def model_progress(
    summary: RunSummary, model: ModelSnapshot, *, intervals: bool = True
) -> ModelProgress:
    """Progress and results of one model under test.

    Without `intervals`, its rate has no interval.
    """
    group = summary.group(model=model.key)
    cost = summary.cost_of(model.key)
    return ModelProgress(
        model=model.key,
        provider=model.provider,
        version=model.version,
        counts=counts_of(summary, model.key),
        passed=build_model_pass_rate(summary, model.key, interval=intervals),
        accuracy=accuracy_of(summary, model.key),
        classes=in_order(group.classes),
        unscored=unscored_row(summary, model.key),
        cost_usd=None if cost is None else float(cost),
        possibly_charged=summary.spent_on(model.key).possibly_charged,
    )


def accuracy_of(summary: RunSummary, model: str) -> Accuracy:
    """The mean accuracy of a model's evaluations, and the mean over its suites, with bounds.

    `model` is the model's key. A mean is `None` if no evaluation has an accuracy; the bounds are
    `None` if none is unscored.
    """
    group = summary.group(model=model)
    return Accuracy(
        by_case=group.accuracy,
        by_case_bounds=group.bounded_accuracy.bounds,
        mean_of_suites=summary.mean_of_suites(model),
        mean_of_suites_bounds=summary.mean_of_suites_bounds(model),
    )


def in_order(classes: Mapping[str, int]) -> dict[str, int]:
    """The classes with a count above 0: first those of `CLASSES` in its order, others by name."""
    class_counts = {name: count for name, count in classes.items() if count}
    names = (*CLASSES, *sorted(class_counts.keys() - set(CLASSES)))
    return {name: class_counts[name] for name in names if name in class_counts}


def suites_of(summary: RunSummary, *, intervals: bool = True) -> Iterator[SuiteProgress]:
    """Progress and results of each model in each suite with a finished evaluation.

    Sorted by model and suite. Without `intervals`, rates have no interval.
    """
    for (model, suite), group in summary.by_suite().items():
        if group.finished:
            yield SuiteProgress(
                model=model,
                suite=suite,
                cases=group.cases,
                finished=group.finished,
                scored=group.scored,
                abandoned=group.missing,
                awaiting_review=group.awaiting,
                passed=build_model_pass_rate(summary, model, suite, interval=intervals),
                accuracy=group.accuracy,
                accuracy_bounds=group.bounded_accuracy.bounds,
                classes=in_order(group.classes),
            )


def errors_of(summary: RunSummary) -> Iterator[ErrorGroup]:
    """Number of failed requests by model or judge, kind and message, the most frequent first."""
    for key, count in summary.messages():
        yield ErrorGroup(asked=key.model_key, kind=key.kind, message=key.message, requests=count)


def unscored_of(summary: RunSummary) -> Iterator[UnscoredReason]:
    """Number of evaluations without a score by model and reason, the most frequent first."""
    for key, count in sorted(summary.counts.unscored.items(), key=lambda pair: -pair[1]):
        if count:
            yield UnscoredReason(
                model=key.model_key,
                group=key.group,
                kind=key.kind,
                reason=key.reason,
                evaluations=count,
            )


def spending_of(summary: RunSummary) -> Spending:
    """The run's cost in US dollars, its tokens and spend ceiling, and its unpriced requests."""
    spent, ceiling = summary.spent, ceiling_of(summary.run)
    return Spending(
        cost_usd=None if summary.cost_usd is None else float(summary.cost_usd),
        known_usd=float(spent.known_usd),
        possibly_charged=spent.possibly_charged,
        most_usd=None if spent.most_usd is None else float(spent.most_usd),
        unpriced_answers=spent.unpriced,
        unpriced=summary.unpriced,
        max_spend_usd=None if ceiling is None else float(ceiling),
        of_ceiling=None if ceiling is None else spent_text(spent, ceiling),
        input_tokens=spent.input.reported_total,
        output_tokens=spent.output.reported_total,
        input_tokens_unknown=spent.input.unknown,
        output_tokens_unknown=spent.output.unknown,
    )
