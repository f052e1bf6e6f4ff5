"""The attempts of a run's experiment, and the runs that overlap with it, with their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeVar
from uuid import UUID

from failproof_es.core.experiment import experiments
from failproof_es.core.run import Run
from failproof_es.engine.related_runs.runs_in_brief import read_runs_in_brief
from failproof_es.events import RunStatus
from failproof_es.store.reading.experiments import (
    counts_of,
    is_indexed,
    list_attempt_numbers,
    list_attempts,
    list_overlapping,
    related_runs,
    run_numbers,
    runs_that_ask,
)
from failproof_es.store.reading.reader import Connection
from failproof_es.support.plurals import plural

T = TypeVar("T")
_LOOKED_AT = 20
"""Number of earlier runs of a kind to try, if the newest ones cannot be read."""


@dataclass(frozen=True, slots=True)
class RelatedRun:
    """Another attempt of the experiment, or a run that overlaps, with its result."""

    run_id: UUID
    run_number: int
    name: str
    """Empty where its record cannot be read."""
    started_at: datetime | None
    """`None` where its record cannot be read, like `planned`."""
    status: RunStatus | Literal["unreadable"]
    planned: int | None
    finished: int | None
    """The last recorded value, like the next two; `None` if none was recorded since the start."""
    scored: int | None
    abandoned: int | None
    gates_met: bool | None
    """`None` if no gate was judged."""
    attempt: int | None
    """Its number among the attempts; `None` for a run that overlaps."""
    shared_cases: int
    """The number of cases that are the same."""
    unreadable: str | None = None
    """Why its record cannot be read; `failproof-es verify` tells whether it was changed."""


GATES = {True: "met", False: "NOT met", None: "-"}
"""The words for `gates_met`."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts of a run's experiment, the runs that overlap, and the run's place among them."""

    experiment: str
    """The digest of the experiment."""
    attempt: int
    """Number of the attempt, from 1, in the order in which the runs began."""
    attempts: int
    others: tuple[RelatedRun, ...]
    """The other attempts, in order; only the newest of them if `most` limits their number."""
    overlapping: tuple[RelatedRun, ...]
    """Runs that share a model and at least half of the cases, in order; limited in the same way."""
    others_before: int = 0
    """The number of attempts older than those among `others`."""
    overlapping_before: int = 0
    """The number of runs older than those among `overlapping`."""

    def describe(self) -> str:
        """One line: the number of the attempt and of all attempts, and the number of overlapping
        runs."""
        summary = f"{self.attempt} of {self.attempts} of this experiment"
        if much := len(self.overlapping) + self.overlapping_before:
            summary += f"; {plural(much, 'run')} {'overlaps' if much == 1 else 'overlap'} with it"
        return summary


def attempts_of(connection: Connection, run_id: UUID, most: int | None = None) -> Attempts:
    """The attempts of a run's experiment in the log, and the runs that overlap with it.

    Of each kind, only the newest `most` are read in detail; `None` reads all. With `most`, and if
    all runs are indexed, its cost depends neither on the number of runs nor on the number of their
    cases.
    """
    counts = counts_of(connection, run_id)
    if counts is None:
        return _read_attempts(connection, run_id, most)
    other_attempts = list_attempts(connection, run_id, most)
    cases = _planned_cases(connection, run_id) if other_attempts else 0
    overlapping = list_overlapping(connection, run_id, most)
    return Attempts(
        counts.experiment,
        counts.attempt,
        counts.attempts,
        _read_related_runs(
            connection, [(other_id, place, cases) for other_id, place in other_attempts]
        ),
        _read_related_runs(
            connection, [(other_id, None, shared) for other_id, shared in overlapping]
        ),
        counts.attempts - 1 - len(other_attempts),
        counts.overlapping - len(overlapping),
    )


