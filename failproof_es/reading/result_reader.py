"""The source of summaries and outcomes: projections or log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run
from failproof_es.core.summary import RunSummary, RunTotals
from failproof_es.events import RunAnnotated


@dataclass(frozen=True, slots=True)
class UnreadableRun:
    """A run without a summary, and the reason: its record contradicts itself or cannot be read."""

    run_id: UUID
    run_number: int
    why: str


@dataclass(frozen=True, slots=True)
class RunInArchive(UnreadableRun):
    """An archived run: its evaluations are in a file, which `why` names.

    `run` is folded from its own stream, which is in the log; it has the counts of its end.
    """

    run: Run


ID_PART = 8
"""Least characters of a run's id that find it: fewer would match unrelated runs."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The filter of listed runs: a run must match every field that is not `None`."""

    status: str | None = None
    """A status of `RunStatus`, or `ARCHIVED`."""
    model: str | None = None
    """The key of a model that the run asks."""
    text: str | None = None
    """A part of the name or of the annotated name in any case, the beginning of the id, from
    `ID_PART` characters on, or the number."""
    tag: str | None = None
    """A tag of its annotation."""
    hidden: bool | None = None
    """Whether its annotation hides it; a run without one is not hidden."""
    experiment: str | None = None
    """The digest of its experiment."""
    since: datetime | None = None
    """It began at this time or later."""
    until: datetime | None = None
    """It began at this time or earlier."""

    @property
    def chooses(self) -> bool:
        """Whether the filter can exclude a run by more than `hidden`."""
        return replace(self, hidden=None) != EVERY_RUN

    @property
    def reads_annotations(self) -> bool:
        """Whether the filter needs the annotations of runs."""
        return (self.text, self.tag, self.hidden) != (None, None, None)

    def matches(self, run: Run, annotation: RunAnnotated | None) -> bool:
        """Whether the filter matches this run. `reading.rows` has the same condition in SQL."""
        started = run.started
        if self.status not in (None, run.status):
            return False
        if self.model is not None and self.model not in {model.key for model in started.models}:
            return False
        if self.tag is not None and (annotation is None or self.tag not in annotation.tags):
            return False
        if self.experiment not in (None, started.experiment.digest):
            return False
        if self.since is not None and started.timestamp < self.since:
            return False
        if self.until is not None and started.timestamp > self.until:
            return False
        if self.text is None:
            return True
        given_name = "" if annotation is None else annotation.name or ""
        return (
            self.text.lower() in started.name.lower()
            or self.text.lower() in given_name.lower()
            or (
                len(self.text) >= ID_PART
                and str(started.originator_id).startswith(self.text.lower())
            )
            or self.text == str(started.run_number)
        )


ARCHIVED = "archived"
"""The status of archived runs in lists. `list_runs` alone can filter by it."""
EVERY_RUN = RunFilter()
"""The filter that matches every run."""


class ResultReader(Protocol):
    """A source of runs. Every source gives the same results."""

    @property
    def source(self) -> Literal["projections", "log"]:
        """The source that is read."""

    @property
    def up_to(self) -> int | None:
        """The position of the log up to which runs are read; `None` for all of it."""

    @property
    def warning(self) -> str | None:
        """Why a slower source than intended is read, as a warning for the user; else `None`."""

    def run(self, run_id: UUID) -> Run:
        """The run, folded from its own stream, without its evaluations.

        Raises `InvalidInput` if there is no such run, or it begins after `up_to`. Raises
        `RunIsArchived` if the events of its evaluations are in an archive file.
        """

    def summary(self, run: Run, *, messages: int | None = None, reviews: bool = True) -> RunSummary:
        """The summary of the run: its counts and the states of its reviews.

        It has at most `messages` different messages of failed requests, the most frequent; `None`:
        all. Without `reviews` people's reviews are not read, and their counts are empty.
        """

    def summaries(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        which: RunFilter = EVERY_RUN,
    ) -> Iterator[RunSummary | UnreadableRun]:
        """The summaries of runs, newest first, at most `limit`; an unreadable run hides no other.

        With `before`, only runs with smaller numbers; with `which`, only runs that match it.
        Without a filter, a run without a summary is an `UnreadableRun`; a filter leaves it out.
        """

    def totals(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        which: RunFilter = EVERY_RUN,
    ) -> Iterator[RunTotals | UnreadableRun]:
        """Like `summaries`, but with `RunTotals`: only the sums that a list shows."""

    def count_hidden(self) -> int:
        """Number of runs that an annotation hides."""

    def totals_of(self, runs: Sequence[UUID]) -> dict[UUID, RunTotals]:
        """The totals of these runs, by run id. Runs without a summary are missing."""

    def summaries_of(self, runs: Sequence[UUID]) -> dict[UUID, RunSummary]:
        """The brief summaries (`RunSummary.brief`) of these runs, by run id.

        Runs without a summary are missing.
        """

    def outcomes(self, run: Run, keys: Sequence[EvaluationKey]) -> list[EvaluationOutcome]:
        """The outcomes of these evaluations of the run, one for each key, in the order given."""

    def impossible(self, run: Run, *, limit: int) -> list[EvaluationOutcome]:
        """The first evaluations in plan order, at most `limit`, whose records are contradictory or
        unreadable."""
