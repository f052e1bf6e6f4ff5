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
    """The results of reading a run's evaluations once."""

    run: Run
    """The run before its last events."""
    counts: RunCounts
    scores: RunScores
    """Empty unless they were asked for."""
    validation: Validation
    streams: SealedStreams
    known: int
    """The number of planned evaluations that have begun."""
    filed: int
    """The number of evaluation streams with this run id."""

    @property
    def summary(self) -> RunSummary:
        """The run's summary."""
        return RunSummary(run=self.run, counts=self.counts)

    def validated(self, beside: OtherStreams) -> dict[str, Any]:
        """The fields of `RunValidated`. Call it once."""
        return self.validation.end(beside, self.known, self.filed, self.counts.spending)


def scan_finished_run(
    connection: Connection, run: Run, *, scores: bool = False, broken: Exception | None = None
) -> FinalScan:
    """Read every evaluation of the run, once. Unreadable events become findings, not errors.

    `scores` are kept if asked for; `broken` says why the run's own stream is unreadable from
    some event on.
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
    """Validate a run that has ended, from all its events; return the fields of `RunValidated`.

    Unreadable events become findings. They end neither the check nor the run.
    """
    run, broken = read_run_prefix(connection, run_id)
    reading = scan_finished_run(connection, run, broken=broken)
    beside = check_other_streams(connection, run_id, reading.streams.ids())
    return reading.validated(beside if broken is None else beside.without_run())
