"""Reads JSON with lone surrogates ("half characters") or with `NaN` and `Infinity`. Pure.

`NaN`, `Infinity` and `-Infinity` are not JSON. Servers in Python write them for a speed or a
likelihood that they could not compute, in a reply with a complete answer. They are read as such
numbers; no graded value is a number.

`"\\ud835"` is valid JSON, but not valid text. A server writes it if a model's tokens end inside a
character; the other half may come with the next piece of a stream. So pieces are joined first: two
matching halves become a character, and a half that stays alone becomes U+FFFD. The record keeps the
raw bytes.
"""

from __future__ import annotations

import json
import re
from typing import Any

from failproof_es.web.bounded_json import JsonTooComplex, read_json

_NO_NUMBER = re.compile(rb"NaN|Infinity")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""A surrogate as a JSON escape, or as the bytes that some encoders write."""


def read_whole(text: bytes | str) -> Any:
    """The JSON value of a whole reply, with U+FFFD for each lone surrogate.

    Raises `JsonTooComplex` if it would take too much memory, or `ValueError` if it is not JSON.
    """
    value, has_halves = _parse_json(text)
    return join_all_halves(value) if has_halves else value


def read_piece(text: bytes | str) -> Any:
    """The JSON value of a piece of a reply, lone surrogates kept: the next piece may complete them.

    Raises `JsonTooComplex` if it would take too much memory, or `ValueError` if it is not JSON.
    """
    return _parse_json(text)[0]


def _parse_json(text: bytes | str) -> tuple[Any, bool]:
    """The JSON value, and whether it may hold half characters.

    A byte order mark before it is ignored. Raises as `read_whole` does.
    """
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
    """The text with a character for each pair of surrogates, and U+FFFD for each lone one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def join_all_halves(document: Any) -> Any:
    """Apply `join_halves` to each text and key of the document, in place; returns the document."""
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
    """Joins pieces of a text whose characters may be split into two surrogates.

    A first surrogate at the end of a piece waits for the next piece.
    """

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """The text of this piece and of a surrogate that waited, without a first one at its end."""
        text = self._half + piece
        ends_in_half = "\ud800" <= text[-1:] <= "\udbff"
        self._half = text[-1:] if ends_in_half else ""
        return join_halves(text[:-1] if ends_in_half else text)

    def end(self) -> str:
        """U+FFFD for a surrogate that still waits; empty if none does."""
        half, self._half = self._half, ""
        return join_halves(half)
