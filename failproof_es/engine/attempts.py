"""The attempts of a run's experiment, and the runs that overlap with it, with their outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from failproof_es.counting import counted
from failproof_es.engine.recorded import read_run
from failproof_es.experiment import experiments
from failproof_es.run import RunStatus
from failproof_es.store.experiments import runs_alike, runs_that_ask
from failproof_es.store.reader import Connection


@dataclass(frozen=True, slots=True)
class Other:
    """A run that asked the same, or much of it, and what came of it."""

    run_id: UUID
    run_number: int
    name: str
    started_at: datetime
    status: RunStatus
    planned: int
    finished: int | None
    """As it last said, like the next two; `None` where it has said nothing since it began."""
    scored: int | None
    abandoned: int | None
    gates_met: bool | None
    """`None` where it judged none."""
    attempt: int | None
    """Its place among the attempts; `None` for one that overlaps."""
    shared_cases: int
    """How many of the cases are the same."""


GATES = {True: "met", False: "NOT met", None: "-"}
"""What is said of `gates_met`."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Where a run stands among those that asked the same."""

    experiment: str | None
    """The digest of the experiment; `None` where a run of an older version recorded none."""
    attempt: int
    """From 1, in the order in which the runs began, whatever became of them."""
    attempts: int
    others: tuple[Other, ...]
    """The other attempts, in order."""
    overlapping: tuple[Other, ...]
    """Runs with a model in common and at least half of the cases, in order."""

    def told(self) -> str:
        """In one line, which attempt of how many it is."""
        said = f"{self.attempt} of {self.attempts} of this experiment"
        if self.overlapping:
            said += f"; {counted(len(self.overlapping), 'run')} besides asked much of the same"
        return said


def attempts_of(connection: Connection, run_id: UUID) -> Attempts:
    """The attempts of a run's experiment as the log has them now."""
    found = runs_alike(connection, run_id)
    ids = [each.run_id for each in found.attempts]
    own = found.attempts[ids.index(str(run_id))]
    cases = 0 if len(ids) == 1 else len(own.read_plan().cases)
    return Attempts(
        own.digest,
        ids.index(own.run_id) + 1,
        len(ids),
        tuple(
            _other(connection, UUID(each), place, cases)
            for place, each in enumerate(ids, 1)
            if each != own.run_id
        ),
        tuple(
            _other(connection, UUID(each.run.run_id), None, each.shared)
            for each in found.overlapping
        ),
    )


def places_of(connection: Connection) -> dict[UUID, tuple[int, int]]:
    """Which attempt of how many each run is."""
    return {
        UUID(each.run_id): (place, len(attempts))
        for attempts in experiments(runs_that_ask(connection))
        for place, each in enumerate(attempts, 1)
    }


def _other(connection: Connection, run_id: UUID, attempt: int | None, shared: int) -> Other:
    run = read_run(connection, run_id)
    started, counts = run.started, run.counts
    return Other(
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
