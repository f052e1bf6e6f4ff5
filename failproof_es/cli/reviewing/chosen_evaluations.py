"""The finished evaluations of a run that a person asked to review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal
from uuid import UUID

from failproof_es.cli.app.result_choice import named_conditions, require_known_names
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.engine.reviews.disputed_items import disputed_items
from failproof_es.engine.reviews.people import Only, ReviewedEvaluation, finished_evaluations
from failproof_es.events import QueueCreated
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.result_conditions import Conditions
from failproof_es.store.reading.reader import Connection

Choice = Only | Literal["disagreements"]
"""`disagreements`: those that `review disagreements` lists."""


def chosen_evaluations(
    connection: Connection,
    run: RecordedRun,
    only: Choice,
    options: Mapping[str, Any],
    *,
    unreviewed_by: str | None,
    up_to: int | None = None,
) -> Iterator[ReviewedEvaluation]:
    """The finished evaluations that fit `only` and the options of `choice_options`, in plan order.

    Each has its reviews up to a position (`None`: all). With `unreviewed_by`, only those that this
    reviewer has not reviewed. Raises `InvalidInput` for a name that nothing in the run has.
    """
    conditions = Conditions(named_conditions(options))
    require_known_names(run, conditions)
    evaluations = run.evaluations()
    if conditions.choose:
        chosen = filter(conditions.take, run.outcomes())
        evaluations = run.evaluations_of(planned.outcome.key for planned in chosen)
    among: Only = "all" if only == "disagreements" else only
    for evaluation in finished_evaluations(connection, evaluations, among, up_to=up_to):
        if only == "disagreements" and not any(disputed_items(evaluation)):
            continue
        if unreviewed_by is None or unreviewed_by not in evaluation.latest():
            yield evaluation


def keys_of(run: RecordedRun, evaluation_ids: Iterable[UUID]) -> dict[UUID, EvaluationKey]:
    """The keys of these evaluations of the run, by evaluation."""
    ids, planned = frozenset(evaluation_ids), run.keys()
    return {key.evaluation_id: key for _, key in planned if key.evaluation_id in ids}


def waiting_evaluations(
    connection: Connection, run: RecordedRun, queue: QueueCreated, reviewer: str, up_to: int
) -> Iterator[ReviewedEvaluation]:
    """The evaluations of the queue that this reviewer can label, in its order, with their reviews
    up to a position."""
    items = QueueReader(queue).items(connection, up_to=up_to)
    waiting = [item.evaluation_id for item in items if item.task_of(reviewer) == "label"]
    keys = keys_of(run, waiting)
    evaluations = run.evaluations_of(keys[evaluation_id] for evaluation_id in waiting)
    yield from finished_evaluations(connection, evaluations, up_to=up_to)
