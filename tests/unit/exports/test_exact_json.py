"""Whatever a value holds, it becomes JSON that every reader takes; what is changed is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.exports.exact_json import DEEP, LARGE, NOT_FINITE, SURROGATES, exact_json
from failproof_es.exports.exporter import LeftOut

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def counted(value: Any) -> tuple[Any, dict[str, int]]:
    left_out = LeftOut()
    told = json.loads(exact_json(value, left_out))
    return told, {row["left_out"]: row["count"] for row in left_out.rows()}


def nested(depth: int) -> Any:
    value: Any = "end"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "told", "changed"),
    [
        ({"a": "NUL \x00 \x1b \u202e"}, {"a": "NUL \x00 \x1b \u202e"}, {}),
        (["\ud800x"], ["\\ud800x"], {SURROGATES: 1}),
        ({"\udfff": 1}, {"\\udfff": 1}, {SURROGATES: 1}),
        (2**63 - 1, 2**63 - 1, {}),
        (2**63, str(2**63), {LARGE: 1}),
        (float("nan"), "nan", {NOT_FINITE: 1}),
    ],
)
def test_only_what_json_cannot_hold_is_changed(
    value: Any, told: Any, changed: dict[str, int]
) -> None:
    assert counted(value) == (told, changed)


def test_what_is_nested_too_deep_is_text() -> None:
    assert counted(nested(200)) == (nested(200), {})
    assert counted(nested(5_00))[1] == {DEEP: 1}


@given(VALUES)
def test_any_value_can_be_read_again(value: Any) -> None:
    exact_json(value, LeftOut()).decode()
    counted(value)
