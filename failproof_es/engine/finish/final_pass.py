"""The final pass: reads a finished run once, for its last events.

Every event of its evaluations is fetched once. The events give the counts for the gates, the
findings of the validation, and the hashes for the seal. An evaluation that was checked while the
run was driven (`live_checks`) is only hashed. If a hash differs from the checked one, the whole run
is read in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.run import Run
from failproof_es.core.summary import RunCounts, RunSummary
from failproof_es.dialects import dialect_named
from failproof_es.engine.evaluation_outcomes import evaluation_outcome
from failproof_es.engine.finish.checked_streams import CheckedStreams, checked_digest
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.finish.other_streams import OtherStreams, check_other_streams
from failproof_es.engine.finish.sealing import SealedStreams
from failproof_es.engine.finish.validation import Validation
from failproof_es.engine.history import (
    UNREADABLE,
    Connection,
    iterate_evaluations,
    planned_windows,
    read_chunk,
    read_run_prefix,
    recorded_evaluations,
)
from failproof_es.engine.related_runs.paired_results import RunScores
from failproof_es.store.reading.stream_leaves import OddRow, stream_leaves

_WINDOWS_AT_ONCE = 5
"""Windows that are compared at once: only hashes are kept of the rows of checked evaluations."""


@dataclass(frozen=True, slots=True)
class FinalScan:
    """The results of reading a run's evaluations once."""

    run: Run
    """The run before its last events."""
    counts: RunCounts
    scores: RunScores
    """Empty unless they were requested."""
    validation: Validation
    streams: SealedStreams
    begun_count: int
    """The number of planned evaluations that have begun."""
    stream_count: int
    """The number of evaluation streams with this run id."""

    @property
    def all_ended(self) -> bool:
        """Whether every planned evaluation has ended, and validation found nothing at all."""
        counts = self.validation.tally.counts()
        return counts.finished == counts.planned and not self.validation.findings

    @property
    def summary(self) -> RunSummary:
        """The run and the counts of its evaluations, for the gates."""
        return RunSummary(run=self.run, counts=self.counts)

    def validated(self, other_streams: OtherStreams) -> dict[str, Any]:
        """The fields of the event `RunValidated`.

        `other_streams` are the checks of the streams that the scan did not read. Call it once: it
        adds to the findings.
        """
        return self.validation.end(
            other_streams, self.begun_count, self.stream_count, self.counts.spending
        )


def scan_finished_run(
    connection: Connection,
    run: Run,
    *,
    scores: bool = False,
    broken: Exception | None = None,
    checked: LiveChecks | None = None,
) -> FinalScan:
    """Read every evaluation of the run, once.

    Unreadable events become findings, not errors. `scores` says whether to keep the scores.
    `broken` is the error of the run's own stream, if the stream is unreadable from some event on.
    `checked` has the evaluations that the drive checked: they are only compared with the log. It
    can be used once, and does not change the result.
    """
    if checked is not None and broken is None and checked.take(run, scores=scores):
        with suppress(_LogDiffers, OddRow, *UNREADABLE):
            return _compare_and_read_rest(connection, run, checked, scores)
    return _read_all(connection, run, scores, broken)


class _LogDiffers(Exception):
    """The log differs from the events that were checked: the whole run must be read in full."""


def _compare_and_read_rest(
    connection: Connection, run: Run, checked: LiveChecks, scores: bool
) -> FinalScan:
    """Compare the evaluations in `checked` with their rows in the log; read and check the others.

    `scores` says whether to keep the scores. Raises `_LogDiffers`, `OddRow` or one of `UNREADABLE`
    if the whole run must be read in full.
    """
    streams = SealedStreams(run.started.originator_id)
    validation, counts, run_scores = checked.validation, checked.counts, checked.scores
    for windows in _planned_windows(connection, run):
        expected: dict[UUID, tuple[UUID, bytes]] = {}
        rests = [_take_checked(checked.streams, window, expected) for window in windows]
        _compare(connection, run, expected, streams)
        for rest in rests:
            for recorded in iterate_evaluations(connection, rest, read=streams.read):
                outcome = evaluation_outcome(run, recorded, validation.check(recorded))
                counts.add(outcome, recorded.case)
                if scores:
                    run_scores.add(outcome)
    if len(checked.streams):
        raise _LogDiffers("the plan leaves out what was evaluated")
    stream_count, filed = streams.read_rest(connection)
    return FinalScan(run, counts, run_scores, validation, streams, stream_count, filed)


