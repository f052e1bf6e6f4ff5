"""Parses an event's state strictly, so that every reader gets the same result.

JSON in UTF-8 (RFC 8259), and stricter where programs differ: a single object, no duplicate names,
limits for nesting (500) and for the digits of an integer (4,300).
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

_MOST_LEVELS = 500
_MOST_DIGITS = 4300
_SIGN = re.compile(r'\\.|"|[\[\]{}]', re.DOTALL)


def read_state(state: bytes) -> dict[str, Any]:
    """Parse a state into its JSON object. Raises `ValueError`."""
    read = _read_plain(state)
    return _read_strictly(state) if read is None else read


def _read_plain(state: bytes) -> dict[str, Any] | None:
    """The object, if parsing and writing it gives the same bytes; else `None`.

    Then it has no duplicate names, no number was rounded, and its form is unambiguous.
    """
    if state.count(b"{") + state.count(b"[") > _MOST_LEVELS:
        return None
    try:
        read = orjson.loads(state)
        same = type(read) is dict and orjson.dumps(read) == state
    except (ValueError, TypeError):
        return None
    return read if same else None


def _read_strictly(state: bytes) -> dict[str, Any]:
    text = state.decode()
    _check_depth(text)
    read = _DECODER.decode(text)
    if not isinstance(read, dict):
        raise ValueError("it is not an object")
    return read


def _check_depth(text: str) -> None:
    if text.count("{") + text.count("[") <= _MOST_LEVELS:
        return
    depth = 0
    in_string = False
    for match in _SIGN.finditer(text):
        sign = match[0]
        if sign == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif sign in "[{":
            depth += 1
            if depth > _MOST_LEVELS:
                raise ValueError(f"it is nested deeper than {_MOST_LEVELS}")
        elif sign in "]}":
            depth -= 1


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(members := dict(pairs)) != len(pairs):
        raise ValueError("a name appears twice in one object")
    return members


def _parse_integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"an integer of more than {_MOST_DIGITS} digits")
    return int(digits)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_int=_parse_integer, parse_constant=_refuse_constant
)
