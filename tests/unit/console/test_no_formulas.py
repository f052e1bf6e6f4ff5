"""Every list that is offered as CSV: no cell of any of its columns is a formula."""

from __future__ import annotations

import csv
import io
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest
from pydantic import BaseModel

from failproof_es.console.pages import all_pages
from failproof_es.console.routes import _comma_separated
from failproof_es.support.spreadsheet import unescaped

LISTS = {page.name: page.row for page in all_pages() if page.rows is not None}
HOSTILE = (
    "=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", " =1", "\n@x", "＝1", "'=1", '=1","=2',
    "=1\r\n=2",
)  # fmt: skip
OPENS = "=+-@＝＋－＠"


def made(kind: Any, text: str) -> Any:
    """A value of this type in which every text is this one."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any or kind is str or kind is object:
        return text
    if origin in (Union, UnionType):
        return made(next(each for each in inside if each is not NoneType), text)
    if origin is Literal:
        return inside[0]
    if origin in (tuple, list, frozenset, set):
        return origin([made(inside[0], text)])
    if origin is not None and len(inside) == 2:  # a mapping
        return {made(inside[0], text): made(inside[1], text)}
    if hasattr(kind, "__metadata__"):
        return made(inside[0], text)
    for simple, value in (
        (bool, True), (int, 1), (float, 0.5), (Decimal, Decimal(1)), (UUID, UUID(int=1)),
        (datetime, datetime(2026, 1, 2, tzinfo=UTC)), (date, date(2026, 1, 2)),
    ):  # fmt: skip
        if kind is simple:
            return value
    hints = get_type_hints(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind.model_construct(**{name: made(hints[name], text) for name in kind.model_fields})
    assert is_dataclass(kind), f"say how a {kind} is made"
    filled: Any = kind
    return filled(**{each.name: made(hints[each.name], text) for each in fields(kind) if each.init})


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.long
def test_no_cell_of_any_column_is_a_formula(name: str) -> None:
    row = LISTS[name]
    hostile = 0
    for text in HOSTILE:
        told = "".join(_comma_separated(row, iter([made(row, text)])))
        heading, cells = csv.reader(io.StringIO(told, newline=""))
        assert len(heading) == len(cells)
        for column, cell in zip(heading, cells, strict=True):
            assert not cell.lstrip().startswith(tuple(OPENS)), (column, cell)
            hostile += unescaped(cell) == text
    assert hostile >= len(HOSTILE), "a text stands in a column of its own"


def test_there_are_lists() -> None:
    assert set(LISTS) >= {"runs", "results", "cases", "suites", "compare", "review", "stream"}
