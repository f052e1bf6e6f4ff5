"""What servers write in the JSON of a reply although no JSON can hold it. Pure.

`NaN`, `Infinity` and `-Infinity` are numbers of no JSON. Servers in Python write them for a speed
or a likelihood that they could not compute, beside an answer that is whole. They are read as such
numbers, and nothing that is graded is a number.

Half characters are surrogates that stand alone.

`"\\ud835"` is valid JSON and no text. A server writes it where a model's tokens end inside a
character, and its other half may come with the next piece of a stream. So pieces are joined before
anything is said of a half: two that belong together are a character, and one that stays alone is
U+FFFD in what is read. The raw bytes are on record as they came.
"""

from __future__ import annotations

import json
import re
from typing import Any

from failproof_es.web.bounded_json import JsonTooComplex, read_json

_NO_NUMBER = re.compile(rb"NaN|Infinity")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""A surrogate as JSON escapes it, or as some encoders write it in bytes."""


def read_whole(text: bytes | str) -> Any:
    """The JSON of a whole reply. Raises `JsonTooComplex`, or `ValueError` for what is no JSON."""
    value, has_halves = _parse_json(text)
    return join_all_halves(value) if has_halves else value


def read_piece(text: bytes | str) -> Any:
    """The same of a piece of a reply, halves included: the next piece may have the others."""
    return _parse_json(text)[0]


def _parse_json(text: bytes | str) -> tuple[Any, bool]:
    """The JSON without a byte order mark before it, and whether half characters may be in it."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return read_json(data), False
    except JsonTooComplex:
        raise
    except ValueError:
        if _HALF.search(data) is None and _NO_NUMBER.search(data) is None:
            raise
    try:
        return json.loads(data.decode("utf-8", "surrogatepass")), True
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def join_halves(text: str) -> str:
    """The text, each pair of halves as a character and each half that is alone as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def join_all_halves(document: Any) -> Any:
    """The document, each text in it and each key after `join_halves`. Changes it in place."""
    if isinstance(document, str):
        return join_halves(document)
    open_values = [document]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            pairs = list(value.items())
            value.clear()
        elif isinstance(value, list):
            pairs = list(enumerate(value))
        else:
            continue
        for key, member in pairs:
            place = join_halves(key) if isinstance(key, str) else key
            value[place] = join_halves(member) if isinstance(member, str) else member
            if isinstance(member, dict | list):
                open_values.append(member)
    return document


class PieceJoiner:
    """Joins pieces of text as they come: a piece that ends in a first half waits for the next."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """The text that is whole now."""
        text = self._half + piece
        ends_in_half = "\ud800" <= text[-1:] <= "\udbff"
        self._half = text[-1:] if ends_in_half else ""
        return join_halves(text[:-1] if ends_in_half else text)

    def end(self) -> str:
        """The half that nothing came for."""
        half, self._half = self._half, ""
        return join_halves(half)
