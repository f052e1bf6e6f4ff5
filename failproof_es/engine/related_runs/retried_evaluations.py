"""Finds the evaluations that a branch asks again because of how they had ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from failproof_es.core.case import Case
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.core.outcome import outcome_of
from failproof_es.core.run import Run
from failproof_es.engine.history import (
    Connection,
    planned_windows,
    read_chunk,
    stored_case,
)
from failproof_es.engine.related_runs.carried_over import FinishedEvaluation, carries_over, endings
from failproof_es.events import Again
from failproof_es.store.reading.reader import read_streams
from failproof_es.support.plurals import plural


@dataclass(frozen=True, slots=True)
class RetriedEvaluation:
    """An evaluation that a branch asks again, and how it had ended before."""

    key: EvaluationKey
    case: Case
    kind: str
    reason: str


def retried_evaluations(connection: Connection, run: Run) -> Iterator[RetriedEvaluation]:
    """The finished evaluations that a run asks again, in plan order; nothing if it asks none again.

    Raises `ImpossibleHistory` if the record of one cannot be true.
    """
    started, branch = run.started, run.started.branched_from
    if branch is None or branch.again is None:
        return
    models = [model.key for model in started.models]
    for chunk in range(run.chunks):
        digests = read_chunk(connection, started.originator_id, chunk)
        for window in planned_windows(run, digests, models):
            ended = endings(connection, branch, window)
            retried = {key: end for key, end in ended.items() if not carries_over(branch, end)}
            yield from _read_retried_evaluations(connection, retried, branch.again)


_ONE: Mapping[Again, str] = {
    "abandoned": "abandoned evaluation",
    "errors": "evaluation with an error",
    "failed": "failed evaluation",
}
_SEVERAL: Mapping[Again, str] = {
    "abandoned": "abandoned evaluations",
    "errors": "evaluations with an error",
    "failed": "failed evaluations",
}


def describe_again(again: Again) -> str:
    """The word for one evaluation that is asked again, such as `failed evaluation`."""
    return _ONE[again]


def its_again(again: Again) -> str:
    """The words for the evaluations that a run asks again, such as `its failed evaluations`."""
    return f"its {_SEVERAL[again]}"


def count_again(count: int, again: Again) -> str:
    """The number of evaluations asked again, in words: `3 failed evaluations`."""
    return plural(count, _ONE[again], _SEVERAL[again])


def _read_retried_evaluations(
    connection: Connection, retried: dict[EvaluationKey, FinishedEvaluation], again: Again
) -> Iterator[RetriedEvaluation]:
    if not retried:
        return
    prompts = read_streams(connection, list({key.prompt_id for key in retried}))
    before = read_streams(connection, [ending.stream_id for ending in retried.values()])
    for key, ending in retried.items():
        history = [row.event() for row in before[ending.stream_id]]
        was = outcome_of(replace(key, run_id=ending.happened_in), history, {})
        if was.impossible is not None:
            raise ImpossibleHistory(was.impossible)
        if not (was.failed if again == "failed" else was.unscored):
            message = f"the evaluation was no {describe_again(again)}"
            raise ImpossibleHistory(message, history[-1])
        case = stored_case(prompts, key.prompt_id)
        yield RetriedEvaluation(key, case, was.ended_kind or was.class_ or "failed", was.reason)
