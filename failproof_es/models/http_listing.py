"""Reads a server's whole list of models, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from failproof_es.models.key_refusal import key_refusal
from failproof_es.problems import InvalidInput
from failproof_es.web.client import UNUSABLE, WholeReply, reason, timed_out

if TYPE_CHECKING:
    from failproof_es.models.http import HttpProvider

MOST_PAGES = 1_000
"""The most pages that are read: a list that goes on is an error."""


async def listed_models(provider: HttpProvider) -> list[str]:
    """The names in the server's list, without duplicates, in its order.

    Raises `InvalidInput` if the server can't be reached, refuses the key or has no list.
    """
    first = provider.listing()
    where, names, visited = first, list[str](), set[str]()
    while where not in visited and len(visited) < MOST_PAGES:
        visited.add(where)
        page = await _fetch_page(provider, where)
        try:
            names += provider.model_names(page.body)
            following = next_url(provider, page.body)
        except ValueError:
            raise InvalidInput.because(
                "no-model-list",
                f"{where} gives no list of models (HTTP {page.status})",
                remedy="is the base URL right? Not every server has such a list",
            ) from None
        if following is None:
            return list(dict.fromkeys(names))
        where = following
    raise InvalidInput.because(
        "limit-exceeded",
        f"the list of models at {first} does not end within {MOST_PAGES:,} pages",
        remedy="is the base URL right?",
    )


def next_url(provider: HttpProvider, listing: bytes) -> str | None:
    """The URL of the list's next page; `None` after the last page.

    Raises `ValueError` if the list goes on and does not say where.
    """
    first, following = provider.listing(), provider.next_page(listing)
    if following is None:
        return None
    return f"{first}{'&' if '?' in first else '?'}{urlencode(following)}"


async def _fetch_page(provider: HttpProvider, where: str) -> WholeReply:
    try:
        page = await provider.look_at(where)
    except UNUSABLE as error:
        cause = "no answer in time" if timed_out(error) else reason(error)
        raise InvalidInput.because(
            "server-unreachable",
            f"{where} cannot be reached: {cause}",
            remedy="is the base URL right?",
        ) from None
    if provider.refuses_key(page.status, page.body):
        raise key_refusal(provider, where, page.status)
    return page
