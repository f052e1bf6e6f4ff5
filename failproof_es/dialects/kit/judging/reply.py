"""Parses a judge's reply: exactly the items asked, each with a quotation from the transcript.

A defect of the reply as a whole is a problem: the judge is asked again, and decides nothing if the
problem remains. A defect of one item voids that item alone: the judge is asked again
(`void_items`), and its vote on the item is missing if the defect remains. Nothing is repaired or
guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from failproof_es.dialects.kit.json_in_prose import Pairs, ReplyUnreadable
from failproof_es.dialects.kit.json_objects import has_utf8_form
from failproof_es.dialects.kit.judging.calls import lacks_call
from failproof_es.dialects.kit.judging.checklist import Item
from failproof_es.dialects.kit.judging.decision import ADDRESSED, ECHOED, UNCALLED
from failproof_es.dialects.kit.judging.evidence import evidence
from failproof_es.dialects.kit.judging.own_verdicts import dictated_passes
from failproof_es.dialects.kit.judging.prompt import Passage, token
from failproof_es.dialects.kit.judging.quotable import JudgeDirected, Quotable, quotable
from failproof_es.dialects.kit.judging.quotation import Unproved
from failproof_es.dialects.kit.judging.verdict_object import (
    MARK,
    UnusableVerdict,
    own_object,
    refuse_further_keys,
    shorten_value,
    values,
)

NAME = "judging.verdicts"
VERSION = "4"

NOTHING_DECIDED = "nothing_decided"
"""The problem of a reply whose verdicts on all items are void."""
_ANSWER_KEYS = ("verdict", "quote")


def read_verdicts(
    text: str, items: Sequence[Item], transcript: Sequence[Passage], tools: Sequence[str] = ()
) -> tuple[dict[str, Any] | None, str | None]:
    """The verdict as JSON, or the problem: one of the two is `None`. Never raises.

    The verdict lists every item in order with `item`, `verdict`, `quote`, `turn` (the number, from
    1, of the turn quoted) and `void`: the reason why the verdict on the item does not count, `None`
    if it does. It is a problem if no verdict counts. `tools` are the names that the model may call.
    """
    try:
        document, around = own_object(text, token(items, transcript), "items")
        answered = _answers_by_item(document, items)
        further = Pairs([*around, *document, *_further_members(answered)])
        refuse_further_keys(further, (MARK, "items"), _passes(answered, items))
    except ReplyUnreadable as error:
        return None, f"{error.reason}: {error.message}"
    except UnusableVerdict as error:
        return None, str(error)
    record = _Record.of(items, transcript, tools)
    item_verdicts = [_read_item(item, answered.get(item.key, []), record) for item in items]
    if all(item_verdict["void"] for item_verdict in item_verdicts):
        return None, f"{NOTHING_DECIDED}: {_describe_void(item_verdicts)}"
    return {"items": item_verdicts}, None


def void_items(verdict: Mapping[str, Any]) -> str | None:
    """The items whose verdict does not count, with the reasons; `None` if all count.

    `verdict` is the result of `read_verdicts`.
    """
    void = _describe_void(verdict["items"])
    return f"void_items: {void}" if void else None


def _describe_void(item_verdicts: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(
        f"{item_verdict['item']}: {item_verdict['void']}"
        for item_verdict in item_verdicts
        if item_verdict["void"]
    )


def _answers_by_item(document: Pairs, items: Sequence[Item]) -> dict[str, list[Any]]:
    """The answers by item; several if an item is repeated.

    Raises `UnusableVerdict` if `document` has no single object `items`, an unknown item, or two
    different answers on one.
    """
    objects = values(document, "items")
    if len(objects) != 1:
        raise UnusableVerdict("contradicting_keys: items stands twice")
    if not isinstance(objects[0], Pairs):
        raise UnusableVerdict("not_an_object: items is not an object")
    item_keys = {item.key for item in items}
    answered: dict[str, list[Any]] = {}
    for key, value in objects[0]:
        if key not in item_keys:
            raise UnusableVerdict(f"unknown_item: not on the checklist: {shorten_value(key)}")
        answered.setdefault(key, []).append(value)
    for key, several in answered.items():
        if any(answer != several[0] for answer in several):
            raise UnusableVerdict(f"contradicting_keys: {key} is answered twice, differently")
    return answered


def _further_members(answered: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """The members of the items' answers other than verdict and quotation.

    `answered` are the answers by item key.
    """
    for answers in answered.values():
        if isinstance(answers[0], Pairs):
            yield from (member for member in answers[0] if member[0].lower() not in _ANSWER_KEYS)


def _passes(answered: Mapping[str, Sequence[Any]], items: Sequence[Item]) -> bool | None:
    """Whether all verdicts pass, proved or not; `False` if one fails.

    `None` if none fails and one is missing. `answered` are the answers by item key.
    """
    words = [
        values(answers[0], "verdict") if isinstance(answers[0], Pairs) else []
        for item in items
        for answers in [answered.get(item.key, [None])]
    ]
    if any(word == [item.words.fails] for item, word in zip(items, words, strict=True)):
        return False
    return True if all(w == [i.words.passes] for i, w in zip(items, words, strict=True)) else None


@dataclass(frozen=True, slots=True)
class _Record:
    """The facts about the transcript that a judge's verdict is checked against."""

    quotable: Quotable
    turns: Sequence[int]
    """The turn number of each quotable text."""
    dictated: Mapping[str, bool]
    """Whether the model under test gave itself the passing verdict, by item key."""
    uncalled: frozenset[str]
    """The keys of items about a call that was not made."""

    @classmethod
    def of(
        cls, items: Sequence[Item], transcript: Sequence[Passage], tools: Sequence[str]
    ) -> _Record:
        """The facts in a transcript; `tools` are the names that the model may call."""
        judged = [(n, passage) for n, passage in enumerate(transcript, 1) if passage.judged]
        context = [passage.text for passage in transcript if not passage.judged]
        case_text = "\n".join([*(item.text for item in items), *context])
        parts = [(n, text, m > 0) for n, passage in judged for m, text in enumerate(passage.parts)]
        texts = [text for _, text, _ in parts]
        own = [evidence(text, case_text, is_call=is_call) for _, text, is_call in parts]
        made = [call for _, passage in judged for call in passage.calls]
        return cls(
            quotable(texts, own),
            [number for number, _, _ in parts],
            dictated_passes(items, texts, case_text),
            frozenset(item.key for item in items if lacks_call(item.text, tools, made)),
        )


