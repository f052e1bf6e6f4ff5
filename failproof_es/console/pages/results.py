"""`/runs/{run}/results`: the failed cases, and their common properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import PagedQuery, Paging, Query, integer
from failproof_es.core.run import Run
from failproof_es.reading.chosen_results import (
    ListedResult,
    ResultFilter,
    ResultKey,
    list_results,
    page_of_results,
)
from failproof_es.reading.given_reviews import GivenReview, reviews_by_evaluation
from failproof_es.reading.overviews.counted_results import (
    ResultNumbers,
    count_results,
    is_large,
    is_listed_by_severity,
)
from failproof_es.reading.overviews.facets import FacetValue, facets_of
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support.document import Document, json_name

_MOST_VALUES = 30
"""Most values of a facet."""
FACETS = (
    ("status", "Outcome"), ("model", "Model"), ("suite", "Suite"), ("category", "Category"),
    ("severity", "Severity"), ("class_", "Class"), ("tag", "Tag"), ("error", "Error"),
    ("latency", "Latency, ms"), ("cost", "Cost, $"), ("requests", "Requests"),
)  # fmt: skip
Word = Annotated[str | None, Field(max_length=2000)]
Ending = Literal[
    "failed", "lost", "unscored", "awaiting", "scored", "passed", "unfinished", "abandoned"
]


class ChosenResults(Query):
    """The choice of listed results, and the last event they may depend on."""

    status: Ending | None = Field(
        None, description="How they ended; `abandoned` is `lost` and `unscored`."
    )
    model: Word = None
    suite: Word = None
    category: Word = None
    severity: Word = None
    class_: Word = Field(None, description="The class of the answer.")
    tag: Word = None
    error: Word = Field(None, description="The kind of the error.")
    latency: Literal["0-500", "500-2000", "2000-10000", "10000-", "unknown"] | None = None
    cost: Literal["0-0.001", "0.001-0.01", "0.01-0.1", "0.1-", "unknown"] | None = None
    requests: Literal["0-1", "2", "3-5", "6-"] | None = None
    text: str | None = Field(
        None,
        max_length=300,
        description="In the case's id, title, description, turns or tags, the answer, the reason "
        "or the error; or an id.",
    )
    up_to: int | None = Field(
        None, ge=0, le=2**63 - 1, description="Only what had ended by this event of the log."
    )

    @property
    def filter(self) -> ResultFilter:
        """The filter, without the position."""
        return ResultFilter(
            **{field.name: getattr(self, field.name) for field in fields(ResultFilter)}
        )

    @property
    def link_parameters(self) -> dict[str, Any]:
        """Parameters that links to single results keep."""
        places = {"limit", "after", "column", "show"}
        return self.model_dump(mode="json", exclude_defaults=True, exclude=places)


class ResultsQuery(ChosenResults, PagedQuery):
    """The parameters of the list."""


class Facet(Document):
    """A field to choose results by, with its values, the most frequent first."""

    name: str
    says: str
    values: tuple[FacetValue, ...]
    more: int
    """Number of values that are not listed."""


class FilterPart(Document):
    """A part of the filter."""

    name: str
    says: str
    value: str


class ChosenOfRun(PageModel):
    """A page of chosen results of one run."""

    run_id: UUID
    run_number: int
    run_name: str
    run_status: str
    remarks: tuple[str, ...]
    """Remarks that qualify the numbers of the run."""
    up_to: int
    """Position up to which results are shown; later pages keep it."""
    unfinished: int
    newer: int
    """Number of results that ended after `up_to`."""
    chosen: tuple[FilterPart, ...]
    looked_at: int | None
    """Number of results searched, where that limit ended the page: the next one goes on."""
    paging: Paging


class ResultsPage(ChosenOfRun):
    """The results of one page, those that failed first, and the most severe of them first.

    In a large run results of one state are in the order in which they ended.
    """

    imported: bool
    """Whether another tool recorded the run: then nothing was asked or paid here."""
    planned: int
    repetitions: bool
    """Whether the run asks each case of a model more than once."""
    rows: tuple[ListedResult, ...]
    reviews: Mapping[UUID, tuple[GivenReview, ...]]
    """By the id of a listed evaluation, the last review of each person."""
    facets: tuple[Facet, ...]
    counted: bool
    """Whether all facet values are counted; in large runs, those that need a scan are not."""


def read_results(request: PageRequest[ResultsQuery]) -> ResultsPage:
    """The page of results that begins after the cursor."""
    query, connection = request.query, request.connection
    run_id = run_of_results(request)
    run = request.reader.run(run_id)
    up_to = position_of_results(request)
    planned = run.started.planned_evaluations
    page = page_of_results(
        connection,
        run_id,
        query.filter,
        up_to=up_to,
        after=begin_of_results(query),
        limit=query.limit,
        by_severity=is_listed_by_severity(planned),
    )
    numbers = count_results(connection, run_id, query.filter, up_to=up_to, planned=planned)
    facets = facets_of(
        connection, run_id, query.filter, up_to=up_to, planned=planned, newer=numbers.newer
    )
    return ResultsPage(
        **facts_of_choice(request, run, numbers),
        imported=run.imported is not None,
        planned=planned,
        repetitions=repetitions_of(run.started) > 1,
        rows=page.rows,
        reviews=reviews_by_evaluation(
            connection, [row.evaluation_id for row in page.rows], up_to=up_to
        ),
        looked_at=page.looked_at,
        paging=query.paging(
            page.rows,
            page.following,
            matching=numbers.matching,
            total=numbers.total + (numbers.unfinished if query.status == "unfinished" else 0),
        ),
        facets=tuple(
            Facet(
                name=json_name(name),
                says=says,
                values=facets[name][:_MOST_VALUES],
                more=max(len(facets[name]) - _MOST_VALUES, 0),
            )
            for name, says in FACETS
            if any(facet_value.value is not None for facet_value in facets.get(name, ()))
        ),
        counted=not is_large(planned),
    )


def facts_of_choice(request: PageRequest[Any], run: Run, numbers: ResultNumbers) -> dict[str, Any]:
    """Fields of `ChosenOfRun` that do not depend on the rows of the page."""
    return {
        "as_of": request.as_of,
        "run_id": run.started.originator_id,
        "run_number": run.started.run_number,
        "run_name": run.started.name,
        "run_status": run.status,
        "remarks": request.remarks_on(run),
        "up_to": position_of_results(request),
        "unfinished": numbers.unfinished,
        "newer": numbers.newer,
        "chosen": tuple(chosen_of(request.query)),
    }


def chosen_of(query: ChosenResults) -> Iterator[FilterPart]:
    """The parts of the filter, to be shown and removed one by one."""
    for name, says in (*FACETS, ("text", "Words")):
        if (value := getattr(query, name)) is not None:
            yield FilterPart(name=json_name(name), says=says.partition(",")[0], value=value)


def every_result(request: PageRequest[ResultsQuery]) -> Iterator[ListedResult]:
    """All results that match the filter, in the order of the list."""
    run_id = run_of_results(request)
    yield from list_results(
        request.connection,
        run_id,
        request.query.filter,
        up_to=position_of_results(request),
        by_severity=is_listed_by_severity(request.reader.run(run_id).started.planned_evaluations),
    )


def run_of_results(request: PageRequest[Any]) -> UUID:
    """The run that the path names. Raises `NoProjections` without usable ones."""
    run_id = resolve_run(request.connection, request.path["run"])
    request.need_projections("`failproof-es results` reads the log.")
    return run_id


def position_of_results(request: PageRequest[Any]) -> int:
    """The position of the log up to which results are listed."""
    reached = request.as_of.events_up_to
    return reached if request.query.up_to is None else min(request.query.up_to, reached)


def begin_of_results(query: PagedQuery) -> ResultKey | None:
    """The key after which a page of results begins. Raises `BadParameter`."""
    key = query.begin(_rank, integer, UUID, _rank)
    return None if key is None else ResultKey(*key)


def _rank(text: str) -> int:
    return ("0", "1", "2", "3", "4", "5", "6").index(text)


PAGE = Page(
    name="results",
    path="/runs/{run}/results",
    word="Results",
    says="Which cases of a run failed: its results, those that need attention first.",
    read=read_results,
    rows=every_result,
)
