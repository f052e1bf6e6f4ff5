"""Finds the requested JSON in a model's reply. Pure; nothing is invented.

Fences, prose, a leading `<think>` block, wrapping objects and a comma after the last member
are what real models write and are read through. Nothing else is repaired. A brace that opens
something like an object and doesn't decode spoils the whole reply. What stands inside it
can't be told from what it quotes: in `{"reason": "it says {"score": 0, ...` the inner object
is the graded text's, not the model's. Only after a whole object is such a brace taken for
prose, and only where nothing that follows it could be another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal

from failproof_es.core.thoughts import split_thoughts

Unreadable = Literal[
    "empty",  # nothing but white space
    "unfinished_thinking",  # a `<think>` block that nothing ends
    "truncated_json",  # an object begins and the text ends before it does
    "malformed_json",  # an object begins and is no JSON
]

_HARMLESS = re.compile(r"""\{\{?[^{}:"']*\}\}?""")
"""Braces in prose, such as `{T, I, F}` or `{{name}}`: no key and no quotation inside."""
_AFTER_THE_END = " \t\r\n`"
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],"]|[^\s{}\[\],"]+', re.DOTALL)
"""A string, a sign that orders JSON, or anything else; a lone `"` begins what nothing ends."""


class ReplyUnreadable(Exception):
    """The reply can't be read: a name of the reason for programs, a sentence for people."""

    def __init__(self, reason: Unreadable, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Pairs(list[tuple[str, Any]]):
    """A JSON object with every key as often as it was written."""


_DECODER = json.JSONDecoder(
    object_pairs_hook=Pairs,
    parse_int=float,  # as wide as a float and no wider: no integer of a million digits
    strict=False,  # a line break inside a string says what it says
)


def outermost_objects(text: str, keys: Collection[str]) -> list[Pairs]:
    """Every object that has one of `keys` (in any case), the outermost ones, in order.

    Raises `ReplyUnreadable`.
    """
    speaks = re.compile(rf"\b(?:{'|'.join(map(re.escape, keys))})\W*[:=]", re.IGNORECASE).search
    wanted = frozenset(key.lower() for key in keys)
    return list(_objects(_without_thinking(text), wanted, lambda *at: speaks(*at) is not None))


def _without_thinking(text: str) -> str:
    """The reply after the thoughts that open it; drafts in there are no answers."""
    if not text.strip():
        raise ReplyUnreadable("empty", "the reply is empty")
    split = split_thoughts(text)
    if not split.is_closed:
        raise ReplyUnreadable("unfinished_thinking", "the thoughts of the reply are never closed")
    return split.text


def _objects(
    text: str, wanted: frozenset[str], speaks_of_one: Callable[[str, int], bool]
) -> Iterator[Pairs]:
    found = False
    start = text.find("{")
    while start >= 0:
        if harmless := _HARMLESS.match(text, start):
            end = harmless.end()
        else:
            try:
                value, end = _decode(text, start)
            except (ValueError, RecursionError) as error:
                if found and not speaks_of_one(text, start):
                    return
                raise _undecodable(text, error) from None
            for each in outermost_within(value, wanted):
                found = True
                yield each
        start = text.find("{", end)


def _decode(text: str, start: int) -> tuple[Any, int]:
    """The JSON object that begins there, and where it ends. Raises as the decoder does.

    Only this object is given to the decoder: its errors count the lines from the beginning of what
    it was given. For each of many objects that would take the square of the reply's length.
    """
    end, commas = _extent(text, start)
    try:
        value, _ = _DECODER.raw_decode(_with_spaces(text[start:end], start, commas))
    except (ValueError, RecursionError):
        _DECODER.raw_decode(text, start)  # raises, and tells the place in the whole reply
        raise
    return value, end


def _extent(text: str, start: int) -> tuple[int, list[int]]:
    """Where the object that begins there ends, and where its trailing commas are.

    The end of the text, and no commas, where nothing closes the object.
    """
    depth, before, comma = 0, "", -1
    commas: list[int] = []
    for token in _TOKEN.finditer(text, start):
        sign = token[0]
        if sign == '"':
            break
        if sign in ("}", "]"):
            if comma >= 0:
                commas.append(comma)
            depth -= 1
        comma = token.start() if sign == "," and before not in ("{", "[", ",") else -1
        depth += sign in ("{", "[")
        before = sign
        if depth == 0:
            return token.end(), commas
    return len(text), []


def _with_spaces(document: str, start: int, commas: Sequence[int]) -> str:
    """The object with a space in the place of each of its trailing commas."""
    pieces, copied = [], 0
    for comma in commas:
        pieces.append(document[copied : comma - start])
        copied = comma - start + 1
    return " ".join([*pieces, document[copied:]])


def _undecodable(text: str, error: ValueError | RecursionError) -> ReplyUnreadable:
    if not isinstance(error, json.JSONDecodeError):
        return ReplyUnreadable("malformed_json", "a JSON object is nested too deeply to be read")
    cut = error.msg.startswith("Unterminated string") or not text[error.pos :].strip(_AFTER_THE_END)
    where = f"line {error.lineno}, column {error.colno}: {error.msg}"
    if cut:
        return ReplyUnreadable("truncated_json", f"the reply ends inside a JSON object ({where})")
    return ReplyUnreadable("malformed_json", f"a JSON object can't be read ({where})")


def outermost_within(value: Any, wanted: Collection[str]) -> Iterator[Pairs]:
    """The outermost objects in a JSON value that have one of the wanted keys, in lower case."""
    level = [value]
    while level:
        inner: list[Any] = []
        for each in level:
            if not isinstance(each, Pairs):
                inner.extend(each)
            elif any(key.strip().lower() in wanted for key, _ in each):
                yield each
            else:
                inner.extend(member for _, member in each)
        level = [each for each in inner if isinstance(each, list)]
