"""Reads untrusted JSON: a value of the wrong type counts as absent."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import orjson

from failproof_es.recorded_runs.plain import plain_text
from failproof_es.recorded_runs.records import Remainder

Json = Mapping[str, Any]
_NOTHING: Json = {}


def object_of(value: Any) -> Json:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else _NOTHING


def list_of(value: Any) -> list[Any]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def text_of(value: Any, remainder: Remainder, where: str) -> str | None:
    """The value if it is a non-empty text, in a form that the log can hold; else `None`.

    A change of the text is listed in `remainder` with the place `where`.
    """
    return plain_text(value, remainder, where) if isinstance(value, str) and value else None


def texts_of(value: Any, remainder: Remainder, where: str) -> list[str]:
    """The texts in a value: a text, or a list of texts; empty for anything else.

    A change of a text is listed in `remainder` with the place `where`.
    """
    values = value if isinstance(value, list) else [value]
    return [plain_text(text, remainder, where) for text in values if isinstance(text, str)]


def unread(record: Json, read: Container[str]) -> list[str]:
    """The names of the non-empty fields of a record that are not in `read`."""
    nothing: tuple[Any, ...] = (None, False, "", [], {})
    return [name for name, value in record.items() if name not in read and value not in nothing]


def to_json(value: Any) -> str:
    """A value as JSON. The value must be one that `plain_value` returned."""
    return orjson.dumps(value).decode()
