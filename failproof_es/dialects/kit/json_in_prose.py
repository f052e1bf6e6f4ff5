"""Finds the requested JSON objects in a model's reply. Pure; nothing is invented.

Real models write fences, prose, a leading `<think>` block, wrapping objects and a comma after the
last member: all these are accepted, and nothing else is repaired. A brace that seems to open an
object and doesn't decode makes the whole reply unreadable, because its content can't be told from a
quotation: in `{"reason": "it says {"score": 0, ...` the inner object is the graded text's, not the
model's. Only after a complete object does such a brace count as prose, and only if no later text
could be another object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Literal

from failproof_es.core.thoughts import split_thoughts
from failproof_es.dialects.kit.json_objects import BrokenObject, JsonObject, Objects
from failproof_es.dialects.kit.json_objects import Pairs as Pairs

Unreadable = Literal[
    "empty",  # nothing but white space
    "unfinished_thinking",  # a `<think>` block without an end
    "truncated_json",  # the text ends inside an object
    "malformed_json",  # an object that is not JSON
]

_HARMLESS = re.compile(r"""\{\{?[^{}:"']*\}\}?""")
"""Braces in prose, such as `{T, I, F}` or `{{name}}`: no key and no quotation inside."""
_AFTER_THE_END = " \t\r\n`"
_MOST_LEVELS = 500
"""Deeper objects are refused: comparing or printing one would need as deep a stack."""


class ReplyUnreadable(Exception):
    """The error that a reply can't be read.

    `reason` is a name for programs, `message` a sentence for people.
    """

    def __init__(self, reason: Unreadable, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def outermost_objects(text: str, keys: Collection[str]) -> list[Pairs]:
    """The outermost objects that have one of `keys` (in upper or lower case), in order.

    Empty if the reply has none. Raises `ReplyUnreadable` if `text` is blank, its opening thoughts
    are never closed, or an object in it does not decode.
    """
    lower_keys = frozenset(key.lower() for key in keys)
    return [
        pairs
        for whole in whole_objects(text, keys)
        for pairs in outermost_within(whole, lower_keys)
    ]


def whole_objects(text: str, keys: Collection[str]) -> list[Pairs]:
    """The top-level objects that have one of `keys`, or contain an object that has, in order.

    Raises `ReplyUnreadable` like `outermost_objects`.
    """
    speaks = re.compile(rf"\b(?:{'|'.join(map(re.escape, keys))})\W*[:=]", re.IGNORECASE).search
    lower_keys = frozenset(key.lower() for key in keys)
    return list(_objects(_without_thinking(text), lower_keys, lambda *at: speaks(*at) is not None))


def _without_thinking(text: str) -> str:
    """The reply without its opening thoughts, whose drafts are no answers.

    Raises `ReplyUnreadable` if the reply is blank or its thoughts are never closed.
    """
    if not text.strip():
        raise ReplyUnreadable("empty", "the reply is empty")
    split = split_thoughts(text)
    if not split.is_closed:
        raise ReplyUnreadable("unfinished_thinking", "the thoughts of the reply are never closed")
    return split.text


def _objects(
    text: str, lower_keys: frozenset[str], speaks_of_one: Callable[[str, int], bool]
) -> Iterator[Pairs]:
    objects = Objects(text)
    has_one = False
    start = text.find("{")
    while start >= 0:
        if harmless := _HARMLESS.match(text, start):
            end = harmless.end()
        else:
            whole = objects.at(start)
            if isinstance(whole, BrokenObject) or whole.depth > _MOST_LEVELS:
                if has_one and not speaks_of_one(text, start):
                    return
                raise _undecodable(text, whole)
            if next(outermost_within(whole.pairs, lower_keys), None) is not None:
                has_one = True
                yield whole.pairs
            end = whole.end
        start = text.find("{", end)


def _undecodable(text: str, read: BrokenObject | JsonObject) -> ReplyUnreadable:
    if isinstance(read, JsonObject) or read.open_levels > _MOST_LEVELS:
        return ReplyUnreadable("malformed_json", "a JSON object is nested too deeply to be read")
    line = text.count("\n", 0, read.place) + 1
    column = read.place - text.rfind("\n", 0, read.place)
    where = f"line {line}, column {column}"
    if read.is_cut or not text[read.place :].strip(_AFTER_THE_END):
        return ReplyUnreadable("truncated_json", f"the reply ends inside a JSON object ({where})")
    return ReplyUnreadable("malformed_json", f"a JSON object can't be read ({where})")


def outermost_within(value: Any, lower_keys: Collection[str]) -> Iterator[Pairs]:
    """The outermost objects in a JSON value that have one of the keys, given in lower case.

    `value` consists of lists, `Pairs` for objects, and scalars; a list or an object at the top.
    """
    level = [value]
    while level:
        inner: list[Any] = []
        for container in level:
            if not isinstance(container, Pairs):
                inner.extend(container)
            elif any(key.strip().lower() in lower_keys for key, _ in container):
                yield container
            else:
                inner.extend(member for _, member in container)
        level = [member for member in inner if isinstance(member, list)]
