"""What the report takes of an evaluation, from its case and its outcome."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from failproof_es.core.case import Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.report.data.observations import Observation, observations
from tests.unit.summaries import scored_outcome, summary_of


def observe(dialect: str, outcome: EvaluationOutcome | None = None, **case: Any) -> Observation:
    manifest = summary_of({"m": []}).run.started.model_copy(update={"dialect": dialect})
    its_case = Case(dialect=dialect, case_id="c", suite_id="s", turns=(), **case)
    planned = PlannedOutcome(1, its_case, outcome or scored_outcome(1.0))
    run = SimpleNamespace(started=manifest, counted_outcomes=lambda: [planned])
    (observation,) = observations(cast(RecordedRun, run))
    return observation


def test_a_refusal_is_wanted_by_a_tag_or_by_the_expected_classification() -> None:
    for dialect in ("failproof", "redteam"):
        assert observe(dialect, tags=("x", "refusal")).refusal_wanted
        assert not observe(dialect, tags=("refusals",)).refusal_wanted
    for expected in ("pass", "fail", "refusal"):
        expectation = {"expected_classification": expected}
        is_wanted = observe("failproof", expectation=expectation).refusal_wanted
        assert is_wanted is (expected == "refusal"), expected


def test_every_score_but_those_of_one_cases_items_is_compared() -> None:
    scores = {"accuracy": 1.0, "items": 0.5, "acme.toxicity": 0.3, "acme.v1.2:rouge.l": 0.4}
    items = {"must_do.1": 1.0, "must_not_do.12": 0.0, "pass_criteria.3": 1.0}
    outcome = scored_outcome(1.0)._replace(scores=scores | items)
    assert observe("redteam", outcome).scores == scores
