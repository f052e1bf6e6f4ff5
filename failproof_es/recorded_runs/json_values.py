"""Reads untyped JSON without trusting it: what is not of the wanted kind is absent."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import orjson

from failproof_es.recorded_runs.plain import plain_text
from failproof_es.recorded_runs.records import Remainder

Json = Mapping[str, Any]
_NOTHING: Json = {}


def object_of(value: Any) -> Json:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def list_of(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def text_of(value: Any, remainder: Remainder, where: str) -> str | None:
    """The text, as the log can hold it, or `None`; an empty one is none."""
    return plain_text(value, remainder, where) if isinstance(value, str) and value else None


def texts_of(value: Any, remainder: Remainder, where: str) -> list[str]:
    """A text, or the texts of a list, as a list."""
    values = value if isinstance(value, list) else [value]
    return [plain_text(text, remainder, where) for text in values if isinstance(text, str)]


def unread(record: Json, read: Container[str]) -> list[str]:
    """The fields that say something, and are none of those that are read."""
    nothing: tuple[Any, ...] = (None, False, "", [], {})
    return [name for name, value in record.items() if name not in read and value not in nothing]


def to_json(value: Any) -> str:
    """A plain value as JSON."""
    return orjson.dumps(value).decode()
