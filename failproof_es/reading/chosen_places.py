"""Finds the results of a run that a status chooses by the rows, without reading the whole plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.run import place_in_plan
from failproof_es.reading.recorded_run import PlannedOutcome, RecordedRun
from failproof_es.reading.result_conditions import Conditions, conditions_sql
from failproof_es.reading.rows import RowReader
from projections.protocol import exact_text

MOST_CHOSEN = 100_000
"""Number of results that are found at most."""
_CHOSEN = (
    "SELECT e.prompt_id, e.model_key, e.repetition FROM projections.evaluations AS e "
    "LEFT JOIN projections.prompts AS p USING (prompt_id) "
    "WHERE e.run_id = %(run)s AND e.counted "
)
Place = tuple[int, EvaluationKey]
"""(place in the plan from 1, key) of an evaluation."""


def chosen_outcomes(
    run: RecordedRun, conditions: Conditions, *, after: int = 0
) -> Iterator[PlannedOutcome]:
    """The chosen results in plan order, after a place; reads the whole plan only if need be."""
    places = chosen_places(run, conditions)
    if places is None:
        return filter(conditions.take, run.outcomes(after=after))
    return filter(conditions.take, run.outcomes_of(place for place in places if place[0] > after))


def chosen_places(run: RecordedRun, conditions: Conditions) -> list[Place] | None:
    """The results that the conditions choose, without their text, in plan order.

    `None` if no status chooses, if the run is read from the log, or if they are more than
    `MOST_CHOSEN`.
    """
    if not isinstance(run.reader, RowReader) or not conditions.named.get("status"):
        return None  # without a status evaluations that have not begun may be chosen: no row
    where, values = conditions_sql(replace(conditions, text=None))
    statement = f"{_CHOSEN}{where}LIMIT {MOST_CHOSEN + 1}"
    rows = run.connection.execute(statement, values | {"run": run.run_id}).fetchall()
    if len(rows) > MOST_CHOSEN:
        return None
    return sorted(with_places(run, list(keys_of(run, rows))), key=lambda place: place[0])


def keys_of(run: RecordedRun, rows: Sequence[tuple[UUID, str, int]]) -> Iterator[EvaluationKey]:
    """The keys of rows of (prompt, model, repetition), as the projections have them."""
    for prompt, model, repetition in rows:
        yield EvaluationKey(run.run_id, prompt, exact_text(model), repetition)


def with_places(run: RecordedRun, keys: Sequence[EvaluationKey]) -> Iterator[Place]:
    """The keys of planned evaluations, in the same order, with their places in the plan."""
    repetitions = repetitions_of(run.started)
    cases_before = _cases_before(run, {key.prompt_id for key in keys})
    for key in keys:
        yield place_in_plan(run.started, key, cases_before[key.prompt_id], repetitions), key


def _cases_before(run: RecordedRun, prompts: set[UUID]) -> dict[UUID, int]:
    """The number of planned cases before each of these prompts of the plan."""
    places: dict[UUID, int] = {}
    for place, prompt in enumerate(run.prompts()):
        if prompt in prompts:
            places.setdefault(prompt, place)
        if len(places) == len(prompts):
            break
    return places
