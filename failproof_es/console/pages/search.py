"""`/search`: a run, case, evaluation, event, digest, request id, words in answers and cases."""

from __future__ import annotations

from pydantic import Field

from failproof_es.console.links import to
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import Query
from failproof_es.reading.search import Hit, ScanExtent, search
from failproof_es.support.document import Document


class SearchQuery(Query):
    """The text to search for."""

    q: str | None = Field(
        None,
        max_length=300,
        description="A number, a name, an id, a digest or words. `run 12` means run 12 alone.",
    )


class HitShown(Document):
    """A search hit, and the URL of its page."""

    hit: Hit
    url: str


class SearchPage(PageModel):
    """Search hits, exact matches first, and the limits of the unindexed scans."""

    q: str | None
    hits: tuple[HitShown, ...]
    looked: tuple[ScanExtent, ...]
    only: str | None
    """URL of the single thing that the whole query names; `None` if there is none."""

    @property
    def moved_to(self) -> str | None:
        """The URL of a single exact hit, which is shown at once."""
        return self.only


def read_search(request: PageRequest[SearchQuery]) -> SearchPage:
    """The hits of the query."""
    text = request.query.q
    projected = request.as_of.source == "projections"
    result = search(request.connection, text or "", projected=projected)
    return SearchPage(
        as_of=request.as_of,
        q=text,
        hits=tuple(HitShown(hit=hit, url=_url(hit)) for hit in result.hits),
        looked=tuple(result.looked),
        only=None if result.only is None else _url(result.only),
    )


def _url(hit: Hit) -> str:
    """URL of a hit's page; of the stream of its events where it has no page."""
    has_page = hit.kind in ("run", "event", "evaluation", "case")
    return to(f"{hit.kind}s" if has_page else "streams", hit.id)


PAGE = Page(
    name="search",
    path="/search",
    says="What a number, a name, an id, a digest or a few words name.",
    read=read_search,
    # It finds nothing, so it scans as far as a search can.
    warming=SearchQuery(q="words-that-no-answer-has"),
)
