"""`/suites`: the cases of all runs."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.console.page import AllRows, Page, PageModel, PageRequest
from failproof_es.console.paging import PagedQuery, Paging, one_page, read_cursor
from failproof_es.reading.overviews.asked_cases import (
    AskedSuite,
    RowCount,
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
    after = None if query.after is None else str(read_cursor(query.after, word)[0])
    suites = list_suites(request.connection, after=after, limit=query.limit + 1)
    rows, following = one_page(suites, query.limit, lambda suite: (visible(suite.suite),))
    total = count_suites(request.connection)
    return SuitesPage(
        as_of=request.as_of,
        rows=rows,
        paging=Paging(
            limit=query.limit, shown=len(rows), first=query.after is None, next=following,
            **counts_shown(total, total),
        ),
    )  # fmt: skip


def every_suite(request: PageRequest[PagedQuery]) -> Iterator[AskedSuite]:
    """All suites."""
    request.need_projections()
    return list_suites(request.connection)


def counts_shown(matching: RowCount | None, total: RowCount) -> dict[str, int | None]:
    """Fields of `Paging` for the number of matching rows (if known) and of all rows."""
    return {
        "matching": None if matching is None or matching.more else matching.rows,
        "more_than": matching.rows if matching is not None and matching.more else None,
        "total": None if total.more else total.rows,
        "total_more_than": total.rows if total.more else None,
    }


def word(text: str) -> str:
    """A cursor's part for a text column. Raises `ValueError` for NUL and lone surrogates."""
    if "\x00" in text or (not text.isprintable() and any("\ud800" <= c <= "\udfff" for c in text)):
        raise ValueError
    return text


PAGE = Page(
    name="suites",
    path="/suites",
    says="What we ask: the suites, how many cases each has and which runs asked it.",
    query=PagedQuery,
    model=SuitesPage,
    read=read_suites,
    rows=AllRows(AskedSuite, every_suite),
)
