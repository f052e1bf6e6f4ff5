"""The outcomes of a run's evaluations, folded from the log."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.core.outcome import EvaluationOutcome, FoldedHistory, outcome_of
from failproof_es.core.run import Run
from failproof_es.engine.history import Connection, RecordedEvaluation, recorded_evaluations


def evaluation_outcome(
    run: Run, recorded: RecordedEvaluation, folded: FoldedHistory | None = None
) -> EvaluationOutcome:
    """The outcome of an evaluation of this run, from its events.

    `folded` is the folded state of the events, if it is known already; otherwise they are folded
    here.
    """
    return outcome_of(
        recorded.key,
        recorded.history,
        run.prices or {},
        carried_over=recorded.carried_over,
        broken=recorded.broken,
        folded=folded,
    )


def outcomes_of(connection: Connection, run: Run) -> Iterator[EvaluationOutcome]:
    """The outcomes of all planned evaluations, in plan order, in bounded memory."""
    for recorded in recorded_evaluations(connection, run):
        yield evaluation_outcome(run, recorded)
