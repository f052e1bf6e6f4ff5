"""A decimal number is held exactly, or is text and said to be."""

from __future__ import annotations

from decimal import Decimal

import pytest

pa = pytest.importorskip("pyarrow", reason="the extra `data` is not installed")

from failproof_es.exports.parquet_types import Digits, column_of  # noqa: E402


@pytest.mark.parametrize(
    ("digits", "kind", "changed"),
    [
        (Digits(), pa.decimal128(38, 18), False),
        (Digits(20, 18), pa.decimal128(38, 18), False),
        (Digits(21, 17), pa.decimal128(38, 17), False),
        (Digits(20, 19), pa.decimal256(76, 19), False),
        (Digits(38, 38), pa.decimal256(76, 38), False),
        (Digits(39, 38), pa.string(), True),
        (Digits(1, 1, finite=False), pa.string(), True),
    ],
)
def test_a_decimal_has_room_for_every_digit(digits: Digits, kind: object, changed: bool) -> None:
    column = column_of("cost", "numeric", digits)
    assert column.type == kind and (column.changed is not None) is changed
    if not changed:
        largest = Decimal(f"{'9' * digits.before or 0}.{'9' * digits.after}")
        assert pa.array([largest], column.type)[0].as_py() == largest


def test_an_unknown_type_is_text_and_says_so() -> None:
    column = column_of("x", "point", Digits())
    assert column.type == pa.string() and "point" in (column.changed or "")
    assert column_of("x", "timestamptz", Digits()).type == pa.timestamp("us", tz="UTC")
