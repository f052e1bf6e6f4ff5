"""The final pass: reads a finished run once, for its last events.

Every event of its evaluations is fetched once. They give the counts for its gates, the findings
of its validation, and the hashes for its seal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from failproof_es.core.run import Run
from failproof_es.core.summary import RunCounts, RunSummary
from failproof_es.dialects import dialect_named
from failproof_es.engine.evaluation_outcomes import evaluation_outcome
from failproof_es.engine.finish.sealing import SealedStreams
from failproof_es.engine.finish.validation import OtherStreams, Validation, check_other_streams
from failproof_es.engine.history import (
    UNREADABLE,
    Connection,
    read_run_prefix,
    recorded_evaluations,
)
from failproof_es.engine.related_runs.paired_results import RunScores


@dataclass(frozen=True, slots=True)
class FinalScan:
    """What was read of a run's evaluations."""

    run: Run
    """As its own stream stood before."""
    counts: RunCounts
    scores: RunScores
    """Empty unless they were asked for."""
    validation: Validation
    streams: SealedStreams
    known: int
    """How many streams the evaluations that were planned and have begun are."""
    filed: int
    """How many streams of evaluations the database files under the run."""

    @property
    def summary(self) -> RunSummary:
        """How the run stands."""
        return RunSummary(run=self.run, counts=self.counts)

    def validated(self, beside: OtherStreams) -> dict[str, Any]:
        """The fields of `RunValidated`. To be called once."""
        return self.validation.end(beside, self.known, self.filed, self.counts.spending)


def scan_finished_run(
    connection: Connection, run: Run, *, scores: bool = False, broken: Exception | None = None
) -> FinalScan:
    """Read every evaluation of the run, once. What cannot be read is a finding, and ends nothing.

    `scores` are kept where asked for; `broken` says why the run's own stream ends before its end.
    """
    run_id = run.started.originator_id
    validation = Validation(run.started, dialect_named(run.started.dialect))
    counts, kept, streams = RunCounts(), RunScores(run), SealedStreams(run_id)
    if broken is not None:
        validation.add_unreadable(broken)
    try:
        for recorded in recorded_evaluations(connection, run, read=streams.read):
            outcome = evaluation_outcome(run, recorded, validation.check(recorded))
            counts.add(outcome, recorded.case)
            if scores:
                kept.add(outcome)
    except UNREADABLE as error:
        validation.add_unreadable(error)
    known, filed = streams.read_rest(connection)
    return FinalScan(run, counts, kept, validation, streams, known, filed)


def validate_run(connection: Connection, run_id: UUID) -> dict[str, Any]:
    """The fields of `RunValidated` for a run that has ended, from all that the log holds of it.

    What cannot be read is a finding, and ends neither the check nor the run.
    """
    run, broken = read_run_prefix(connection, run_id)
    reading = scan_finished_run(connection, run, broken=broken)
    beside = check_other_streams(connection, run_id, reading.streams.ids())
    return reading.validated(beside if broken is None else beside.without_run())
