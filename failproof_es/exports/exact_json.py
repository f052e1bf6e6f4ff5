"""JSON that every reader accepts, whatever values a model or a case file supplied."""

from __future__ import annotations

import math
from typing import Any

import orjson

from failproof_es.exports.exporter import LeftOut

_DEEPEST = 200
_LARGEST = 2**63
SURROGATES = "lone surrogates"
NOT_FINITE = "numbers that are not finite"
LARGE = "integers of more than 64 bits"
DEEP = "values nested deeper than 200"


def exact_json(value: Any, left_out: LeftOut, *, indent: bool = False) -> bytes:
    """The value as JSON in UTF-8.

    Values that JSON or its readers cannot hold become text, and are counted in `left_out`.
    """
    document = _convert_value(value, left_out, 0)
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 if indent else 0)


def _convert_value(value: Any, left_out: LeftOut, depth: int) -> Any:
    match value:
        case str():
            return _text(value, left_out)
        case None | bool():
            return value
        case int() if -_LARGEST <= value < _LARGEST:
            return value
        case int():
            left_out.add(LARGE, "few readers of JSON take them: written as text")
            return str(value)
        case float() if math.isfinite(value):
            return value
        case float():
            left_out.add(NOT_FINITE, "JSON has none: written as text")
            return str(value)
        case dict() | list() | tuple() if depth > _DEEPEST:
            left_out.add(DEEP, "few readers of JSON take them: written as text")
            return _text(repr(value), left_out)
        case dict():
            return {
                _text(str(key), left_out): _convert_value(member, left_out, depth + 1)
                for key, member in value.items()
            }
        case list() | tuple():
            return [_convert_value(member, left_out, depth + 1) for member in value]
        case _:
            return _text(str(value), left_out)


def _text(text: str, left_out: LeftOut) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        left_out.add(SURROGATES, "no encoding takes them: written as escapes")
        return text.encode(errors="backslashreplace").decode()
    return text
