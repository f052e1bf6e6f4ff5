"""`/suites`: the cases of all runs."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import PagedQuery, Paging, one_page, word
from failproof_es.reading.overviews.asked_cases import (
    AskedSuite,
    count_suites,
    list_suites,
)
from projections.protocol import visible


class SuitesPage(PageModel):
    """The suites of one page, by name."""

    rows: tuple[AskedSuite, ...]
    paging: Paging


def read_suites(request: PageRequest[PagedQuery]) -> SuitesPage:
    """The page of suites that begins after the cursor."""
    request.need_projections()
    query = request.query
    (after,) = query.begin(word) or (None,)
    suites = list_suites(request.connection, after=after, limit=query.limit + 1)
    rows, following = one_page(suites, query.limit, lambda suite: (visible(suite.suite),))
    total = count_suites(request.connection)
    return SuitesPage(
        as_of=request.as_of,
        rows=rows,
        paging=query.paging(rows, following, matching=total, total=total),
    )


def every_suite(request: PageRequest[PagedQuery]) -> Iterator[AskedSuite]:
    """All suites."""
    request.need_projections()
    return list_suites(request.connection)


PAGE = Page(
    name="suites",
    path="/suites",
    says="What we ask: the suites, how many cases each has and which runs asked it.",
    read=read_suites,
    rows=every_suite,
)
