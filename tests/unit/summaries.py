"""Summaries of runs that never were, made of outcomes like those that are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from uuid import UUID

from failproof_es.core.case import Case
from failproof_es.core.costs import Spent
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.core.summary import RunCounts, RunSummary
from failproof_es.core.unscored import UnscoredGroup
from failproof_es.events import ModelPrices, ModelSnapshot, RunStarted, TokenPrices
from tests.asked import ASKED
from tests.unit.event_samples import OF_RUN

RATES = (TokenPrices(input=Decimal(1), output=Decimal(1)),)


def scored_outcome(accuracy: float | None, passed: bool | None = None) -> EvaluationOutcome:
    """One that has a score; it passes at 1, unless `passed` says otherwise."""
    passes = passed if passed is not None or accuracy is None else accuracy == 1
    scores = {} if accuracy is None else {"accuracy": accuracy}
    return _OUTCOME._replace(status="scored", scores=scores, passed=passes)


def abandoned_outcome(*, awaiting: bool = False) -> EvaluationOutcome:
    """One that ended without a score; it is not lost."""
    group: UnscoredGroup = "awaiting_people" if awaiting else "cut_off"
    return _OUTCOME._replace(status="abandoned", unscored_as=group)


def that_took(**spending: Spent) -> EvaluationOutcome:
    """One whose answers took this, by the key of who was asked."""
    return scored_outcome(1.0)._replace(spending=spending)


def summary_of(
    models: Mapping[str, Sequence[tuple[Case, EvaluationOutcome]]],
    *,
    planned: int | None = None,
    unpriced: Sequence[str] = (),
) -> RunSummary:
    """Of these models, each with so many evaluations planned, or with those that it has."""
    of_each = max(map(len, models.values())) if planned is None else planned
    started = RunStarted(
        **{**OF_RUN, "originator_version": 1}, name="n", run_number=1, **ASKED,
        configuration={}, configuration_digest="d",
        models=tuple(
            ModelSnapshot(key=key, provider="openai", model=key, settings={}) for key in models
        ),
        suites=(), dialect="plain", planned_cases=of_each,
        planned_evaluations=of_each * len(models), code_version="1", packages={}, who="w",
        where="h",
    )  # fmt: skip
    prices = {
        key: ModelPrices(model_key=key, source="s", rates=() if key in unpriced else RATES)
        for key in models
    }
    counts = RunCounts()
    for key, finished in models.items():
        for case, outcome in finished:
            counts.add(outcome._replace(model_key=key), case)
    return RunSummary(run=Run(manifest=started, prices=prices), counts=counts)


_OUTCOME = EvaluationOutcome(
    evaluation_id=UUID(int=1),
    run_id=UUID(int=2),
    prompt_id=UUID(int=3),
    model_key="m",
    repetition=1,
)