def _planned_windows(connection: Connection, run: Run) -> Iterator[list[list[EvaluationKey]]]:
    """The planned evaluations in plan order: lists of up to `_WINDOWS_AT_ONCE` windows."""
    models = [model.key for model in run.started.models]
    for chunk in range(run.chunks):
        digests = read_chunk(connection, run.started.originator_id, chunk)
        windows = planned_windows(run, digests, models)
        while some := list(islice(windows, _WINDOWS_AT_ONCE)):
            yield some


def _take_checked(
    checked: CheckedStreams,
    window: Sequence[EvaluationKey],
    expected: dict[UUID, tuple[UUID, bytes]],
) -> list[EvaluationKey]:
    """Move the checked evaluations of a window from `checked` to `expected`.

    `expected` has the prompt's id and the digest by evaluation id. Returns the other evaluations,
    which must be read. An evaluation that the plan lists twice counts once in each window, as in a
    full reading.
    """
    rest = []
    for evaluation_id, key in {key.evaluation_id: key for key in window}.items():
        digest = checked.take(evaluation_id.bytes)
        if digest is None:
            rest.append(key)
        else:
            expected[evaluation_id] = key.prompt_id, digest
    return rest


def _compare(
    connection: Connection,
    run: Run,
    expected: Mapping[UUID, tuple[UUID, bytes]],
    streams: SealedStreams,
) -> None:
    """Hash the rows of the `expected` evaluations and their prompts, and add them to `streams`.

    Raises `_LogDiffers` if a hash is not the expected one.
    """
    if not expected:
        return
    prompt_ids = list({prompt for prompt, _ in expected.values()})
    prompts = stream_leaves(connection, prompt_ids, None)
    evaluations = stream_leaves(connection, list(expected), run.started.originator_id)
    for evaluation_id, (prompt, digest) in expected.items():
        leaves = evaluations.get(evaluation_id.bytes, b"")
        if checked_digest(prompts.get(prompt.bytes, b""), leaves) != digest:
            raise _LogDiffers(f"evaluation {evaluation_id} is not what was checked")
        streams.add_checked(evaluation_id.bytes, leaves)


def _read_all(
    connection: Connection, run: Run, scores: bool, broken: Exception | None
) -> FinalScan:
    run_id = run.started.originator_id
    validation = Validation(
        run.started, dialect_named(run.started.dialect), run.imported is not None
    )
    counts, run_scores, streams = RunCounts(clusters=None), RunScores(run), SealedStreams(run_id)
    if broken is not None:
        validation.add_unreadable(broken)
    try:
        for recorded in recorded_evaluations(connection, run, read=streams.read):
            outcome = evaluation_outcome(run, recorded, validation.check(recorded))
            counts.add(outcome, recorded.case)
            if scores:
                run_scores.add(outcome)
    except UNREADABLE as error:
        validation.add_unreadable(error)
    stream_count, filed = streams.read_rest(connection)
    return FinalScan(run, counts, run_scores, validation, streams, stream_count, filed)


def validate_run(connection: Connection, run_id: UUID) -> dict[str, Any]:
    """Validate a run that has ended, from all its events.

    Returns the fields of the event `RunValidated`; nothing is recorded. Unreadable events become
    findings, not errors. Raises the error if not even the run's first event can be read.
    """
    run, broken = read_run_prefix(connection, run_id)
    reading = scan_finished_run(connection, run, broken=broken)
    other_streams = check_other_streams(connection, run_id, reading.streams.ids())
    return reading.validated(other_streams if broken is None else other_streams.without_run())
