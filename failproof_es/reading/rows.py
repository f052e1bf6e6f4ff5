"""Summaries and outcomes from the rows of the projections: fetches only the rows that it needs.

If the rows do not cover a run, because the log has events that no engine wrote, the run is read
from the log.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from itertools import islice
from typing import Literal, TypeVar
from uuid import UUID

from psycopg.pq import TransactionStatus

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.people import status_of_words
from failproof_es.core.run import Run, planned_evaluations
from failproof_es.core.summary import (
    RunCounts,
    RunSummary,
    RunTotals,
)
from failproof_es.engine.history import UNREADABLE, read_chunk
from failproof_es.problems import InvalidInput
from failproof_es.reading.counter_rows import READ
from failproof_es.reading.log import LogReader
from failproof_es.reading.result_reader import EVERY_RUN, ID_PART, RunFilter, UnreadableRun
from failproof_es.store.reading.archives import RunIsArchived
from failproof_es.store.reading.reader import Connection
from projections.positions import hold_positions
from projections.protocol import exact_text, sql_file, visible
from projections.results.outcome_rows import SELECTED, outcome_of_row
from projections.results.run_rows import run_of

S = TypeVar("S", RunSummary, RunTotals)
_PAGE = 100
_RUN = "SELECT run::text FROM projections.runs WHERE run_id = %s AND told"
_UNPLACED = "SELECT stream_id FROM projections.unplaced_events WHERE stream_id = ANY (%s)"
_OUTCOMES = (
    f"SELECT {SELECTED}, r.told FROM projections.evaluations AS e "
    "LEFT JOIN projections.runs AS r USING (run_id) WHERE e.evaluation_id = ANY (%s)"
)
_FROM_LIST = (
    "SELECT l.run_id, l.run_number, r.run::text FROM failproof.run_list AS l "
    "LEFT JOIN projections.runs AS r ON r.run_id = l.run_id AND r.told "
)
_HAS_BEGUN = (
    "(r.run_id IS NOT NULL OR %(reached)s::bigint IS NULL OR EXISTS ("
    "SELECT FROM failproof.stored_events AS s WHERE s.originator_id = l.run_id "
    "AND s.originator_version = 1 AND s.notification_id <= %(reached)s))"
)
"""SQL: whether the run has begun by the position up to which the rows stand."""
_SHOWN = (
    "(%(hidden)s::boolean IS NULL OR %(hidden)s = EXISTS (SELECT "
    "FROM projections.run_annotations AS h WHERE h.run_id = l.run_id AND h.hidden))"
)
"""SQL: whether an annotation hides the run, or does not, as the filter wants it."""
_NEWEST_RUNS = (
    f"{_FROM_LIST} WHERE l.run_number < %(before)s AND {_HAS_BEGUN} AND {_SHOWN} "
    "ORDER BY l.run_number DESC LIMIT %(limit)s"
)
_MATCHES = (
    "(%(status)s::text IS NULL OR r.status = %(status)s) "
    "AND (%(model)s::text IS NULL OR EXISTS (SELECT FROM projections.run_asking AS a "
    "WHERE a.run_id = r.run_id AND a.model_key = %(model)s)) "
    "AND (%(tag)s::text IS NULL OR EXISTS (SELECT FROM projections.run_annotations AS t "
    "WHERE t.run_id = r.run_id AND %(tag)s = ANY (t.tags))) "
    "AND (%(experiment)s::text IS NULL OR failproof.readable(r.run) "
    "#>> '{manifest,experiment,digest}' = %(experiment)s) "
    "AND (%(since)s::timestamptz IS NULL OR r.started_at >= %(since)s) "
    "AND (%(until)s::timestamptz IS NULL OR r.started_at <= %(until)s) "
    "AND (%(text)s::text IS NULL OR strpos(lower(r.name), lower(%(text)s)) > 0 "
    "OR EXISTS (SELECT FROM projections.run_annotations AS n "
    "WHERE n.run_id = r.run_id AND strpos(lower(n.name), lower(%(text)s)) > 0) "
    f"OR length(%(text)s) >= {ID_PART} AND starts_with(r.run_id::text, lower(%(text)s)) "
    "OR r.run_number::text = %(text)s)"
)
_MATCHING_RUNS = (
    f"{_FROM_LIST} WHERE l.run_number < %(before)s AND r.run_id IS NOT NULL AND {_SHOWN} "
    f"AND {_MATCHES} "
    "ORDER BY l.run_number DESC LIMIT %(limit)s"
)
_RUNS_BY_ID = f"{_FROM_LIST} WHERE l.run_id = ANY (%(runs)s) AND r.run_id IS NOT NULL"
_STATUS_COUNTS = (
    f"SELECT r.status, count(*) FILTER (WHERE {_MATCHES}), count(*) FROM failproof.run_list AS l "
    f"LEFT JOIN projections.runs AS r ON r.run_id = l.run_id AND r.told WHERE {_HAS_BEGUN} "
    f"AND {_SHOWN} GROUP BY r.status"
)
_HIDDEN = "SELECT count(*) FROM projections.run_annotations WHERE hidden"
_TAGS = (
    "SELECT tag, count(*) FROM projections.run_annotations, unnest(tags) AS tag "
    "GROUP BY tag ORDER BY count(*) DESC, tag LIMIT %s"
)
_MODELS = "SELECT model_key, count(*) FROM projections.run_asking GROUP BY model_key"
_MESSAGES = "SELECT count(*) FROM projections.run_errors WHERE run_id = %s AND requests > 0"
_IMPOSSIBLE = (
    "SELECT prompt_id, model_key, repetition FROM projections.evaluations "
    "WHERE run_id = %s AND impossible IS NOT NULL"
)
_BEYOND = 2**63 - 1
_EXACTLY = json.JSONDecoder(parse_float=Decimal)
MOST_TAGS_COUNTED = 100
"""Most tags that are counted: the most frequent."""
_DECODED_AT_ONCE = 1_000
"""Number of rows of counters that are decoded at once: one by one would take twice as long."""


@dataclass(frozen=True, slots=True)
class RunListCounts:
    """The number of runs in a list, and the number of runs by status and by model."""

    total: int
    """Number of runs that are hidden or not, as the filter wants it, whatever else it wants."""
    matching: int
    """Number of runs that the filter matches."""
    by_status: dict[str, int]
    """Runs of `total` by status, of those with a row."""
    by_model: dict[str, int]
    """Number of runs that ask each model."""
    by_tag: dict[str, int]
    """Number of runs with each tag, of the `MOST_TAGS_COUNTED` most frequent tags."""
    hidden: int
    """Number of runs that an annotation hides."""


@dataclass(frozen=True, slots=True)
class RowReader:
    """A reader that reads the rows of the projections `run_results` and `reviews`.

    It does not update them. Runs that the rows do not cover are read from the log.
    """

    connection: Connection
    warning: str | None = None
    """Always `None`: the projections are what was wanted."""
    reached: int | None = None
    """The position up to which the rows stand, if they were not updated beforehand."""
    _log: LogReader = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_log", LogReader(self.connection, self.reached))

    @property
    def source(self) -> Literal["projections"]:
        """The projections."""
        return "projections"

    @property
    def up_to(self) -> None:
        """Always `None`: rows have no past states."""
        return None

    def run(self, run_id: UUID) -> Run:
        """The run from its row, or else folded from the log. Raises as `ResultReader.run` does."""
        row = self.connection.execute(_RUN, (run_id,)).fetchone()
        if row is None:
            return self._log.run(run_id)
        return run_of(row[0])

    def summary(self, run: Run, *, messages: int | None = None, reviews: bool = True) -> RunSummary:
        """The summary of the run, as `ResultReader.summary`.

        The number of queries does not depend on the size of the run.
        """
        run_id = run.started.originator_id
        with _snapshot(self.connection):
            summary = self._summaries([run], messages, reviews).get(run_id)
            if summary is None:
                return self._log.summary(run, messages=messages, reviews=reviews)
            if messages is None or len(summary.counts.errors) < messages:
                return summary
            (message_count,) = self.connection.execute(_MESSAGES, (run_id,)).fetchone() or (0,)
            return replace(summary, more_messages=message_count - len(summary.counts.errors))

    def summaries(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        which: RunFilter = EVERY_RUN,
    ) -> Iterator[RunSummary | UnreadableRun]:
        """The summaries of runs, newest first, as `ResultReader.summaries`.

        The number of queries is the same for 100 runs as for one.
        """
        return self._list_pages(limit, before, which, self._summaries, lambda summary: summary)

    def totals(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        which: RunFilter = EVERY_RUN,
    ) -> Iterator[RunTotals | UnreadableRun]:
        """The totals of runs, newest first, as `ResultReader.totals`.

        The database sums: the cost does not depend on the size of a run.
        """
        return self._list_pages(limit, before, which, self._totals, lambda summary: summary.totals)

    def _list_pages(
        self,
        remaining: int | None,
        before: int | None,
        which: RunFilter,
        read: Callable[[Sequence[Run]], Mapping[UUID, S]],
        of_log: Callable[[RunSummary], S],
    ) -> Iterator[S | UnreadableRun]:
        before = _BEYOND if before is None else before
        statement = _MATCHING_RUNS if which.chooses else _NEWEST_RUNS
        while remaining is None or remaining > 0:
            page = _PAGE if remaining is None else min(remaining, _PAGE)
            parameters = self._bind_filter(which) | {"before": before, "limit": page}
            with _snapshot(self.connection):
                rows = self.connection.execute(statement, parameters).fetchall()
                runs = self._build_page(rows, read, of_log)
            yield from runs
            if len(rows) < page:
                return
            before = rows[-1][1]
            remaining = None if remaining is None else remaining - page

    def totals_of(self, runs: Sequence[UUID]) -> dict[UUID, RunTotals]:
        """The totals of these runs, by run id. The database sums, as for `totals`."""
        with _snapshot(self.connection):
            rows = self.connection.execute(_RUNS_BY_ID, {"runs": list(runs)}).fetchall()
            totals = self._build_page(rows, self._totals, lambda summary: summary.totals)
        return {run.run_id: run for run in totals if isinstance(run, RunTotals)}

    def summaries_of(self, runs: Sequence[UUID]) -> dict[UUID, RunSummary]:
        """The brief summaries of these runs, by run id.

        The number of queries is the same for 100 runs as for one.
        """
        with _snapshot(self.connection):
            rows = self.connection.execute(_RUNS_BY_ID, {"runs": list(runs)}).fetchall()
            summaries = self._build_page(rows, self._briefs, lambda summary: summary.brief)
        return {summary.run_id: summary for summary in summaries if isinstance(summary, RunSummary)}

    def count_runs(self, which: RunFilter) -> RunListCounts:
        """The numbers of all runs and of those that `which` matches; of all by status and model."""
        by_status = self.connection.execute(_STATUS_COUNTS, self._bind_filter(which)).fetchall()
        models = self.connection.execute(_MODELS).fetchall()
        tags = self.connection.execute(_TAGS, (MOST_TAGS_COUNTED,)).fetchall()
        return RunListCounts(
            total=sum(every for _, _, every in by_status),
            matching=sum(matching if which.chooses else every for _, matching, every in by_status),
            by_status={status: every for status, _, every in by_status if status is not None},
            by_model=dict(sorted((exact_text(key), runs) for key, runs in models)),
            by_tag={exact_text(tag): runs for tag, runs in tags},
            hidden=self.count_hidden(),
        )

    def count_hidden(self) -> int:
        """Number of runs that an annotation hides."""
        (hidden,) = self.connection.execute(_HIDDEN).fetchone() or (0,)
        return int(hidden)

    def _bind_filter(self, which: RunFilter) -> dict[str, object]:
        parameters = {
            name: visible(value) if isinstance(value, str) else value
            for name, value in asdict(which).items()
        }
        return {**parameters, "reached": self.reached}

    def outcomes(self, run: Run, keys: Sequence[EvaluationKey]) -> list[EvaluationOutcome]:
        """The outcomes of these evaluations in the order of `keys`, from the row of each."""
        ids = [key.evaluation_id for key in keys]
        with _snapshot(self.connection):
            rows = self.connection.execute(_OUTCOMES, (ids,), binary=True).fetchall()
            unplaced = self.connection.execute(_UNPLACED, (ids,)).fetchall()
        outcomes = {row[0]: outcome_of_row(row[:-1]) for row in rows if row[-1]}
        missing = {row[0] for row in rows if not row[-1]} | {stream for (stream,) in unplaced}
        by_log = iter(
            self._log.outcomes(run, [key for key in keys if key.evaluation_id in missing])
        )
        return [
            next(by_log)
            if key.evaluation_id in missing
            else outcomes.get(key.evaluation_id) or _planned_outcome(key)
            for key in keys
        ]

    def impossible(self, run: Run, *, limit: int) -> list[EvaluationOutcome]:
        """The first evaluations with contradictory or unreadable records, at most `limit`.

        In plan order. Reads the plan only if there are such evaluations.
        """
        run_id = run.started.originator_id
        impossible_keys = {
            (prompt, exact_text(model), repetition)
            for prompt, model, repetition in self.connection.execute(_IMPOSSIBLE, (run_id,))
        }
        if not impossible_keys:
            return []
        planned = (
            key
            for chunk in range(run.chunks)
            for key in planned_evaluations(
                run_id,
                read_chunk(self.connection, run_id, chunk),
                [model.key for model in run.started.models],
                repetitions_of(run.started),
            )
            if (key.prompt_id, key.model_key, key.repetition) in impossible_keys
        )
        return self.outcomes(run, list(islice(planned, limit)))

    def _build_page(
        self,
        rows: Sequence[tuple[UUID, int, str | None]],
        of_rows: Callable[[Sequence[Run]], Mapping[UUID, S]],
        of_log: Callable[[RunSummary], S],
    ) -> list[S | UnreadableRun]:
        """The list's entries of these runs, in order. `rows`: (id, number, stored run or `None`).

        `of_rows` gives the entries of the runs that the projections cover; `of_log` makes an entry
        from the summary of any other run.
        """
        read = {run_id: self._read_run(run_id, number, stored) for run_id, number, stored in rows}
        runs = [run for run in read.values() if isinstance(run, Run)]
        covered = of_rows(runs)
        page: list[S | UnreadableRun] = []
        for run_id, number, _ in rows:
            run = read[run_id]
            if isinstance(run, UnreadableRun):
                page.append(run)
            elif run_id in covered:
                page.append(covered[run_id])
            else:
                summary = self._log.summarize_or_explain(run_id, number, run)
                page.append(of_log(summary) if isinstance(summary, RunSummary) else summary)
        return page

    def _read_run(self, run_id: UUID, number: int, stored: str | None) -> Run | UnreadableRun:
        if stored is not None:
            return run_of(stored)
        try:
            return self._log.run(run_id)
        except RunIsArchived as error:
            return self._log.archived(run_id, number, error)
        except (*UNREADABLE, InvalidInput) as error:
            return UnreadableRun(run_id, number, str(error))

    def _briefs(self, runs: Sequence[Run]) -> dict[UUID, RunSummary]:
        return self._summaries(runs, messages=0, reviews=False)

    def _summaries(
        self, runs: Sequence[Run], messages: int | None = None, reviews: bool = True
    ) -> dict[UUID, RunSummary]:
        """The summaries of the runs that the rows cover, by run."""
        ids = [run.started.originator_id for run in runs]
        counts = self._read_counts(ids, "counts_of_runs", messages)
        review_counts = self._read_reviews(ids) if reviews else {}
        return {
            run_id: RunSummary(
                run=run,
                counts=counts[run_id],
                reviews=_review_states(counts[run_id], review_counts.get(run_id, ()))
                if reviews
                else {},
            )
            for run_id, run in zip(ids, runs, strict=True)
            if run_id in counts
        }

    def _totals(self, runs: Sequence[Run]) -> dict[UUID, RunTotals]:
        """The totals of the runs that the rows cover, by run."""
        ids = [run.started.originator_id for run in runs]
        counts = self._read_counts(ids, "totals_of_runs")
        return {
            run_id: RunSummary(run=run, counts=counts[run_id]).totals
            for run_id, run in zip(ids, runs, strict=True)
            if run_id in counts
        }

    def _read_counts(
        self,
        runs: Sequence[UUID],
        statement: Literal["counts_of_runs", "totals_of_runs"],
        messages: int | None = None,
    ) -> dict[UUID, RunCounts]:
        counts: defaultdict[UUID, RunCounts] = defaultdict(RunCounts)
        parameters = {"runs": list(runs), "messages": messages}
        cursor = self.connection.execute(sql_file(statement), parameters)
        while rows := cursor.fetchmany(_DECODED_AT_ONCE):
            decoded = _EXACTLY.decode(f"[{','.join(row for _, _, row in rows)}]")
            for (kind, run_id, _), row in zip(rows, decoded, strict=True):
                READ[kind](counts[run_id], row)
        return counts

    def _read_reviews(self, runs: Sequence[UUID]) -> dict[UUID, list[tuple[list[str], int]]]:
        """By run id: (distinct last verdicts of reviewers, number of evaluations with these)."""
        reviews: dict[UUID, list[tuple[list[str], int]]] = {}
        for run_id, verdicts, evaluations in self.connection.execute(
            sql_file("reviews_of_runs"), (list(runs),)
        ):
            reviews.setdefault(run_id, []).append((verdicts, evaluations))
        return reviews


@contextmanager
def _snapshot(connection: Connection) -> Iterator[None]:
    """Read everything at one position, even if a follower updates the projections meanwhile."""
    if connection.info.transaction_status is not TransactionStatus.IDLE:
        yield
        return
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        hold_positions(connection)
        yield


def _planned_outcome(key: EvaluationKey) -> EvaluationOutcome:
    """The outcome of an evaluation that has not begun."""
    return EvaluationOutcome(
        evaluation_id=key.evaluation_id,
        run_id=key.run_id,
        prompt_id=key.prompt_id,
        model_key=key.model_key,
        repetition=key.repetition,
    )


def _review_states(counts: RunCounts, reviews: Sequence[tuple[list[str], int]]) -> Counter[str]:
    states: Counter[str] = Counter()
    for verdicts, evaluations in reviews:
        states[status_of_words(verdicts)] += evaluations
    awaiting = sum(group.awaiting for group in counts.groups.values()) - states.total()
    if awaiting:
        states["awaiting"] = awaiting
    return states