def _read_item(item: Item, answers: Sequence[Any], record: _Record) -> dict[str, Any]:
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
    if not isinstance(quote, str) or not has_utf8_form(quote):
        return {**read, "void": "the quotation is not a text"}
    if verdicts[0] not in (words.passes, words.fails):
        verdict_text = shorten_value(verdicts[0])
        return {**read, "void": f"says {verdict_text}, neither {words.passes} nor {words.fails}"}
    read |= {"verdict": verdicts[0], "quote": quote or None}
    return {**read, **_check_proof(item, verdicts[0], quote, record)}


def _check_proof(item: Item, verdict: str, quote: str, record: _Record) -> dict[str, Any]:
    """`turn`, the number of the turn with the quotation, or `void`, why the verdict does not count.

    Empty for a verdict that needs no quotation and has none.
    """
    in_favour, needed = verdict == item.words.passes, verdict in item.words.quoted
    if in_favour and not needed and record.dictated[item.key]:
        return {"void": f"{ECHOED}: the model under test gives itself this verdict"}
    if in_favour and needed and item.key in record.uncalled:
        return {"void": f"{UNCALLED}: the item is about a tool call, and none is on record"}
    if not needed and not quote.strip():
        return {}
    try:
        index = record.quotable.locate(quote, in_favour=in_favour, is_proof=needed)
    except JudgeDirected as error:
        return {"void": f"{ADDRESSED}: {error}"}
    except Unproved as error:
        return {"void": str(error)}
    return {"turn": record.turns[index]}
