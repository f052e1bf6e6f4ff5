"""The columns of a relation: the fields of its row type, a dataclass.

A field declares everything about its column: the name, the type, and the docstring under it, which
documents the column. CSV, data frames and the reference page are made from that.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from failproof_es.support.field_docstrings import field_docstring

Kind = Literal["text", "texts", "integer", "number", "boolean", "timestamp", "numbers"]
"""Type of a column's cells. `texts` is a list of texts, `numbers` maps names to numbers; a cell of
any other kind may be missing."""
_KINDS: Mapping[object, Kind] = {
    bool: "boolean", int: "integer", float: "number", Decimal: "number", str: "text", UUID: "text",
    datetime: "timestamp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a relation."""

    row: type[Any]
    """The row type that declares it."""
    attribute: str
    """The field of the row type."""
    kind: Kind

    @property
    def name(self) -> str:
        """The column's name. A field `class_` is the column `class`."""
        return self.attribute.removesuffix("_")

    @property
    def description(self) -> str:
        """The docstring under the field, on one line; empty where it has none."""
        return " ".join((field_docstring(self.row, self.attribute) or "").split())


@cache
def columns_of(row: type[Any]) -> tuple[Column, ...]:
    """The columns of a row type, in the order of its fields.

    Raises `TypeError` for a field of a type that no column has.
    """
    hints = get_type_hints(row)
    return tuple(
        Column(row, field.name, _kind_of(field.name, hints[field.name])) for field in fields(row)
    )


def _kind_of(name: str, hint: Any) -> Kind:
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (member for member in get_args(hint) if member is not type(None))
    if get_origin(hint) is Literal:
        return "text"
    if hint == tuple[str, ...]:
        return "texts"
    if hint == Mapping[str, float]:
        return "numbers"
    if hint not in _KINDS:
        raise TypeError(f"{name}: no column holds {hint}")
    return _KINDS[hint]
