"""The expectations of a case beside the answer, and judges' verdicts on its checklist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from failproof_es.console.texts import Quotation, TextShown, compared_texts, text_shown
from failproof_es.core.case import Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.expectations import expectations_of
from failproof_es.dialects.kit.judging.checklist import WORDS, Item, checklist
from failproof_es.dialects.protocol import Expectation
from failproof_es.events.line import describe_verdict
from failproof_es.support.document import Document
from failproof_es.support.untrusted_text import shortened

_MOST_ITEMS = 200
_MOST_CHARACTERS = 600
_LONGEST_SUMMARY = 1_000
_NOTHING_CAME = EvaluationOutcome(
    evaluation_id=UUID(int=0), run_id=UUID(int=0), prompt_id=UUID(int=0), model_key="", repetition=1
)
_ORDER = (False, None, True)
"""The order of expectations by `met`."""


class ExpectationShown(Document):
    """One expectation of a case, and the actual counterpart in the answer."""

    expected: TextShown
    got: TextShown | None
    """`None` without an answer."""
    met: bool | None
    """`None` if nothing decided that."""


def shown_expectations(case: Case, outcome: EvaluationOutcome) -> tuple[ExpectationShown, ...]:
    """The expectations of the case: unmet ones first, then undecided ones."""
    stated = expectations_of(case, outcome)
    return tuple(map(_shown_expectation, sorted(stated, key=lambda one: _ORDER.index(one.met))))


def _shown_expectation(one: Expectation) -> ExpectationShown:
    if one.got is None:
        return ExpectationShown(expected=text_shown(one.expected, None), got=None, met=one.met)
    expected, got = compared_texts(one.expected, one.got, None if one.met else one.text)
    return ExpectationShown(expected=expected, got=got, met=one.met)


def expected_of(case: Case) -> str:
    """The expectations of the case as one text, shortened; independent of the answer.

    Of a checklist only the items: what every answer must be, such as one in the language of the
    case, contradicts none of them, but reads so beside `Declines`.
    """
    stated = expectations_of(case, _NOTHING_CAME)
    items = len(items_of(case.expectation))
    texts = [one.expected.removesuffix(".") for one in (stated[:items] if items else stated)]
    return "; ".join(texts)[:_LONGEST_SUMMARY]


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