def attempt_before(connection: Connection, run_id: UUID) -> UUID | None:
    """The id of the attempt before this one, else of the newest earlier run that overlaps.

    `None` if there is neither. Of either kind it is the newest run with a readable record, among
    the `_LOOKED_AT` newest. If all runs are indexed, the cost does not depend on the number of
    later runs.
    """
    if counts_of(connection, run_id) is not None:
        near: list[list[UUID]] = [
            [other_id for other_id, _ in list_them(connection, run_id, _LOOKED_AT, earlier=True)]
            for list_them in (list_attempts, list_overlapping)
        ]
    else:
        related = related_runs(connection, run_id)
        own = next((run.number for run in related.attempts if run.run_id == str(run_id)), 0)
        near = [
            [UUID(run.run_id) for run in earlier if run.number < own][-_LOOKED_AT:]
            for earlier in (related.attempts, [overlap.run for overlap in related.overlapping])
        ]
    for run_ids in near:
        read = read_runs_in_brief(connection, run_ids)
        for near_id in reversed(run_ids):
            if isinstance(read.get(near_id), Run):
                return near_id
    return None


def _planned_cases(connection: Connection, run_id: UUID) -> int:
    run = read_runs_in_brief(connection, [run_id])[run_id]
    if isinstance(run, Exception):
        raise run
    return run.started.planned_cases


def _read_attempts(connection: Connection, run_id: UUID, most: int | None) -> Attempts:
    related = related_runs(connection, run_id)
    ids = [attempt.run_id for attempt in related.attempts]
    own = related.attempts[ids.index(str(run_id))]
    cases = 0 if len(ids) == 1 else _planned_cases(connection, run_id)
    other_attempts = [
        (other_id, place) for place, other_id in enumerate(ids, 1) if other_id != own.run_id
    ]
    newest, much = _newest_runs(other_attempts, most), _newest_runs(related.overlapping, most)
    return Attempts(
        own.digest,
        ids.index(own.run_id) + 1,
        len(ids),
        _read_related_runs(
            connection, [(UUID(other_id), place, cases) for other_id, place in newest]
        ),
        _read_related_runs(
            connection, [(UUID(overlap.run.run_id), None, overlap.shared) for overlap in much]
        ),
        len(other_attempts) - len(newest),
        len(related.overlapping) - len(much),
    )


def _newest_runs(runs: Sequence[T], most: int | None) -> Sequence[T]:
    return runs if most is None else runs[max(len(runs) - most, 0) :]


class AttemptNumbers:
    """Looks up the numbers of runs among the attempts of their experiments."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read: dict[UUID, tuple[int, int]] | None = None
        if not is_indexed(connection):
            self._read = {
                UUID(attempt.run_id): (place, len(attempts))
                for attempts in experiments(runs_that_ask(connection))
                for place, attempt in enumerate(attempts, 1)
            }

    def of(self, runs: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
        """The number of the attempt, from 1, and of all attempts of its experiment, by run.

        Runs whose first event is damaged are left out.
        """
        if self._read is None:
            return list_attempt_numbers(self._connection, runs)
        return {run_id: self._read[run_id] for run_id in runs if run_id in self._read}


def _read_related_runs(
    connection: Connection, related: Sequence[tuple[UUID, int | None, int]]
) -> tuple[RelatedRun, ...]:
    """The details of runs, in the same order.

    `related` has for each its id, its attempt number (`None` if it only overlaps) and the number of
    shared cases.
    """
    ids = [run_id for run_id, _, _ in related]
    read = read_runs_in_brief(connection, ids)
    numbers = run_numbers(connection, ids)
    return tuple(
        _related_run(run_id, numbers[run_id], read.get(run_id), attempt, shared)
        for run_id, attempt, shared in related
    )


def _related_run(
    run_id: UUID, number: int, run: Run | Exception | None, attempt: int | None, shared: int
) -> RelatedRun:
    if not isinstance(run, Run):
        why = "it has no events" if run is None else str(run)
        return RelatedRun(
            run_id, number, "", None, "unreadable", None, None, None, None, None, attempt, shared,
            why,
        )  # fmt: skip
    started, counts = run.started, run.counts
    return RelatedRun(
        run_id,
        number,
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
