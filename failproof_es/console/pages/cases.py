"""`/cases`: the cases that are stored, of one suite or of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from pydantic import Field

from failproof_es.console.page import AllRows, Page, PageModel, PageRequest
from failproof_es.console.pages.suites import counts_shown, word
from failproof_es.console.paging import PagedQuery, Paging, cursor, read_cursor
from failproof_es.reading.overviews.asked_cases import (
    StoredCase,
    count_cases,
    list_cases,
    page_of_cases,
)


class CasesQuery(PagedQuery):
    """The choice of listed cases."""

    suite: Annotated[
        str | None, Field(max_length=1000, description="The suite that the case is of.")
    ] = None
    text: Annotated[
        str | None,
        Field(
            max_length=300,
            description="A part of the case's name in any case, or how its id begins.",
        ),
    ] = None


class CasesPage(PageModel):
    """The cases of one page, by name."""

    rows: tuple[StoredCase, ...]
    looked_at: int | None
    """Number of cases searched, where that limit ended the page: the next one goes on."""
    paging: Paging


def read_cases(request: PageRequest[CasesQuery]) -> CasesPage:
    """The page of cases that begins after the cursor."""
    request.need_projections()
    query, connection = request.query, request.connection
    after = None if query.after is None else read_cursor(query.after, word, word, UUID)
    page = page_of_cases(
        connection, suite=query.suite, text=query.text, after=after, limit=query.limit
    )
    counted = count_cases(connection, suite=query.suite, text=query.text)
    return CasesPage(
        as_of=request.as_of,
        rows=page.rows,
        looked_at=page.looked_at,
        paging=Paging(
            limit=query.limit, shown=len(page.rows), first=query.after is None,
            next=None if page.following is None else cursor(*page.following),
            **counts_shown(*counted),
        ),
    )  # fmt: skip


def every_case(request: PageRequest[CasesQuery]) -> Iterator[StoredCase]:
    """All cases that match the filter."""
    request.need_projections()
    return list_cases(request.connection, suite=request.query.suite, text=request.query.text)


PAGE = Page(
    name="cases",
    path="/cases",
    says="The cases that are stored, of one suite or of all, by name.",
    query=CasesQuery,
    model=CasesPage,
    read=read_cases,
    rows=AllRows(StoredCase, every_case),
)
