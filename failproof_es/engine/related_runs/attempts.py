"""The attempts of a run's experiment, and the runs that overlap with it, with their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from failproof_es.core.experiment import experiments
from failproof_es.core.run import RunStatus
from failproof_es.engine.history import read_run
from failproof_es.store.reading.experiments import (
    counts_of,
    is_indexed,
    list_attempt_numbers,
    list_attempts,
    list_overlapping,
    related_runs,
    runs_that_ask,
)
from failproof_es.store.reading.reader import Connection
from failproof_es.support.plurals import plural

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RelatedRun:
    """Another attempt of the experiment, or a run that overlaps, with its result."""

    run_id: UUID
    run_number: int
    name: str
    started_at: datetime
    status: RunStatus
    planned: int
    finished: int | None
    """The last recorded value, like the next two; `None` if none was recorded since the start."""
    scored: int | None
    abandoned: int | None
    gates_met: bool | None
    """`None` if no gate was judged."""
    attempt: int | None
    """Its place among the attempts; `None` for one that overlaps."""
    shared_cases: int
    """How many of the cases are the same."""


GATES = {True: "met", False: "NOT met", None: "-"}
"""The words for `gates_met`."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts of a run's experiment, the runs that overlap, and the run's place among them."""

    experiment: str | None
    """The digest of the experiment; `None` where a run of an older version recorded none."""
    attempt: int
    """From 1, in the order in which the runs began, whatever became of them."""
    attempts: int
    others: tuple[RelatedRun, ...]
    """The other attempts, in order; the newest of them where only so many were asked for."""
    overlapping: tuple[RelatedRun, ...]
    """Runs with a model in common and at least half of the cases, in order; as many."""
    others_before: int = 0
    """How many attempts are older than those among `others`."""
    overlapping_before: int = 0
    """How many runs are older than those among `overlapping`."""

    def describe(self) -> str:
        """One line: which attempt of how many it is."""
        said = f"{self.attempt} of {self.attempts} of this experiment"
        if much := len(self.overlapping) + self.overlapping_before:
            said += f"; {plural(much, 'run')} {'overlaps' if much == 1 else 'overlap'} with it"
        return said


def attempts_of(connection: Connection, run_id: UUID, most: int | None = None) -> Attempts:
    """The attempts of a run's experiment in the log, at most `most` of each kind with details.

    With `most`, and if all runs are indexed, its cost depends neither on the number of runs nor
    on the number of their cases.
    """
    known = counts_of(connection, run_id)
    if known is None:
        return _read_attempts(connection, run_id, most)
    others = list_attempts(connection, run_id, most)
    cases = read_run(connection, run_id).started.planned_cases if others else 0
    overlapping = list_overlapping(connection, run_id, most)
    return Attempts(
        known.experiment,
        known.attempt,
        known.attempts,
        tuple(_other(connection, each, place, cases) for each, place in others),
        tuple(_other(connection, each, None, shared) for each, shared in overlapping),
        known.attempts - 1 - len(others),
        known.overlapping - len(overlapping),
    )


def _read_attempts(connection: Connection, run_id: UUID, most: int | None) -> Attempts:
    found = related_runs(connection, run_id)
    ids = [each.run_id for each in found.attempts]
    own = found.attempts[ids.index(str(run_id))]
    cases = 0 if len(ids) == 1 else len(own.read_plan().cases)
    others = [(each, place) for place, each in enumerate(ids, 1) if each != own.run_id]
    told, much = _newest(others, most), _newest(found.overlapping, most)
    return Attempts(
        own.digest,
        ids.index(own.run_id) + 1,
        len(ids),
        tuple(_other(connection, UUID(each), place, cases) for each, place in told),
        tuple(_other(connection, UUID(each.run.run_id), None, each.shared) for each in much),
        len(others) - len(told),
        len(found.overlapping) - len(much),
    )


def _newest(listed: Sequence[T], most: int | None) -> Sequence[T]:
    return listed if most is None else listed[max(len(listed) - most, 0) :]


class AttemptNumbers:
    """Which attempt of how many each run is."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read: dict[UUID, tuple[int, int]] | None = None
        if not is_indexed(connection):
            self._read = {
                UUID(each.run_id): (place, len(attempts))
                for attempts in experiments(runs_that_ask(connection))
                for place, each in enumerate(attempts, 1)
            }

    def of(self, runs: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
        """The attempt numbers of these runs, without runs whose first event is damaged."""
        if self._read is None:
            return list_attempt_numbers(self._connection, runs)
        return {each: self._read[each] for each in runs if each in self._read}


def _other(connection: Connection, run_id: UUID, attempt: int | None, shared: int) -> RelatedRun:
    run = read_run(connection, run_id)
    started, counts = run.started, run.counts
    return RelatedRun(
        run_id,
        started.run_number,
        started.name,
        started.timestamp,
        run.status,
        started.planned_evaluations,
        None if counts is None else counts.finished,
        None if counts is None else counts.scored,
        None if counts is None else counts.abandoned,
        run.gates_met,
        attempt,
        shared,
    )
