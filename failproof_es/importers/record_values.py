"""Reads the values of a record: texts, numbers and lists of them. Pure."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

import orjson

MAX_TEXT = 1_000_000
"""The most characters of a text of a case."""
_WHOLE_WITH_POINT = re.compile(r"([+-]?\d+)\.0+", re.ASCII)


class UnusableRecord(Exception):
    """A record cannot become a case. `str` is the reason, without texts of the record.

    `role` is the role of the wrong value, or `field` its place in the record.
    """

    def __init__(self, reason: str, *, role: str | None = None, field: str | None = None) -> None:
        super().__init__(reason)
        self.role = role
        self.field = field


def parts_of(value: Any) -> list[Any]:
    """The parts of a list, of a JSON list in a text, or of a text with commas.

    Raises `UnusableRecord` for a text that begins like a JSON list and is none.
    """
    if isinstance(value, str):
        if not value.lstrip().startswith("["):
            return [text.strip() for text in value.split(",")] if value.strip() else []
        value = parse_json(value)
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def split_texts(value: Any, role: str) -> list[str]:
    """The texts of `parts_of`, without empty ones.

    Raises `UnusableRecord` if one is neither a text nor a finite number.
    """
    return texts_of(parts_of(value), role)


def without_point(text: str) -> str:
    """A whole number without its point, `3` for `3.0`; any other text as it is."""
    whole = _WHOLE_WITH_POINT.fullmatch(text)
    return text if whole is None else whole[1]


def is_nan(value: Any) -> bool:
    """Whether the value is NaN, the data frames' mark of a missing value."""
    return isinstance(value, float) and math.isnan(value)


def texts_of(value: Any, role: str) -> list[str]:
    """The texts of a list or of one value, without empty ones. Raises like `text_of`."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [text for part in value if (text := text_of(part, role))]
    text = text_of(value, role)
    return [text] if text else []


def text_of(value: Any, role: str) -> str:
    """The value as a text, `""` for `None`.

    Raises `UnusableRecord` if it is neither a text nor a finite number, or is too long.
    """
    if value is None:
        return ""
    text = plain_text_of(value)
    if text is None:
        raise UnusableRecord(f"the {role} is neither a text nor a finite number", role=role)
    if len(text) > MAX_TEXT:
        raise UnusableRecord(f"the {role} is longer than {MAX_TEXT:,} characters", role=role)
    return text


def plain_text_of(value: Any) -> str | None:
    """A text, or a number as in JSON; `None` for anything else, NaN included."""
    match value:
        case str():
            return value
        case bool() | int():
            return json.dumps(value)
        case float() if math.isfinite(value):
            return orjson.dumps(value).decode()
        case Decimal() if value.is_finite():
            return f"{value:f}"
        case _:
            return None


def require_text(value: Any, what: str) -> str:
    """The value if it is a text. Raises `UnusableRecord` for any other, or if it is too long."""
    if not isinstance(value, str):
        raise UnusableRecord(f"{what} is no text")
    return text_of(value, what)


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises `UnusableRecord` if the text is not JSON."""
    try:
        return orjson.loads(text)
    except ValueError:
        raise UnusableRecord("a list or an object in a text is not JSON") from None
