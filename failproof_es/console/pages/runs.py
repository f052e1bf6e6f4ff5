"""`/runs`: the runs: finished, running and failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, get_args

from pydantic import Field

from failproof_es.catalogue.pass_rate import PassRate, build_pass_rate
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import CURSOR_SAYS, PagedQuery, Paging, integer, one_page
from failproof_es.engine.workers.presence import list_holders
from failproof_es.events.base import RunStatus
from failproof_es.reading.archived_list import count_archived, count_matching
from failproof_es.reading.listed_runs import (
    ListedRun,
    ModelRate,
    TrendPoint,
    change_since_before,
    list_runs,
    trends_of,
)
from failproof_es.reading.result_reader import ARCHIVED, RunFilter
from failproof_es.reading.rows import RowReader, RunListCounts
from failproof_es.support.document import Document


class RunsQuery(PagedQuery):
    """The choice of listed runs."""

    after: str | None = Field(None, pattern=r"^[0-9]{0,18}$", description=CURSOR_SAYS)
    status: Literal["", RunStatus, "archived"] | None = Field(
        None, description="Only runs of this status; `archived`: whose evaluations are in a file."
    )
    model: str | None = Field(
        None, max_length=300, description="Only runs that ask this model, by its key."
    )
    text: str | None = Field(
        None,
        max_length=300,
        description="Only runs with this in a name, or with this number or id.",
    )
    tag: str | None = Field(
        None, max_length=300, description="Only runs that people gave this tag."
    )
    hidden: Literal["", "only", "all"] | None = Field(
        None, description="Hidden runs alone, or as well; without it they are left out."
    )

    @property
    def filter(self) -> RunFilter:
        """The filter, without the page."""
        hidden = {"only": True, "all": None}.get(self.hidden or "", False)
        return RunFilter(self.status or None, self.model, self.text, self.tag, hidden)


class ModelOfRun(Document):
    """Results of one model of a run."""

    model: str
    passed: PassRate
    trend: tuple[TrendPoint, ...]
    """The latest attempts of the experiment, in order; empty for a single attempt."""
    change: float | None
    """The rate less that of the attempt before; `None` without one in `trend`."""


class RunRow(Document):
    """A run in the list."""

    run: ListedRun
    models: tuple[ModelOfRun, ...]
    holders: tuple[str, ...]
    """Processes that drive the run now."""


class StatusCount(Document):
    """Number of runs with a status, or archived; of the filter only `hidden` applies."""

    status: str
    runs: int


class ModelCount(Document):
    """Number of runs that ask a model."""

    model: str
    runs: int


class TagCount(Document):
    """Number of runs with a tag."""

    tag: str
    runs: int


class RunsPage(PageModel):
    """The runs of one page, newest first."""

    rows: tuple[RunRow, ...]
    paging: Paging
    statuses: tuple[StatusCount, ...]
    models: tuple[ModelCount, ...]
    tags: tuple[TagCount, ...]
    """The most frequent tags first."""
    hidden_runs: int | None
    """Number of runs that people hid; `None` where nothing was counted."""


def read_runs(request: PageRequest[RunsQuery]) -> RunsPage:
    """The page of runs that begins after the cursor."""
    query = request.query
    (before,) = query.begin(integer) or (None,)
    listed_runs = list_runs(
        request.connection,
        request.reader,
        limit=query.limit + 1,
        before=before,
        which=query.filter,
        up_to=request.as_of.events_up_to,
    )
    rows, following = one_page(listed_runs, query.limit, lambda run: (run.run_number,))
    repeated = {run.experiment for run in rows if run.experiment and (run.attempts or 1) > 1}
    trends = trends_of(request.connection, request.reader, repeated)
    holders = list_holders(request.connection)
    numbers = (
        _count_runs(request, request.reader) if isinstance(request.reader, RowReader) else None
    )
    by_status, by_model, by_tag = (
        ({}, {}, {}) if numbers is None else (numbers.by_status, numbers.by_model, numbers.by_tag)
    )
    return RunsPage(
        as_of=request.as_of,
        rows=tuple(_row(run, holders, trends) for run in rows),
        paging=query.paging(
            rows,
            following,
            matching=None if numbers is None else numbers.matching,
            total=None if numbers is None else numbers.total,
        ),
        statuses=tuple(
            StatusCount(status=status, runs=by_status.get(status, 0))
            for status in (*get_args(RunStatus), ARCHIVED)
            if numbers is not None
        ),
        models=tuple(ModelCount(model=model, runs=runs) for model, runs in by_model.items()),
        tags=tuple(TagCount(tag=tag, runs=runs) for tag, runs in by_tag.items()),
        hidden_runs=numbers and numbers.hidden,
    )


def _count_runs(request: PageRequest[RunsQuery], reader: RowReader) -> RunListCounts:
    """The counts of the rows, and those of archived runs, which have no rows."""
    which, up_to = request.query.filter, request.as_of.events_up_to
    counts = reader.count_runs(which)
    archived = count_archived(request.connection, which, up_to)
    by_status = {**counts.by_status, ARCHIVED: archived}
    if which.status != ARCHIVED:
        return replace(counts, by_status=by_status)
    matching = count_matching(request.connection, which, up_to)
    return replace(counts, by_status=by_status, matching=matching)


def every_run(request: PageRequest[RunsQuery]) -> Iterator[ListedRun]:
    """All runs that match the filter, newest first."""
    yield from list_runs(
        request.connection,
        request.reader,
        which=request.query.filter,
        up_to=request.as_of.events_up_to,
    )


def _row(
    run: ListedRun,
    holders: Mapping[str, list[str]],
    trends: Mapping[tuple[str, str], tuple[TrendPoint, ...]],
) -> RunRow:
    def model_of_run(result: ModelRate) -> ModelOfRun:
        trend = trends.get((run.experiment or "", result.model), ())
        return ModelOfRun(
            model=result.model,
            passed=build_pass_rate(result.sums, result.unscored),
            trend=trend,
            change=change_since_before(trend, run.run_number),
        )

    return RunRow(
        run=run,
        models=tuple(map(model_of_run, run.passed)),
        holders=tuple(holders.get(str(run.run_id), ())),
    )


PAGE = Page(
    name="runs",
    path="/runs",
    says="What ran, what runs, what failed: the runs, newest first.",
    read=read_runs,
    rows=every_run,
)
