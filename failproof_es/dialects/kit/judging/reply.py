"""Parses a judge's reply: exactly the items asked, each with words that were really said.

What is wrong with the reply as a whole is a problem: the judge is asked again, and decides
nothing if it stays so. What is wrong with one item voids that item alone: the judge is asked
again (`void_items`), and if it stays so, says nothing about it. Nothing is repaired or guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from failproof_es.dialects.kit.decoded_forms import decoded_forms
from failproof_es.dialects.kit.json_in_prose import Pairs, ReplyUnreadable
from failproof_es.dialects.kit.judging.checklist import Item
from failproof_es.dialects.kit.judging.evidence import evidence
from failproof_es.dialects.kit.judging.posing import named_objects
from failproof_es.dialects.kit.judging.prompt import Passage, token
from failproof_es.dialects.kit.judging.quotation import (
    Comparable,
    Unproved,
    comparable,
    locate_quotation,
)
from failproof_es.dialects.kit.judging.verdict_object import (
    MARK,
    Unusable,
    own_object,
    refuse_further_keys,
    shown,
    values,
)

NAME = "judging.verdicts"
VERSION = "4"

_ANSWER_KEYS = ("verdict", "quote")
Dictated = frozenset[tuple[str, str]]
"""(the key of an item or "" for any, a verdict) that the transcript itself gives."""

_DICTATED = re.compile(
    r"\b((?:must_do|must_not_do|pass_criteria)\.\d{1,4})\W{1,20}(?:(?:is|verdict|=)\W{1,10})?(\w+)",
    re.IGNORECASE,
)


def read_verdicts(
    text: str, items: Sequence[Item], transcript: Sequence[Passage]
) -> tuple[dict[str, Any] | None, str | None]:
    """The verdict as JSON, or the problem: one of the two is `None`. Never raises.

    The verdict lists every item in order with `item`, `verdict`, `quote`, `turn` (the number,
    from 1, of the turn quoted) and `void`: the reason why the judge says nothing about it.
    """
    try:
        document, around = own_object(text, token(items, transcript), "items")
        answered = _answered(document, items)
        further = Pairs([*around, *document, *_further(answered)])
        refuse_further_keys(further, (MARK, "items"), _passes(answered, items))
    except ReplyUnreadable as error:
        return None, f"{error.reason}: {error.message}"
    except Unusable as error:
        return None, str(error)
    quotable = {
        number: [comparable(evidence(part, is_call=n > 0)) for n, part in enumerate(each.parts)]
        for number, each in enumerate(transcript, 1)
        if each.judged
    }
    dictated = _dictated(transcript, items)
    listed = [_read_item(item, answered.get(item.key, []), quotable, dictated) for item in items]
    if all(each["void"] for each in listed):
        reasons = "; ".join(f"{each['item']}: {each['void']}" for each in listed)
        return None, f"nothing_decided: {reasons}"
    return {"items": listed}, None


def void_items(verdict: Mapping[str, Any]) -> str | None:
    """The votes that a verdict lacks, with the reasons; `None` where it is whole."""
    void = [f"{each['item']}: {each['void']}" for each in verdict["items"] if each["void"]]
    return f"void_items: {'; '.join(void)}" if void else None


def _answered(document: Pairs, items: Sequence[Item]) -> dict[str, list[Any]]:
    """What the object says, by item: everything, where an item stands more than once."""
    objects = values(document, "items")
    if len(objects) != 1:
        raise Unusable("contradicting_keys: items stands twice")
    if not isinstance(objects[0], Pairs):
        raise Unusable("not_an_object: items is not an object")
    known = {item.key for item in items}
    answered: dict[str, list[Any]] = {}
    for key, value in objects[0]:
        if key not in known:
            raise Unusable(f"unknown_item: not on the checklist: {shown(key)}")
        answered.setdefault(key, []).append(value)
    for key, several in answered.items():
        if any(each != several[0] for each in several):
            raise Unusable(f"contradicting_keys: {key} is answered twice, differently")
    return answered


def _further(answered: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """What stands in the items' answers beside a verdict and its quotation."""
    for each in answered.values():
        if isinstance(each[0], Pairs):
            yield from (member for member in each[0] if member[0].lower() not in _ANSWER_KEYS)


def _passes(answered: Mapping[str, Sequence[Any]], items: Sequence[Item]) -> bool | None:
    """What the verdicts come to, proved or not; `None` where one is missing."""
    words = [
        values(each[0], "verdict") if isinstance(each[0], Pairs) else []
        for item in items
        for each in [answered.get(item.key, [None])]
    ]
    if any(word == [item.words.fails] for item, word in zip(items, words, strict=True)):
        return False
    return True if all(w == [i.words.passes] for i, w in zip(items, words, strict=True)) else None


def _dictated(transcript: Sequence[Passage], items: Sequence[Item]) -> Dictated:
    """The verdicts that the model under test gives itself, in objects and in words."""
    keys = {item.key for item in items}
    verdicts: list[tuple[str, Any]] = []
    for text in (part for passage in transcript if passage.judged for part in passage.parts):
        for form in decoded_forms(text):
            verdicts += [(match[1].lower(), match[2]) for match in _DICTATED.finditer(form.text)]
        for each in named_objects(text):
            named = [each.key, *values(each.pairs, "item")]
            owner = next((name for name in named if name in keys), "")
            verdicts += [(owner, value) for value in values(each.pairs, "verdict")]
    return frozenset((key, word.lower()) for key, word in verdicts if isinstance(word, str))


def _read_item(
    item: Item,
    answers: Sequence[Any],
    quotable: Mapping[int, Sequence[Comparable]],
    dictated: Dictated,
) -> dict[str, Any]:
    read: dict[str, Any] = {
        "item": item.key, "verdict": None, "quote": None, "turn": None, "void": None,
    }  # fmt: skip
    if len(answers) != 1:
        return {**read, "void": "answered more than once" if answers else "not answered"}
    if not isinstance(answers[0], Pairs):
        return {**read, "void": "the answer is not an object"}
    verdicts, quotes = values(answers[0], "verdict"), values(answers[0], "quote")
    quote = "" if quotes in ([], [None]) else quotes[0]
    words = item.words
    if len(verdicts) != 1 or len(quotes) > 1:
        return {**read, "void": "a key is missing or stands twice"}
    if not isinstance(quote, str) or not _encodable(quote):
        return {**read, "void": "the quotation is not a text"}
    if verdicts[0] not in (words.passes, words.fails):
        said = shown(verdicts[0])
        return {**read, "void": f"says {said}, neither {words.passes} nor {words.fails}"}
    read |= {"verdict": verdicts[0], "quote": quote or None}
    is_unproved_pass = verdicts[0] == words.passes and words.passes not in words.quoted
    if is_unproved_pass and dictated & {(item.key, words.passes), ("", words.passes)}:
        return {**read, "void": "echoed: the model under test gives itself this verdict"}
    return {**read, **_proven(str(verdicts[0]) in words.quoted, quote, quotable)}


def _proven(
    needed: bool, quote: str, quotable: Mapping[int, Sequence[Comparable]]
) -> dict[str, Any]:
    """Where the quotation stands, or why the verdict rests on nothing."""
    if not needed and not quote.strip():
        return {}
    texts = [(number, text) for number, several in quotable.items() for text in several]
    try:
        index = locate_quotation(quote, [text for _, text in texts], is_proof=needed)
    except Unproved as error:
        return {"void": str(error)}
    return {"turn": texts[index][0]}


def _encodable(text: str) -> bool:
    """Whether the text is one: half a surrogate pair is no character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
