"""`/search`: a run, a case, an evaluation, an event, a digest, a request id, words in answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from failproof_es.console.links import to
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.pages import all_pages
from failproof_es.console.paging import Query
from failproof_es.reading.search import Hit, ScanExtent, search
from failproof_es.support.document import Document


class SearchQuery(Query):
    """What is looked for."""

    q: Annotated[
        str | None,
        Field(
            max_length=300,
            description="A number, a name, an id, a digest or words. `run 12` means run 12 alone.",
        ),
    ] = None


class HitShown(Document):
    """What was found, and where it is shown."""

    hit: Hit
    url: str


class SearchPage(PageModel):
    """What was found, exact hits first, and how far was looked for what has no index."""

    q: str | None
    hits: tuple[HitShown, ...]
    looked: tuple[ScanExtent, ...]
    only: str | None
    """The URL of the one thing that the whole query names."""

    @property
    def moved_to(self) -> str | None:
        """One exact hit is shown at once."""
        return self.only


def read_search(request: PageRequest[SearchQuery]) -> SearchPage:
    """What the query names."""
    text = request.query.q
    projected = request.standing.source == "projections"
    result = search(request.connection, text or "", projected=projected)
    pages = {page.name for page in all_pages()}
    return SearchPage(
        as_of=request.standing,
        q=text,
        hits=tuple(HitShown(hit=hit, url=_url(hit, pages)) for hit in result.hits),
        looked=tuple(result.looked),
        only=None if result.only is None else _url(result.only, pages),
    )


def _url(hit: Hit, pages: set[str]) -> str:
    """The page of a hit; the stream of its events where there is none."""
    match hit.kind:
        case "run":
            return to("runs", hit.id)
        case "event":
            return to("events", hit.id)
        case "evaluation" | "case" if hit.kind in pages:
            return to(f"{hit.kind}s", hit.id)
        case _:
            return to("streams", hit.id)


PAGE = Page(
    name="search",
    path="/search",
    says="What a number, a name, an id, a digest or a few words name.",
    query=SearchQuery,
    model=SearchPage,
    read=read_search,
    warming=SearchQuery(q="words-that-no-answer-has"),  # it looks as far as a search can
)
