"""Records the end of a drive: the state of the run, and its seal."""

from __future__ import annotations

from failproof_es.configuration.gates_section import Gates
from failproof_es.core.run import Run
from failproof_es.core.summary import RunSummary
from failproof_es.core.unscored import NOTHING_USABLE
from failproof_es.engine.drive.interpreter import AtCeiling, Halted
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.run_stream import RunStream
from failproof_es.engine.finish.final_pass import FinalScan, scan_finished_run
from failproof_es.engine.finish.live_checks import LiveChecks
from failproof_es.engine.finish.other_streams import OtherStreams, check_other_streams
from failproof_es.engine.finish.sealing import seal_of
from failproof_es.engine.related_runs.accuracy_bounds import accuracy_bounds
from failproof_es.engine.related_runs.asked_again import read_asked_again
from failproof_es.engine.related_runs.baseline_gates import changes_since
from failproof_es.engine.related_runs.paired_results import RunScores
from failproof_es.events import Counts, RunCompleted, RunFailed, RunPaused, RunSealed, RunValidated
from failproof_es.gate_words import describe_unscored
from failproof_es.gates import Change, Gate, RetryBias, judge_gates, limits_at_the_end
from failproof_es.ledger.seal import Seal
from failproof_es.store.outage import LogUnavailable
from failproof_es.store.reading.reader import Connection
from failproof_es.store.writing.journal import JournalError
from failproof_es.store.writing.lease import RunBusy
from failproof_es.store.writing.recorder import LeaseLost
from failproof_es.support.plurals import plural


async def finalize(
    stream: RunStream,
    reader: RetryingReader,
    counts: Counts,
    limits: Gates,
    trouble: BaseException | None,
    checked: LiveChecks,
    reading: FinalScan | None = None,
) -> FinalScan | None:
    """Record that the run is paused, failed or complete, and whether its gates (`limits`) are met.

    `counts` are the counts of the drive, `checked` the evaluations that it checked, `reading` the
    scan of the run if there is one already. Returns the scan; `None` if the run is paused. Raises
    the `trouble` that ended the drive early, unless it is `Halted`: the event `RunPaused` holds its
    reason.
    """
    if counts.finished < counts.planned:
        if isinstance(trouble, JournalError | LogUnavailable | LeaseLost | RunBusy):
            raise trouble  # the log is away, or another process has the run
        reason = str(trouble) if trouble else "stopped on request"
        at_ceiling = isinstance(trouble, AtCeiling)
        await stream.record(RunPaused, reason=reason, counts=counts, at_ceiling=at_ceiling)
        if trouble is not None and not isinstance(trouble, Halted):
            raise trouble
        return None
    if reading is None:
        reading = await scan(stream, reader, limits, checked)
    unscored = reading.summary.unscored()
    unusable = sum(unscored[group] for group in NOTHING_USABLE)
    if counts.scored == 0 and unusable == counts.finished:
        reason = _nothing_usable(reading.summary)
        await stream.record(RunFailed, reason=reason, counts=counts)
    else:
        changes = await reader.read(_changes, limits, reading.scores)
        again = await reader.read(read_asked_again, reading.run, reading.summary)
        bounds = await reader.read(accuracy_bounds, limits, reading.scores)
        judged = judge_gates(
            limits_at_the_end(limits),
            reading.summary,
            changes=changes,
            again=again,
            bounds=bounds,
        )
        judged |= await reader.read(_gates_on_judges, limits, reading.run, again)
        await stream.record(RunCompleted, counts=counts, gates=judged)
    return reading


def _gates_on_judges(
    connection: Connection, limits: Gates, run: Run, again: RetryBias
) -> dict[str, Gate]:
    if not limits.on_judges:
        return {}
    from failproof_es.engine.calibration.gates_on_judges import (  # scipy takes a third of a second
        read_gates_on_judges,
    )

    return read_gates_on_judges(connection, limits, run, again)


async def scan(
    stream: RunStream, reader: RetryingReader, limits: Gates, checked: LiveChecks
) -> FinalScan:
    """Read every evaluation of the run once.

    The scores are kept if the gates (`limits`) need them. `checked` has the evaluations that the
    drive checked.
    """
    compared = limits.need_scores
    return await reader.read(scan_finished_run, stream.run, scores=compared, checked=checked)


async def seal(stream: RunStream, reader: RetryingReader, reading: FinalScan | None) -> None:
    """Record the findings of the run's validation, if they are not on record, and the run's seal.

    `reading` is the scan from the run's end; `None` if another process ended the run: then the run
    is read again.
    """
    run_id = stream.run.started.originator_id
    if stream.run.validation is None:
        if reading is None:
            reading = await reader.read(scan_finished_run, stream.run)
        other_streams = await reader.read(_check_other_streams, reading)
        await stream.record(RunValidated, **reading.validated(other_streams))
    if reading is None:
        sealed = await reader.read(seal_of, run_id)
    else:
        sealed = await reader.read(reading.streams.seal)
    await record_seal(stream, sealed)


async def record_seal(stream: RunStream, sealed: Seal) -> None:
    """Record the event that seals the run, with this seal over all of its streams."""
    await stream.record(
        RunSealed, streams=sealed.streams, events=sealed.events, root=sealed.root.hex()
    )


def _check_other_streams(connection: Connection, reading: FinalScan) -> OtherStreams:
    return check_other_streams(connection, reading.run.started.originator_id, reading.streams.ids())


def _changes(connection: Connection, limits: Gates, scores: RunScores) -> list[Change]:
    return list(changes_since(connection, limits, scores))


def _nothing_usable(summary: RunSummary) -> str:
    """The reason why a run without a usable answer or verdict failed, with counts by model."""
    if unjudged := summary.unscored()["no_verdict"]:
        answers = plural(unjudged, "answer")
        first = f"not one evaluation was scored: no usable verdict came on {answers}"
    else:
        first = "not one evaluation was answered"
    models = (
        f"model {key}: {describe_unscored(summary.model_tally(key))}"
        for key in sorted(summary.models)
    )
    return "; ".join((first, *models))
