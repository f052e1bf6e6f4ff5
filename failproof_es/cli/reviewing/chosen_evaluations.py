"""The finished evaluations of a run that a person asked to review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from failproof_es.cli.app.result_choice import named_conditions, require_known_names
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.engine.calibration.calibrations import newest_sample, require_sample
from failproof_es.engine.reviews.disputed_items import disputed_items
from failproof_es.engine.reviews.people import Only, ReviewedEvaluation, finished_evaluations
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.reading.result_conditions import Conditions
from failproof_es.store.reading.reader import Connection
from failproof_es.support.untrusted_text import lines

Choice = Only | Literal["disagreements", "sample"]
"""`disagreements`: those that `review disagreements` lists. `sample`: those that were drawn for
labels."""


def chosen_evaluations(
    connection: Connection,
    run: RecordedRun,
    only: Choice,
    options: Mapping[str, Any],
    *,
    unreviewed_by: str | None,
    up_to: int | None = None,
) -> Iterator[ReviewedEvaluation]:
    """The finished evaluations that fit `only` and the options of `choice_options`, in plan order;
    those of a sample in the order of the sample.

    Each has its reviews up to a position (`None`: all). With `unreviewed_by`, only those that this
    reviewer has not reviewed. Raises `InvalidInput` for a name that nothing in the run has.
    """
    conditions = Conditions(named_conditions(options))
    require_known_names(run, conditions)
    evaluations = run.evaluations()
    if only == "sample" or conditions.choose:
        planned = run.outcomes_of(_sampled(run)) if only == "sample" else run.outcomes()
        chosen = filter(conditions.take, planned)
        evaluations = run.evaluations_of(planned.outcome.key for planned in chosen)
    among: Only = "all" if only == "disagreements" or only == "sample" else only
    for evaluation in finished_evaluations(connection, evaluations, among, up_to=up_to):
        if only == "disagreements" and not any(disputed_items(evaluation)):
            continue
        if unreviewed_by is None or unreviewed_by not in evaluation.latest():
            yield evaluation


def label_policy(run: RecordedRun, only: Choice) -> Iterator[str]:
    """The text by which people decide on a sample, in printable lines; none of other choices."""
    sample = newest_sample(run.connection, run.run_id) if only == "sample" else None
    if sample is not None:
        yield "the label policy:"
        yield from (f"  {line}" for line in lines(sample.policy).splitlines())


def _sampled(run: RecordedRun) -> list[tuple[int, EvaluationKey]]:
    """The places in the plan and the keys of the run's last sample, in its order."""
    sample = require_sample(run.connection, run.run_id, run.started.run_number)
    planned = run.keys()
    places = {key.evaluation_id: (place, key) for place, key in planned}
    return [places[evaluation_id] for evaluation_id in sample.evaluations]
