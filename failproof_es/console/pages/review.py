"""`/review`: the evaluations that wait for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import PagedQuery, Paging, integer
from failproof_es.reading.overviews.review_queue import (
    OPEN,
    LeftToPeople,
    RunReviews,
    State,
    list_left_to_people,
    page_of_queue,
    reviews_by_run,
)
from failproof_es.support.document import Document

_EVERY: tuple[State, ...] = ("awaiting", "disputed", "unclear", "pass", "fail")
_BIGGEST = 2**63 - 1
_MOST_RUNS = 50


class ReviewQuery(PagedQuery):
    """The choice of listed evaluations among those left to people."""

    state: Literal["open", "awaiting", "disputed", "unclear", "pass", "fail", "all"] = Field(
        "open", description="`open`: awaiting, disputed and unclear."
    )
    run: Annotated[int, Field(ge=1, le=_BIGGEST)] | Literal[""] | None = Field(
        None, description="Of the run with this number."
    )

    @property
    def states(self) -> tuple[State, ...]:
        """The states of the filter."""
        if self.state == "open":
            return OPEN
        return _EVERY if self.state == "all" else (self.state,)


class StateCount(Document):
    """Number of evaluations of the chosen runs in one state."""

    state: str
    evaluations: int


class RunQueue(Document):
    """A run that left something to people, and the command to review it."""

    reviews: RunReviews
    open: int
    command: str


class ReviewPage(PageModel):
    """Evaluations that were left to people, the longest waiting first."""

    rows: tuple[LeftToPeople, ...]
    looked_at: int | None
    """Number of evaluations searched, where that limit ended the page: the next one goes on."""
    paging: Paging
    states: tuple[StateCount, ...]
    runs: tuple[RunQueue, ...]
    """The newest runs in which something is open."""
    more_runs: int


def read_review(request: PageRequest[ReviewQuery]) -> ReviewPage:
    """The page of the queue that begins after the cursor."""
    request.need_projections()
    query, connection = request.query, request.connection
    (after,) = query.begin(integer) or (0,)
    page = page_of_queue(
        connection, query.states, run_number=query.run or None, after=after, limit=query.limit
    )
    runs = reviews_by_run(connection)
    matching_runs = [run for run in runs if (query.run or None) in (None, run.run_number)]
    counts = {state: sum(run.states.get(state, 0) for run in matching_runs) for state in _EVERY}
    waiting = [run for run in runs if run.open]
    return ReviewPage(
        as_of=request.as_of,
        rows=page.rows,
        looked_at=page.looked_at,
        paging=query.paging(
            page.rows,
            None if page.following is None else (page.following,),
            matching=sum(counts[state] for state in query.states),
            total=sum(sum(run.states.values()) for run in runs),
        ),
        states=(
            StateCount(state="open", evaluations=sum(counts[state] for state in OPEN)),
            *(StateCount(state=state, evaluations=count) for state, count in counts.items()),
        ),
        runs=tuple(
            RunQueue(
                reviews=run,
                open=run.open,
                command=f"failproof-es review {run.run_number} --only unscored",
            )
            for run in waiting[:_MOST_RUNS]
        ),
        more_runs=max(len(waiting) - _MOST_RUNS, 0),
    )


def every_one(request: PageRequest[ReviewQuery]) -> Iterator[LeftToPeople]:
    """All evaluations that match the filter."""
    request.need_projections()
    query = request.query
    return list_left_to_people(request.connection, query.states, run_number=query.run or None)


PAGE = Page(
    name="review",
    path="/review",
    says="What needs a person: evaluations that only people can judge, and the command for it.",
    read=read_review,
    rows=every_one,
)
