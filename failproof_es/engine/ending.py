"""What is said on record when a drive ends: how the run stands, and that this is all of it."""

from __future__ import annotations

from failproof_es.configuration.schema import Gates
from failproof_es.engine.gate_evidence import gate_evidence
from failproof_es.engine.interpreter import Halted
from failproof_es.engine.patient_reader import PatientReader
from failproof_es.engine.run_stream import RunStream
from failproof_es.engine.sealing import seal_of
from failproof_es.engine.validation import validate_run
from failproof_es.events import RunCompleted, RunFailed, RunPaused, RunSealed, RunValidated
from failproof_es.gates import Gate, judge_gates
from failproof_es.store.journal import JournalError
from failproof_es.store.lease import RunBusy
from failproof_es.store.outage import LogUnavailable
from failproof_es.store.recorder import LeaseLost
from failproof_es.tally import Tally


async def conclude(
    stream: RunStream,
    reader: PatientReader,
    tally: Tally,
    limits: Gates,
    trouble: BaseException | None,
) -> None:
    """Record that the run is paused, has failed or is complete, and whether its gates are met.

    Raises the `trouble` that ended the drive before everything was done, unless it is of a
    kind that a paused run says all about: a halt.
    """
    counts = tally.counts()
    if counts.finished < counts.planned:
        if isinstance(trouble, JournalError | LogUnavailable | LeaseLost | RunBusy):
            raise trouble  # there is no log to say it in, or it is not ours any more
        reason = str(trouble) if trouble else "stopped on request"
        await stream.record(RunPaused, reason=reason, counts=counts)
        if trouble is not None and not isinstance(trouble, Halted):
            raise trouble
    elif counts.scored == 0 and not tally.everything.awaiting:
        reason = "not one evaluation was answered and scored"
        await stream.record(RunFailed, reason=reason, counts=counts)
    else:
        judged = await _judged(stream, reader, tally, limits)
        await stream.record(RunCompleted, counts=counts, gates=judged)


async def seal(stream: RunStream, reader: PatientReader) -> None:
    """Read everything once more; record what is to be said of it, and that this is all of it."""
    run_id = stream.run.started.originator_id
    if stream.run.validation is None:
        await stream.record(RunValidated, **await reader.read(validate_run, run_id))
    sealed = await reader.read(seal_of, run_id)
    await stream.record(
        RunSealed, streams=sealed.streams, events=sealed.events, root=sealed.root.hex()
    )


async def _judged(
    stream: RunStream, reader: PatientReader, tally: Tally, limits: Gates
) -> dict[str, Gate]:
    evidence = await reader.read(gate_evidence, limits, stream.run.started.originator_id)
    return judge_gates(limits, tally, spent=evidence.spent, changes=evidence.changes)
