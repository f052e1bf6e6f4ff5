"""Results as JSON, in the shape of the run's dialect (`Dialect.result`).

The table that `results` prints is separate: `failproof_es.cli.commands.results` makes it from
outcomes, the same for every dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from failproof_es.configuration.prompt_template import text_as_sent
from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.case import Case
from failproof_es.core.evaluation import AWAITING_REVIEW, Evaluation, awaits_review
from failproof_es.core.people import OUTCOMES, review_status
from failproof_es.core.run import place_in_plan
from failproof_es.dialects import dialect_named
from failproof_es.dialects.expectations import expectations_of
from failproof_es.dialects.protocol import HasRunShapes, RunShape, expected_in_results
from failproof_es.engine.evaluation_outcomes import evaluation_outcome
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.problems import InvalidInput
from failproof_es.reading.given_reviews import with_reviews
from failproof_es.reading.people_figures import PeopleFigure, people_figures
from failproof_es.reading.recorded_run import RecordedRun

Shape = Callable[[Case, Evaluation], dict[str, Any]]


def shape_of(dialect_name: str, shape: str | None) -> Shape:
    """The function that turns an evaluation into a result of this shape.

    `None` as `shape` is the dialect's own. Raises `InvalidInput` if the dialect has no such shape.
    """
    dialect = dialect_named(dialect_name)
    shapes: dict[str, Shape] = {dialect_name: dialect.result, **getattr(dialect, "shapes", {})}
    result_shape = shapes.get(shape or dialect_name)
    if result_shape is None:
        names = sorted([*shapes, *_run_shapes(dialect_name)])
        raise InvalidInput.because(
            "unknown-name",
            f"dialect {dialect_name!r} has no result shape {shape!r}",
            remedy=f"use one of: {', '.join(names)}",
        )
    return result_shape


def run_shape_of(dialect_name: str, shape: str | None) -> RunShape | None:
    """The dialect's shape of whole runs with the name `shape`; `None` if there is none."""
    return None if shape is None else _run_shapes(dialect_name).get(shape)


def _run_shapes(dialect_name: str) -> Mapping[str, RunShape]:
    dialect = dialect_named(dialect_name)
    return dialect.run_shapes if isinstance(dialect, HasRunShapes) else {}


def result_rows(
    run: RecordedRun,
    shape: str | None = None,
    *,
    after: int = 0,
    limit: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Every evaluation that has begun, in plan order, as an object of the dialect's JSON shape.

    `shape` is another shape of the dialect. Covers at most `limit` places of the plan, from the one
    after `after` (from 1) on. For a shape of whole runs: the run's results so far. Raises
    `InvalidInput` if the dialect has no such shape.
    """
    whole = run_shape_of(run.started.dialect, shape)
    if whole is not None:
        evaluations = ((e.case, e.state()) for e in run.evaluations())
        yield from _with_people(run, whole.results(run.started, evaluations))
        return
    yield from rows_of(run, run.evaluations(after=after, limit=limit), shape, first=after + 1)


def rows_of(
    run: RecordedRun,
    evaluations: Iterable[RecordedEvaluation],
    shape: str | None = None,
    *,
    first: int | None = None,
) -> Iterator[dict[str, Any]]:
    """The evaluations that have begun, in the dialect's JSON shape or `shape`.

    `first` is the place in the plan, from 1, of the first one, if they are consecutive. Without it,
    each place is looked up in the whole plan when a shape needs it.

    Fields of the shape are filled in here: the cost (`metrics.cost_usd`, specification 001 § 3.2),
    null if it is unknown; the prompt in the template of its model (`request.full_prompt`, there,
    too); `expected`, each expectation of the case, whether it is met, and what
    came if that is not the answer itself; the run's number and the evaluation's place in its plan,
    from 1 (`run_id` and `result_id`, specification 003 § 3); `reviews`, the last review of each
    person; and, for an evaluation that was left to people, `outcome`, their decision.
    """
    as_result = shape_of(run.started.dialect, shape)
    has_expected = expected_in_results(dialect_named(run.started.dialect))
    places: dict[UUID, int] = {}
    parameters = {model.key: model.parameters for model in run.started.models}
    reviewed = with_reviews(
        run.connection, evaluations, lambda recorded: recorded.key.evaluation_id, up_to=run.up_to
    )
    for number, (recorded, reviews) in enumerate(reviewed):
        if recorded.history:
            state = recorded.state()
            row = as_result(recorded.case, state)
            metrics = row.get("metrics", {})
            if has_expected or "cost_usd" in metrics:
                outcome = evaluation_outcome(run.run, recorded)
            if "cost_usd" in metrics:
                metrics["cost_usd"] = None if outcome.cost_usd is None else float(outcome.cost_usd)
            if "full_prompt" in (request := row.get("request", {})):
                of_model = parameters.get(recorded.key.model_key, {})
                request["full_prompt"] = text_as_sent(of_model, recorded.case.turns)
            if has_expected:
                row["expected"] = [
                    {"expected": one.expected, "met": one.met}
                    | ({} if one.got == outcome.answer else {"got": one.got})
                    for one in expectations_of(recorded.case, outcome)
                ]
            if row.get("run_id", "") is None:
                row["run_id"] = run.started.run_number
            if row.get("result_id", "") is None:
                if first is None:
                    places = places or run.places_by_prompt()
                    before = places[recorded.key.prompt_id]
                    repetitions = repetitions_of(run.started)
                    row["result_id"] = place_in_plan(run.started, recorded.key, before, repetitions)
                else:
                    row["result_id"] = first + number
            if row.get("reviews", "") is None:
                row["reviews"] = [review.model_dump() for review in reviews]
                if awaits_review(state):
                    row["outcome"] = OUTCOMES[review_status(reviews)]
            yield row


def _with_people(run: RecordedRun, documents: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The models' documents; a null `by_people` is replaced by the figures by people, if any.

    The document's `unscored` then counts only evaluations without a review as `awaiting_review`.
    Documents are of a shape of whole runs.
    """
    figures: list[PeopleFigure] | None = None
    for document in documents:
        if document.get("by_people", "") is None:
            figures = list(people_figures(run)) if figures is None else figures
            of_model = [figure for figure in figures if figure.model == document["model"]]
            if of_model:
                document["by_people"] = _figures_as_json(of_model)
                document["unscored"].pop(AWAITING_REVIEW, None)
                if waiting := of_model[0].awaiting_review:
                    document["unscored"][AWAITING_REVIEW] = waiting
        yield document


def _figures_as_json(figures: Iterable[PeopleFigure]) -> dict[str, Any]:
    """One model's figures by people as an object for JSON.

    The overall figure's numbers are at the top, the others under `by_severity`, `by_category` and
    `by_tag`, by name.
    """
    document: dict[str, Any] = {}
    grouped: dict[str, Any] = {"by_severity": {}, "by_category": {}, "by_tag": {}}
    for figure in figures:
        if figure.dimension == "overall":
            document |= figure.as_json()
        else:
            grouped[f"by_{figure.dimension}"][figure.name] = figure.as_json()
    return document | grouped
