"""Parquet types for PostgreSQL's columns, and the conversion of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_PLACES = 18
"""Default number of decimal places of a decimal column."""
_DIGITS = 38
"""Maximum digits of a decimal number that every reader of Parquet supports."""
_MOST_DIGITS = 76


@dataclass(frozen=True, slots=True)
class Digits:
    """The most digits that a column's values have before and after the decimal point.

    `finite` is false if a value is infinite or not a number.
    """

    before: int = 0
    after: int = 0
    finite: bool = True


@dataclass(frozen=True, slots=True)
class ParquetColumn:
    """A column of a file: its name, its type, and the function that converts PostgreSQL's values.

    Without a function the values stay as they are.
    """

    name: str
    type: pa.DataType
    convert: Callable[[Any], Any] | None = None
    changed: str | None = None
    """Why the type differs from the database's; `None` if it does not."""


_PLAIN = {
    "int2": pa.int16, "int4": pa.int32, "int8": pa.int64, "bool": pa.bool_,
    "float4": pa.float32, "float8": pa.float64, "text": pa.string, "varchar": pa.string,
    "date": pa.date32, "bytea": pa.binary,
}  # fmt: skip


def column_of(name: str, kind: str, digits: Digits) -> ParquetColumn:
    """The column for a database type `kind` (its name in `pg_type`), without loss.

    Times are in UTC, to the microsecond. Ids and JSON are text. Decimal numbers stay decimal; if no
    decimal type holds `digits` they are text, and so is an unknown type.
    """
    if kind in _PLAIN:
        return ParquetColumn(name, _PLAIN[kind]())
    if kind == "timestamptz":
        return ParquetColumn(name, pa.timestamp("us", tz="UTC"))
    if kind == "numeric":
        return _decimal(name, digits)
    if kind in ("uuid", "json", "jsonb"):
        return ParquetColumn(name, pa.string(), _text)
    return ParquetColumn(name, pa.string(), _text, f"the type {kind} has no other form in Parquet")


def _decimal(name: str, digits: Digits) -> ParquetColumn:
    needed = digits.before + digits.after
    if digits.finite and digits.after <= _PLACES and digits.before <= _DIGITS - _PLACES:
        return ParquetColumn(name, pa.decimal128(_DIGITS, _PLACES))
    if digits.finite and needed <= _DIGITS:
        return ParquetColumn(name, pa.decimal128(_DIGITS, digits.after))
    if digits.finite and needed <= _MOST_DIGITS:
        return ParquetColumn(name, pa.decimal256(_MOST_DIGITS, digits.after))
    return ParquetColumn(name, pa.string(), _text, "no decimal type holds so many digits")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
