"""Summaries and outcomes folded from the log: as of any position, with read rights only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal
from uuid import UUID

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.case import Case
from failproof_es.core.clusters import SharedClusters
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.run import Run, fold_run
from failproof_es.core.summary import RunCounts, RunSummary, RunTotals
from failproof_es.engine.annotations import annotations_of
from failproof_es.engine.evaluation_outcomes import evaluation_outcome
from failproof_es.engine.history import (
    UNREADABLE,
    WINDOW,
    read_evaluations,
    recorded_evaluations,
)
from failproof_es.engine.reviews.people import count_review_statuses
from failproof_es.events import RunAnnotated
from failproof_es.problems import InvalidInput
from failproof_es.reading.result_reader import EVERY_RUN, RunFilter, RunInArchive, UnreadableRun
from failproof_es.store.reading.archives import RunIsArchived, require_attached
from failproof_es.store.reading.reader import Connection, find

_MOST = 2**63 - 1
"""The largest LIMIT that the database accepts."""


class SummaryCounter:
    """Counts the outcomes of a run's evaluations, one after the other, up to a position."""

    def __init__(self, connection: Connection, run: Run, up_to: int | None) -> None:
        self._connection, self._run, self._up_to = connection, run, up_to
        self._clusters = SharedClusters(repeated=repetitions_of(run.started) > 1)
        self._counts = RunCounts(clusters=self._clusters)
        self._left_to_people: list[UUID] = []

    def add(self, outcome: EvaluationOutcome, case: Case) -> None:
        """Count the outcome of one more evaluation, of this case."""
        self._counts.add(outcome, case)
        if outcome.awaiting_review:
            self._left_to_people.append(outcome.evaluation_id)

    def summary(self, *, messages: int | None = None, reviews: bool = True) -> RunSummary:
        """The summary of the counted evaluations, as `ResultReader.summary`.

        Nothing can be added afterwards.
        """
        counts = self._counts
        self._clusters.settle()
        said_by_people = (
            count_review_statuses(self._connection, self._left_to_people, up_to=self._up_to)
            if reviews
            else {}
        )
        summary = RunSummary(
            run=self._run, counts=counts, reviews=said_by_people, as_of=self._up_to
        )
        error_counts = summary.messages()
        if messages is None or len(error_counts) <= messages:
            return summary
        counts.errors = Counter(dict(error_counts[:messages]))
        return replace(summary, more_messages=len(error_counts) - messages)


