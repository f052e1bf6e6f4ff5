"""The outcome of a drive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from failproof_es.core.run import Run
from failproof_es.events import Counts, RunStatus, RunValidated


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of the run after this process drove it."""

    run_id: UUID
    run_number: int
    name: str
    status: RunStatus
    reason: str | None
    counts: Counts
    gates: dict[str, dict[str, Any]]
    validation: RunValidated | None
    """The findings of the run's validation; `None` while the run has not ended."""
    interrupted: bool
    """Whether a requested stop (a signal) paused the run."""

    @property
    def intact(self) -> bool:
        """Whether validation found no error in the record."""
        return self.validation is None or self.validation.passed

    @property
    def gates_met(self) -> bool:
        """Whether every configured gate is met; true when there is none."""
        return all(gate["met"] for gate in self.gates.values())

    @classmethod
    def of(cls, run: Run, *, interrupted: bool) -> Outcome:
        """The outcome according to the run's own stream.

        `interrupted` says whether a stop was requested; it counts only if the run is paused.
        """
        manifest = run.started
        planned = manifest.planned_evaluations
        return cls(
            run_id=manifest.originator_id,
            run_number=manifest.run_number,
            name=manifest.name,
            status=run.status,
            reason=run.reason,
            counts=run.counts or Counts(planned=planned, finished=0, scored=0, abandoned=0),
            gates=dict(run.gates or {}),
            validation=run.validation,
            interrupted=interrupted and run.status == "paused",
        )
