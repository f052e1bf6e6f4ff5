"""Parses a judge's reply: exactly the items asked, each with words that were really said.

What is wrong with the reply as a whole is a problem: the judge is asked again, and decides
nothing if it stays so. What is wrong with one item voids that item alone: the judge is asked
again (`void_items`), and if it stays so, says nothing about it. Nothing is repaired or guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failproof_es.dialects.kit.json_in_prose import Pairs, ReplyUnreadable, outermost_objects
from failproof_es.dialects.kit.judging.checklist import Item
from failproof_es.dialects.kit.judging.evidence import evidence
from failproof_es.dialects.kit.judging.prompt import Passage, token
from failproof_es.dialects.kit.judging.quotation import (
    Comparable,
    comparable,
    find_quotation,
    is_substantial,
)

NAME = "judging.verdicts"
VERSION = "2"

_LONGEST_SHOWN = 60


class _Unusable(Exception):
    """Why a whole reply decides nothing, in words."""


def read_verdicts(
    text: str, items: Sequence[Item], transcript: Sequence[Passage]
) -> tuple[dict[str, Any] | None, str | None]:
    """The verdict as JSON, or the problem: one of the two is `None`. Never raises.

    The verdict lists every item in order with `item`, `verdict`, `quote`, `turn` (the number,
    from 1, of the turn quoted) and `void`: the reason why the judge says nothing about it.
    """
    try:
        answered = _answered(_own_object(text, token(items, transcript)), items)
    except ReplyUnreadable as error:
        return None, f"{error.reason}: {error.message}"
    except _Unusable as error:
        return None, str(error)
    quotable = {
        number: comparable(evidence(each.text))
        for number, each in enumerate(transcript, 1)
        if each.judged
    }
    listed = [_read_item(item, answered.get(item.key, []), quotable) for item in items]
    if all(each["void"] for each in listed):
        reasons = "; ".join(f"{each['item']}: {each['void']}" for each in listed)
        return None, f"nothing_decided: {reasons}"
    return {"items": listed}, None


def void_items(verdict: Mapping[str, Any]) -> str | None:
    """The votes that a verdict lacks, with the reasons; `None` where it is whole."""
    void = [f"{each['item']}: {each['void']}" for each in verdict["items"] if each["void"]]
    return f"void_items: {'; '.join(void)}" if void else None


def _own_object(text: str, mark: str) -> Pairs:
    """The one object that was written for this transcript."""
    found = outermost_objects(text, ("items",))
    if not found:
        raise _Unusable("no_object: the reply holds no JSON object with items")
    own = [each for each in found if _values(each, "transcript") == [mark]]
    if not own:
        raise _Unusable("other_transcript: no object of the reply repeats the transcript's mark")
    if any(each != own[0] for each in own):
        raise _Unusable("contradicting_objects: the reply holds several verdicts that differ")
    return own[0]


def _answered(document: Pairs, items: Sequence[Item]) -> dict[str, list[Any]]:
    """What the object says, by item: everything, where an item stands more than once."""
    objects = _values(document, "items")
    if len(objects) != 1:
        raise _Unusable("contradicting_keys: items stands twice")
    if not isinstance(objects[0], Pairs):
        raise _Unusable("not_an_object: items is not an object")
    known = {item.key for item in items}
    answered: dict[str, list[Any]] = {}
    for key, value in objects[0]:
        if key not in known:
            raise _Unusable(f"unknown_item: not on the checklist: {_shown(key)}")
        answered.setdefault(key, []).append(value)
    return answered


def _read_item(
    item: Item, answers: Sequence[Any], quotable: Mapping[int, Comparable]
) -> dict[str, Any]:
    read: dict[str, Any] = {
        "item": item.key, "verdict": None, "quote": None, "turn": None, "void": None,
    }  # fmt: skip
    if len(answers) != 1:
        return {**read, "void": "answered more than once" if answers else "not answered"}
    if not isinstance(answers[0], Pairs):
        return {**read, "void": "the answer is not an object"}
    verdicts, quotes = _values(answers[0], "verdict"), _values(answers[0], "quote")
    quote = "" if quotes in ([], [None]) else quotes[0]
    words = item.words
    if len(verdicts) != 1 or len(quotes) > 1:
        return {**read, "void": "a key is missing or stands twice"}
    if not isinstance(quote, str) or not _encodable(quote):
        return {**read, "void": "the quotation is not a text"}
    if verdicts[0] not in (words.passes, words.fails):
        said = _shown(verdicts[0])
        return {**read, "void": f"says {said}, neither {words.passes} nor {words.fails}"}
    read |= {"verdict": verdicts[0], "quote": quote or None}
    return {**read, **_proven(str(verdicts[0]) in words.quoted, quote, quotable)}


def _proven(needed: bool, quote: str, quotable: Mapping[int, Comparable]) -> dict[str, Any]:
    """Where the quotation stands, or why the verdict rests on nothing."""
    if not quote.strip():
        return {"void": "quotes nothing"} if needed else {}
    texts = list(quotable.values())
    words = comparable(quote)
    index = find_quotation(words, texts)
    if index is None:
        return {"void": "the quotation does not stand in what the model said"}
    if needed and not is_substantial(words, texts):
        return {"void": "the quotation is too short to show anything"}
    return {"turn": list(quotable)[index]}


def _values(document: Pairs, name: str) -> list[Any]:
    return [value for key, value in document if key.lower() == name]


def _encodable(text: str) -> bool:
    """Whether the text is one: half a surrogate pair is no character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
