"""The source of summaries and outcomes: projections or log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.core.summary import RunSummary


@dataclass(frozen=True, slots=True)
class UnreadableRun:
    """A run without a summary: its record cannot be true or be read."""

    run_id: UUID
    run_number: int
    why: str


@dataclass(frozen=True, slots=True)
class RunInArchive(UnreadableRun):
    """A run whose evaluations are in a file: its own stream is here, `why` says where the rest is.

    What it counted when it ended is in `run`.
    """

    run: Run


class Feeder(Protocol):
    """One way to read runs. Every way gives the same."""

    @property
    def source(self) -> Literal["projections", "log"]:
        """What is read."""

    @property
    def up_to(self) -> int | None:
        """The position of the log up to which everything is read; `None` for all of it."""

    @property
    def warning(self) -> str | None:
        """Why a slower source is read than was wanted: a warning for the user."""

    def run(self, run_id: UUID) -> Run:
        """What the run's own stream says. Raises `InvalidInput` where it has not begun.

        Raises `RunIsArchived` where what happened in its evaluations is in a file.
        """

    def summary(self, run: Run) -> RunSummary:
        """The summary of the run."""

    def summaries(
        self, *, limit: int | None = None, before: int | None = None
    ) -> Iterator[RunSummary | UnreadableRun]:
        """The summaries of all runs, newest first, `limit` at most; a damaged one hides no other.

        With `before`, only runs whose number is smaller.
        """

    def outcomes(self, run: Run, keys: Sequence[EvaluationKey]) -> list[EvaluationOutcome]:
        """The outcomes of these evaluations of the run, in the order given."""

    def impossible(self, run: Run, *, limit: int) -> list[EvaluationOutcome]:
        """Those evaluations, in plan order, whose record cannot be true or be read; so many."""
