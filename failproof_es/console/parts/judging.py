"""Judges' verdicts on the items of a case's checklist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failproof_es.console.texts import Quotation
from failproof_es.dialects.kit.judging.checklist import (
    WORDS,
    Item,
    checklist,
)
from failproof_es.events.line import describe_verdict
from failproof_es.support.document import Document
from failproof_es.support.untrusted_text import shortened

_MOST_ITEMS = 200
_MOST_CHARACTERS = 600


class JudgedItem(Document):
    """A judge's verdict on one item."""

    item: str
    asks: str | None
    """The item's text; `None` where the case has no such item."""
    verdict: str
    """In words: `happened`, `did not happen`."""
    favourable: bool | None
    """Whether the verdict speaks for the model; `None` if it is none of the item's words."""
    quote: str | None
    found: str | None
    """The place of the quotation, as in `Quotation`; `None` without a quotation."""
    void: str | None
    """Why the verdict does not count; `None` if it does."""


def items_of(expectation: Mapping[str, Any]) -> dict[str, Item]:
    """The items of a case by their keys; none where its expectation is no checklist."""
    lists = [expectation.get(kind, ()) for kind in (*WORDS, "absences")]
    if not all(isinstance(members, list | tuple) for members in lists):
        return {}
    texts = {kind: [str(one) for one in expectation.get(kind, ())] for kind in (*WORDS, "absences")}
    return {item.key: item for item in checklist(texts)}


def judged_items(
    verdict: object, items: Mapping[str, Item], quotations: Sequence[Quotation]
) -> tuple[JudgedItem, ...]:
    """Verdicts by item from a judge's verdict; none where it has another shape."""
    verdict_items = verdict.get("items") if isinstance(verdict, dict) else None
    if not isinstance(verdict_items, list):
        return ()
    found_by_quote = {quotation.quote: quotation.found for quotation in quotations}
    shown_items = []
    for verdict_item in verdict_items[:_MOST_ITEMS]:
        if not isinstance(verdict_item, dict) or not isinstance(verdict_item.get("item"), str):
            return ()
        item_verdict = str(verdict_item.get("verdict") or "no verdict")
        quote = verdict_item.get("quote")
        quote = quote if isinstance(quote, str) and quote.strip() else None
        item, void = items.get(verdict_item["item"]), verdict_item.get("void")
        shown_items.append(
            JudgedItem(
                item=shortened(verdict_item["item"], _MOST_CHARACTERS),
                asks=None if item is None else shortened(item.text, _MOST_CHARACTERS),
                verdict=shortened(describe_verdict(item_verdict), _MOST_CHARACTERS),
                favourable=_favourable(item_verdict, item),
                quote=None if quote is None else shortened(quote, _MOST_CHARACTERS),
                found=None if quote is None else found_by_quote.get(quote, "not found"),
                void=shortened(void, _MOST_CHARACTERS) if isinstance(void, str) else None,
            )
        )
    return tuple(shown_items)


def _favourable(verdict: str, item: Item | None) -> bool | None:
    if item is None or verdict not in (item.words.passes, item.words.fails):
        return None
    return verdict == item.words.passes
