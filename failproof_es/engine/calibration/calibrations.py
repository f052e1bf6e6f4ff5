"""The calibrations on record, and which of them holds for a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.engine.calibration.judged_run import JudgedRun, read_judged_run
from failproof_es.engine.calibration.label_sample import Labels, read_labels, samples_of
from failproof_es.engine.history import Connection, read_run
from failproof_es.events import JudgeCalibrated, QueueCreated, RunStarted
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.archives import archived_runs
from failproof_es.store.reading.reader import find
from failproof_es.support.plurals import plural

FRESH_DAYS = 90
"""Age in days from which a calibration is stale, where no gate says another."""


def fresh_days(started: RunStarted) -> float:
    """The age in days from which a calibration is stale for this run."""
    return recorded_configuration(started).gates.max_judge_age or FRESH_DAYS


@dataclass(frozen=True, slots=True)
class Calibration:
    """A recorded calibration beside a run whose judges it may hold for."""

    event: JudgeCalibrated
    run_number: int
    """The run whose evaluations were labelled."""
    is_own: bool
    """Whether that is the run itself."""
    age_days: float
    stale: tuple[str, ...]
    """Reasons why it does not hold for the run; empty if it does."""


class LabelledRun(NamedTuple):
    """A run with a calibration, and the labels that count in it."""

    run: JudgedRun
    labels: Labels


def calibrations(connection: Connection, up_to: int | None = None) -> Iterator[JudgeCalibrated]:
    """All calibrations up to a position (`None`: all), newest first."""
    topics = [JudgeCalibrated.__name__]
    for row in find(connection, topics=topics, up_to=up_to, newest_first=True):
        event = row.event()
        if isinstance(event, JudgeCalibrated):
            yield event


def calibration_for(
    connection: Connection,
    run: JudgedRun,
    *,
    now: datetime | None = None,
    up_to: int | None = None,
) -> Calibration | None:
    """The newest calibration that holds for the run, its own first; else the nearest stale one.

    `None` if no calibration has a judge of the run. `now` is by default the present (UTC).
    """
    run_id = run.started.originator_id
    moment = datetime.now(UTC) if now is None else now
    keys = {(judge.provider, judge.model) for judge in run.started.judges}
    most_days = fresh_days(run.started)
    candidates = []
    for event in calibrations(connection, up_to):
        calibrated = {(judge.provider, judge.model) for judge in event.judges}
        if event.about == run_id or keys & calibrated:
            age = (moment - event.timestamp) / timedelta(days=1)
            number = read_run(connection, event.about).started.run_number
            stale = tuple(stale_reasons(event, run, age, most_days))
            candidates.append(Calibration(event, number, event.about == run_id, age, stale))
    return min(
        candidates,
        key=lambda candidate: (bool(candidate.stale), not candidate.is_own, len(candidate.stale)),
        default=None,
    )


def stale_reasons(
    event: JudgeCalibrated, run: JudgedRun, age_days: float, most_days: float
) -> Iterator[str]:
    """Why a calibration does not hold for a run, reason by reason. Pure."""
    if event.judges_sha256 != run.judges_sha256:
        yield "other judges, other parameters or another rule"
    if event.prompts_sha256 != run.prompts_sha256:
        yield "another prompt, or another version of the grading"
    if event.rubric_sha256 != run.rubric_sha256:
        yield "other cases or rubrics"
    before = {judge.key: judge.answered for judge in event.judges}
    for judge, names in run.answered.items():
        if judge in before and not set(names) <= set(before[judge]):
            yield f"{judge} answers as {', '.join(names)}, not as {', '.join(before[judge])}"
    if age_days > most_days:
        yield f"{plural(int(age_days), 'day')} old, more than {most_days:g}"


def read_labelled_run(connection: Connection, event: JudgeCalibrated) -> LabelledRun | None:
    """The run of a calibration and its labels, as of then; `None` if the run is archived."""
    if event.about in archived_runs(connection):
        return None
    run = read_judged_run(connection, read_run(connection, event.about), event.position)
    labels = read_labels(connection, find_sample(connection, event), event.position)
    return LabelledRun(run, labels)


def find_sample(connection: Connection, event: JudgeCalibrated) -> QueueCreated:
    """The sample of a calibration. Raises `ImpossibleHistory` if it is not on record."""
    for sample in samples_of(connection, event.about):
        if sample.queue == event.queue:
            return sample
    raise ImpossibleHistory(f"no sample {event.queue} was drawn", event)


def how_to_calibrate(run_number: int) -> str:
    """The command that begins a calibration of the run, as text."""
    return f"`failproof-es calibrate {run_number} --labels 100`"


def require_sample(connection: Connection, run_id: UUID, run_number: int) -> QueueCreated:
    """The last sample of the run. Raises `InvalidInput` if none was drawn."""
    sample = newest_sample(connection, run_id)
    if sample is None:
        message = f"no sample of run {run_number} was drawn"
        raise InvalidInput.because("no-sample", message, remedy=how_to_calibrate(run_number))
    return sample


def newest_sample(connection: Connection, run_id: UUID) -> QueueCreated | None:
    """The last sample of the run; `None` if none was drawn."""
    return max(
        samples_of(connection, run_id), key=lambda event: event.originator_version, default=None
    )
