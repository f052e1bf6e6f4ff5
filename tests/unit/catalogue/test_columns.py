"""A row type declares its columns: name, type and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

import pytest

from failproof_es.catalogue.result import RecordedResult
from failproof_es.support.columns import columns_of


@dataclass
class Row:
    class_: str | None
    """The class,
    on two lines."""
    id: UUID
    word: Literal["a", "b"] | None
    tags: tuple[str, ...]
    scores: Mapping[str, float]
    count: int
    cost: Decimal | None
    passed: bool | None
    at: datetime


@dataclass
class Odd:
    nested: list[Row]


def test_a_field_is_a_column_with_a_name_a_kind_and_a_description() -> None:
    columns = columns_of(Row)
    assert columns[0].name == "class"
    assert columns[0].description == "The class, on two lines."
    assert columns[1].description == ""
    assert [column.kind for column in columns] == [
        "text", "text", "text", "texts", "numbers", "integer", "number", "boolean", "timestamp"
    ]  # fmt: skip


def test_a_field_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="nested: no column holds"):
        _ = columns_of(Odd)[-1].kind


@pytest.mark.parametrize("row", [RecordedResult])
def test_every_column_of_every_relation_has_a_description(row: type) -> None:
    assert [column.name for column in columns_of(row) if not column.description] == []
