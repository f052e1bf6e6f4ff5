"""The columns of a relation: the fields of its row type, a dataclass or a `NamedTuple`.

A field declares everything about its column: the name, the type, and the docstring under it, which
documents the column. Tables, CSV, data frames and the reference pages are made from that.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
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
class RelationColumn:
    """One column of a relation."""

    row: type[Any]
    """The row type that declares the column."""
    attribute: str
    """Name of the field or the property."""
    hint: Any
    """The declared type."""

    @property
    def name(self) -> str:
        """The column's name. A field `class_` is the column `class`."""
        return self.attribute.removesuffix("_")

    @property
    def description(self) -> str:
        """The column's docstring on one line; empty if there is none."""
        member = getattr(self.row, self.attribute, None)
        if isinstance(member, property):
            docstring = member.__doc__
        else:
            docstring = field_docstring(self.row, self.attribute)
        return " ".join((docstring or "").split())

    @property
    def may_be_missing(self) -> bool:
        """Whether its cells may be `None`."""
        return type(None) in get_args(self.hint)

    @property
    def plain_hint(self) -> Any:
        """The declared type of a cell without `None`."""
        if get_origin(self.hint) not in (Union, types.UnionType):
            return self.hint
        (hint,) = (member for member in get_args(self.hint) if member is not type(None))
        return hint

    @property
    def kind(self) -> Kind:
        """The kind of the cells. Raises `TypeError` if the declared type fits no kind."""
        hint = self.plain_hint
        if get_origin(hint) is Literal:
            return "text"
        if hint == tuple[str, ...]:
            return "texts"
        if hint == Mapping[str, float]:
            return "numbers"
        if hint not in _KINDS:
            raise TypeError(f"{self.attribute}: no column holds {hint}")
        return _KINDS[hint]


@cache
def columns_of(row: type[Any]) -> tuple[RelationColumn, ...]:
    """The columns of a row type, in the order of its fields."""
    hints = get_type_hints(row, include_extras=True)
    names = (
        [column_field.name for column_field in fields(row)] if is_dataclass(row) else row._fields
    )
    return tuple(RelationColumn(row, name, hints[name]) for name in names)


def computed_column(row: type[Any], attribute: str) -> RelationColumn:
    """A column whose cells the property `attribute` of the row type computes."""
    getter: property = getattr(row, attribute)
    return RelationColumn(row, attribute, get_type_hints(getter.fget)["return"])
