"""`/cases`: the cases that are stored, of one suite or of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast
from uuid import UUID

from pydantic import Field

from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import PagedQuery, Paging, word
from failproof_es.reading.overviews.asked_cases import (
    StoredCase,
    count_cases,
    list_cases,
    page_of_cases,
)


class CasesQuery(PagedQuery):
    """The choice of listed cases."""

    suite: str | None = Field(None, max_length=1000, description="The suite that the case is of.")
    text: str | None = Field(
        None,
        max_length=300,
        description="A part of the case's name in any case, or how its id begins.",
    )


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
    page = page_of_cases(
        connection,
        suite=query.suite,
        text=query.text,
        after=cast(tuple[str, str, UUID] | None, query.begin(word, word, UUID)),
        limit=query.limit,
    )
    matching, total = count_cases(connection, suite=query.suite, text=query.text)
    return CasesPage(
        as_of=request.as_of,
        rows=page.rows,
        looked_at=page.looked_at,
        paging=query.paging(page.rows, page.following, matching=matching, total=total),
    )


def every_case(request: PageRequest[CasesQuery]) -> Iterator[StoredCase]:
    """All cases that match the filter."""
    request.need_projections()
    return list_cases(request.connection, suite=request.query.suite, text=request.query.text)


PAGE = Page(
    name="cases",
    path="/cases",
    says="The cases that are stored, of one suite or of all, by name.",
    read=read_cases,
    rows=every_case,
)
