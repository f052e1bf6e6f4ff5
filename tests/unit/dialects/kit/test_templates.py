"""Untrusted text is put into templates as it stands, and can pose as nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from failproof_es.dialects.kit.templates import delimiter, fill, names

texts = st.text(st.sampled_from("{}ab0123456789\\\x00") | st.characters(codec="utf-8"), max_size=80)
tricky = st.sampled_from(["{{a}}", "{{b}}", "{{delimiter}}", "{{{{a}}}}", "%s", "{0}", "\\g<0>"])
untrusted = st.lists(texts | tricky, max_size=4).map("".join)


@given(untrusted, untrusted)
def test_whatever_a_value_holds_stands_in_the_result_as_it_is(a: str, b: str) -> None:
    template = "first {{a}} then {{b}} then {{a}} but not {{c}}"
    expected = f"first {a} then {b} then {a} but not {{{{c}}}}"
    assert fill(template, {"a": a, "b": b}) == expected


@given(untrusted, untrusted)
def test_nobody_can_write_a_text_that_ends_its_own_quotation(a: str, b: str) -> None:
    mark = delimiter(a, b)
    assert mark not in a
    assert mark not in b
    assert len(mark) == 32
    assert delimiter(a, b) == mark
    filled = fill("{{d}}\n{{a}}\n{{d}}\n{{b}}\n{{d}}", {"a": a, "b": b, "d": mark})
    assert filled.split(mark) == ["", f"\n{a}\n", f"\n{b}\n", ""]


@given(texts)
def test_a_template_without_placeholders_is_its_own_text(text: str) -> None:
    if not names(text):
        assert fill(text, {"a": "never"}) == text
