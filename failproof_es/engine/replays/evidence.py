"""Replays the grading in an evidence bundle: no database, no model."""

from __future__ import annotations

from uuid import UUID

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.case import Case
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.judging import judging_of
from failproof_es.engine.replays.rederiving import retries_made
from failproof_es.engine.replays.regrading import rederive_within_limits
from failproof_es.engine.required_plugins import require_grading
from failproof_es.events import CarriedOver, EvaluationEvent, Event, PromptStored, RunStarted
from failproof_es.ledger.bundle import Bundle
from failproof_es.store.mapper import decode


def replay_bundle(bundle: Bundle) -> tuple[int, list[str]]:
    """Grade the evaluations in a bundle again.

    Returns the number of those that give the recorded result, and a line about each other one.
    Carried-over evaluations count as well. The bundle must have been verified. Raises
    `UnreadableState` for events that this version cannot read.
    """
    run_id = UUID(bundle.manifest["run_id"])
    started: RunStarted | None = None
    cases: dict[UUID, Case] = {}
    histories: dict[UUID, list[Event]] = {}
    for proven in bundle.events:
        event = decode(proven.topic, proven.state, proven.stream_id, proven.version)
        if isinstance(event, PromptStored):
            cases[proven.stream_id] = event.case
        elif isinstance(event, RunStarted) and proven.stream_id == run_id:
            started = event
        elif isinstance(event, EvaluationEvent) and not isinstance(event, CarriedOver):
            histories.setdefault(proven.stream_id, []).append(event)
    assert started is not None
    dialect = require_grading(started)
    retry_attempts = recorded_configuration(started).execution.retry_attempts
    grader = Grader(dialect, judging_of(started), retry_attempts, started.configuration)
    agree, differing = 0, []
    for history in histories.values():
        first = history[0]
        assert isinstance(first, EvaluationEvent)
        case = cases[first.prompt_id]
        bound = retry_attempts if first.run_id == run_id else retries_made(history)
        disagreements = rederive_within_limits(
            grader, case, history, retry_attempts=bound
        ).disagreements
        if disagreements:
            what = ", ".join(disagreement.what for disagreement in disagreements)
            differing.append(f"{case.suite_id}/{case.case_id} {first.model_key}: {what}")
        else:
            agree += 1
    return agree, differing
