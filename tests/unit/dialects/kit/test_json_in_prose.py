"""Whatever JSON a model writes into whatever prose comes out as it was written, or is an error."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.dialects.kit.json_in_prose import Pairs, ReplyUnreadable, outermost_objects

KEYS = ("score", "Reason")
names = st.sampled_from(["score", "SCORE", "reason", "other", "", "é\x00"]) | st.text(max_size=5)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(names, inner), max_size=4).map(Pairs)
    ),
    max_leaves=10,
)
objects = st.lists(st.tuples(names, values), max_size=4).map(
    lambda pairs: Pairs([("score", 1.0), *pairs])
)
anything = st.text(st.sampled_from('{}[]":,\\`<think>/score=\n ') | st.characters(), max_size=60)
harmless = st.text(st.sampled_from(string.ascii_letters + " .,!?\n`'\"()[]é\x00"), max_size=60)


def written(value: Any, ascii_only: bool, space: str) -> str:
    """The value as JSON, with every key as often as it stands there."""
    if isinstance(value, Pairs):
        members = (
            f"{written(key, ascii_only, space)}:{space}{written(each, ascii_only, space)}"
            for key, each in value
        )
        return "{" + space + f",{space}".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(each, ascii_only, space) for each in value) + space + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


def read(value: Any) -> Any:
    """The value as a reader has it: a number is a float."""
    if isinstance(value, Pairs):
        return Pairs((key, read(each)) for key, each in value)
    if isinstance(value, list):
        return [read(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(str(value))
    return value


def outermost(value: Any) -> list[Pairs]:
    """What is to be found in the value, breadth first."""
    level: list[Any] = [value]
    found: list[Pairs] = []
    while level:
        inner: list[Any] = []
        for each in level:
            if isinstance(each, Pairs) and {key.lower() for key, _ in each} & {"score", "reason"}:
                found.append(each)
            elif isinstance(each, Pairs):
                inner.extend(member for _, member in each)
            elif isinstance(each, list):
                inner.extend(each)
        level = inner
    return found


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down: `True` is not `1.0`."""
    return repr(one) == repr(other)


styles = st.tuples(st.booleans(), st.sampled_from(["", " ", "\n  "]))


@given(values, anything, anything, styles)
def test_any_json_in_any_prose_comes_out_as_itself_or_is_an_error(
    value: Any, before: str, after: str, style: tuple[bool, str]
) -> None:
    try:
        found = outermost_objects(before + written(value, *style) + after, KEYS)
    except ReplyUnreadable as error:
        assert error.reason
        assert error.message
        return
    expected = outermost(read(value))
    assert all(any(same(each, wanted) for wanted in expected) for each in found)


@given(objects, harmless, harmless, styles)
def test_an_object_in_prose_without_braces_always_comes_out_as_itself(
    value: Pairs, before: str, after: str, style: tuple[bool, str]
) -> None:
    found = outermost_objects(before + written(value, *style) + after, KEYS)
    assert same(found, [read(value)])


@given(objects, objects, styles)
def test_of_several_objects_each_comes_out_in_order(
    one: Pairs, other: Pairs, style: tuple[bool, str]
) -> None:
    text = f"First {written(one, *style)}, then\n{written(other, *style)}."
    assert same(outermost_objects(text, KEYS), [read(one), read(other)])


@given(objects, styles, st.data())
def test_an_object_that_is_cut_short_is_never_read(
    value: Pairs, style: tuple[bool, str], data: st.DataObject
) -> None:
    text = written(value, *style)
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(ReplyUnreadable) as caught:
        outermost_objects(text[:cut], KEYS)
    assert caught.value.reason in ("truncated_json", "malformed_json")


@given(anything)
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        found = outermost_objects(text, KEYS)
    except ReplyUnreadable:
        return
    assert all(isinstance(each, Pairs) for each in found)
