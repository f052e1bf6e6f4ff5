"""Converts values of an untrusted source into ones that the log can hold, and lists the changes.

The log holds JSON with UTF-8 text, finite numbers, 64-bit integers and at most 100 levels.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import orjson

from failproof_es.recorded_runs.records import Remainder, without_surrogates

MAX_DEPTH = 100
_LARGEST = 2**63 - 1
_LONGEST_MS = 1e15
_HIGHEST_COST = 1e15


def plain_text(text: str, remainder: Remainder, where: str) -> str:
    """The text with U+FFFD for each lone surrogate, which UTF-8 cannot encode.

    A change is listed in `remainder` with the place `where`.
    """
    plain = without_surrogates(text)
    if plain != text:
        what = "half a character (a lone surrogate)"
        remainder.add(what, "no text holds it: it is U+FFFD", where)
    return plain


def plain_value(value: Any, remainder: Remainder, where: str, depth: int = 0) -> Any:
    """The value as the log can hold it: values that JSON lacks become texts.

    A value nested deeper than 100 levels becomes `None`. Changes are listed in `remainder` with the
    place `where`. `depth` is the number of levels around the value.
    """
    match value:
        case None | bool():
            return value
        case str():
            return plain_text(value, remainder, where)
        case int():
            if -_LARGEST - 1 <= value <= _LARGEST:
                return value
            remainder.add("a whole number beyond 64 bits", "it is kept as text", where)
            return f"{value:#x}"
        case float():
            if math.isfinite(value):
                return value
            remainder.add(f"the number {value}", "JSON has none: it is kept as text", where)
            return str(value)
        case dict() | list() | tuple() if depth >= MAX_DEPTH:
            remainder.add("a value", f"it is nested deeper than {MAX_DEPTH} levels", where)
            return None
        case dict():
            return {
                plain_text(str(key), remainder, where): plain_value(
                    child, remainder, where, depth + 1
                )
                for key, child in value.items()
            }
        case list() | tuple():
            return [plain_value(child, remainder, where, depth + 1) for child in value]
        case _:
            remainder.add(f"a value of type {type(value).__name__}", "it is kept as text", where)
            return plain_text(str(value), remainder, where)


def digest_of(value: Any) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of a value that `plain_value` returned."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def count_of(value: Any) -> int | None:
    """The value if it is a count of tokens, a 64-bit integer from 0; else `None`."""
    return value if type(value) is int and 0 <= value <= _LARGEST else None


def cost_of(value: Any) -> str | None:
    """The text of a cost, a finite number from 0; else `None`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(value) if 0 <= value < _HIGHEST_COST else None


def milliseconds_of(value: Any, unit_ms: int = 1) -> float | None:
    """Milliseconds of a duration in units of `unit_ms` ms; `None` if it is not a duration."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) * unit_ms if 0 <= value < _LONGEST_MS / unit_ms else None
