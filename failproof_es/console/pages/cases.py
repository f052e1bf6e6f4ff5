"""`/cases`: the cases that are stored, of one suite or of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from pydantic import Field

from failproof_es.console.page import Asked, Page, PageModel, Rows
from failproof_es.console.pages.suites import need_rows, word
from failproof_es.console.paging import PagedQuery, Paging, one_page, read_cursor
from failproof_es.reading.overviews.asked_cases import StoredCase, count_cases, list_cases
from projections.protocol import visible


class CasesQuery(PagedQuery):
    """Which cases are listed."""

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
    paging: Paging


def read_cases(asked: Asked[CasesQuery]) -> CasesPage:
    """The page of cases that begins after the cursor."""
    need_rows(asked)
    query, connection = asked.query, asked.connection
    after = None if query.after is None else read_cursor(query.after, word, word, UUID)
    found = list_cases(
        connection,
        suite=query.suite,
        text=query.text,
        after=after,
        limit=query.limit + 1,
    )
    listed, following = one_page(
        found,
        query.limit,
        lambda each: (visible(each.case), visible(each.suite), each.prompt_id),
    )
    matching, total = count_cases(connection, suite=query.suite, text=query.text)
    return CasesPage(
        as_of=asked.standing,
        rows=listed,
        paging=Paging(
            limit=query.limit, shown=len(listed), matching=matching, total=total,
            first=query.after is None, next=following,
        ),
    )  # fmt: skip


def every_case(asked: Asked[CasesQuery]) -> Iterator[StoredCase]:
    """All cases of the filter."""
    need_rows(asked)
    return list_cases(asked.connection, suite=asked.query.suite, text=asked.query.text)


PAGE = Page(
    name="cases",
    path="/cases",
    says="The cases that are stored, of one suite or of all, by name.",
    query=CasesQuery,
    model=CasesPage,
    read=read_cases,
    rows=Rows(StoredCase, every_case),
)
