"""The source of summaries and outcomes: projections or log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.core.summary import RunSummary, RunTotals


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


ID_PART = 8
"""So many characters of a run's id find it. One or two would find runs that nobody means."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are listed: those of which everything holds that is not `None`."""

    status: str | None = None
    """`running`, `paused`, `completed` or `failed`."""
    model: str | None = None
    """The key of a model that the run asks."""
    text: str | None = None
    """A part of the name in any case, the beginning of the id, from `ID_PART` characters on, or the
    number."""

    @property
    def chooses(self) -> bool:
        """Whether any run could be left out."""
        return not (self.status is None and self.model is None and self.text is None)

    def matches(self, run: Run) -> bool:
        """Whether this run is listed. The rows of the projections are chosen by the same in SQL."""
        started = run.started
        if self.status not in (None, run.status):
            return False
        if self.model is not None and self.model not in {model.key for model in started.models}:
            return False
        if self.text is None:
            return True
        return (
            self.text.lower() in started.name.lower()
            or (
                len(self.text) >= ID_PART
                and str(started.originator_id).startswith(self.text.lower())
            )
            or self.text == str(started.run_number)
        )


EVERY_RUN = RunFilter()
"""Leaves none out."""


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

    def summary(self, run: Run, *, messages: int | None = None, reviews: bool = True) -> RunSummary:
        """The summary of the run. With `messages`, of what failed requests said so many at most.

        Without `reviews` nobody looks how people reviewed.
        """

    def summaries(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        which: RunFilter = EVERY_RUN,
    ) -> Iterator[RunSummary | UnreadableRun]:
        """The summaries of all runs, newest first, `limit` at most; a damaged one hides no other.

        With `before`, only runs whose number is smaller; with `which`, only those. One without a
        summary is in no choice.
        """

    def totals(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        which: RunFilter = EVERY_RUN,
    ) -> Iterator[RunTotals | UnreadableRun]:
        """As `summaries`, of each only what a list shows: that is a small part of it."""

    def summaries_of(self, runs: Sequence[UUID]) -> dict[UUID, RunSummary]:
        """The brief summaries (`RunSummary.brief`) of these runs, of those that have one."""

    def outcomes(self, run: Run, keys: Sequence[EvaluationKey]) -> list[EvaluationOutcome]:
        """The outcomes of these evaluations of the run, in the order given."""

    def impossible(self, run: Run, *, limit: int) -> list[EvaluationOutcome]:
        """Those evaluations, in plan order, whose record cannot be true or be read; so many."""