@dataclass(frozen=True, slots=True)
class LogReader:
    """A reader that reads only events, no projections: up to the position `up_to`, or all."""

    connection: Connection
    up_to: int | None = None
    warning: str | None = None
    """Why the log is read although the projections were wanted; else `None`."""

    @property
    def source(self) -> Literal["log"]:
        """The log."""
        return "log"

    def run(self, run_id: UUID) -> Run:
        """The run, folded from its own stream. Raises as `ResultReader.run` does."""
        require_attached(self.connection, run_id)
        return self._fold_stream(run_id)

    def _fold_stream(self, run_id: UUID) -> Run:
        with closing(find(self.connection, stream_id=run_id, up_to=self.up_to)) as rows:
            run = fold_run(row.event() for row in rows)  # an error here leaves no cursor open
        if run.manifest is None:
            by_then = "" if self.up_to is None else f" by position {self.up_to}"
            raise InvalidInput.because(
                "run-not-begun",
                f"run {run_id} had not begun{by_then}",
                remedy="without a position, `failproof-es log RUN --limit 1` shows where it begins",
            )
        return run

    def summary(self, run: Run, *, messages: int | None = None, reviews: bool = True) -> RunSummary:
        """The summary of the run, as `ResultReader.summary`. Reads every event of the run."""
        counter = SummaryCounter(self.connection, run, self.up_to)
        for recorded in recorded_evaluations(self.connection, run, up_to=self.up_to):
            counter.add(evaluation_outcome(run, recorded), recorded.case)
        return counter.summary(messages=messages, reviews=reviews)

    def summaries(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        which: RunFilter = EVERY_RUN,
    ) -> Iterator[RunSummary | UnreadableRun]:
        """The summaries of runs, newest first, as `ResultReader.summaries`.

        Reads every event of each run.
        """
        most = None if limit is None else min(limit, _MOST)
        chooses = which.chooses or which.hidden is not None
        rows = self.connection.execute(
            "SELECT run_id, run_number FROM failproof.run_list "
            "WHERE %(before)s::bigint IS NULL OR run_number < %(before)s "
            "ORDER BY run_number DESC LIMIT %(limit)s",
            {"before": before, "limit": None if chooses else most},
        ).fetchall()
        annotations: Mapping[UUID, RunAnnotated] = {}
        if which.reads_annotations:
            runs = [run_id for run_id, _ in rows]
            annotations = annotations_of(self.connection, runs, self.up_to)
        if which.hidden is not None:
            hidden = {run_id for run_id, annotation in annotations.items() if annotation.hidden}
            rows = [row for row in rows if (row[0] in hidden) == which.hidden]
        summaries = (self.summarize_or_explain(run_id, number) for run_id, number in rows)
        if not which.chooses:
            return islice(summaries, most)
        matching = (
            summary
            for summary in summaries
            if isinstance(summary, RunSummary)
            and which.matches(summary.run, annotations.get(summary.run_id))
        )
        return islice(matching, most)

    def totals(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        which: RunFilter = EVERY_RUN,
    ) -> Iterator[RunTotals | UnreadableRun]:
        """The totals of runs, newest first, as in `ResultReader`. Reads every event of each run."""
        summaries = self.summaries(limit=limit, before=before, which=which)
        return (
            summary.totals if isinstance(summary, RunSummary) else summary for summary in summaries
        )

    def count_hidden(self) -> int:
        """Number of runs that an annotation hides. Reads the last annotation of each run."""
        rows = self.connection.execute("SELECT run_id FROM failproof.run_list").fetchall()
        annotations = annotations_of(self.connection, [run_id for (run_id,) in rows], self.up_to)
        return sum(annotation.hidden for annotation in annotations.values())

    def totals_of(self, runs: Sequence[UUID]) -> dict[UUID, RunTotals]:
        """The totals of these runs, by run id. Reads every event of each run."""
        summaries = ((run_id, self.summarize_or_explain(run_id, 0)) for run_id in runs)
        return {
            run_id: summary.totals
            for run_id, summary in summaries
            if isinstance(summary, RunSummary)
        }

    def summaries_of(self, runs: Sequence[UUID]) -> dict[UUID, RunSummary]:
        """The brief summaries of these runs, by run id. Reads every event of each run."""
        summaries = ((run_id, self.summarize_or_explain(run_id, 0)) for run_id in runs)
        return {
            run_id: summary.brief
            for run_id, summary in summaries
            if isinstance(summary, RunSummary)
        }

    def summarize_or_explain(
        self, run_id: UUID, run_number: int, run: Run | None = None
    ) -> RunSummary | UnreadableRun:
        """The run's summary, or the reason why there is none.

        `run` is the run if it was read already; `None` reads it. `run_number` is only for the
        reason.
        """
        try:
            return self.summary(run or self.run(run_id))
        except RunIsArchived as error:
            return self.archived(run_id, run_number, error)
        except (*UNREADABLE, InvalidInput) as error:
            return UnreadableRun(run_id, run_number, str(error))

    def archived(
        self, run_id: UUID, run_number: int, error: RunIsArchived
    ) -> RunInArchive | UnreadableRun:
        """The list's entry of a run whose reading raised `error`, which names the archive file.

        An `UnreadableRun` if its own stream cannot be read either.
        """
        try:
            return RunInArchive(run_id, run_number, str(error), self._fold_stream(run_id))
        except (*UNREADABLE, InvalidInput) as unreadable:
            return UnreadableRun(run_id, run_number, str(unreadable))

    def outcomes(self, run: Run, keys: Sequence[EvaluationKey]) -> list[EvaluationOutcome]:
        """The outcomes of these evaluations in the order of `keys`, from their events."""
        return [
            evaluation_outcome(run, recorded)
            for start in range(0, len(keys), WINDOW)
            for recorded in read_evaluations(
                self.connection, keys[start : start + WINDOW], up_to=self.up_to
            )
        ]

    def impossible(self, run: Run, *, limit: int) -> list[EvaluationOutcome]:
        """The first evaluations with contradictory or unreadable records, at most `limit`.

        In plan order. Reads the run's events until `limit` is reached.
        """
        outcomes = (
            evaluation_outcome(run, recorded)
            for recorded in recorded_evaluations(self.connection, run, up_to=self.up_to)
        )
        return list(
            islice((outcome for outcome in outcomes if outcome.impossible is not None), limit)
        )
