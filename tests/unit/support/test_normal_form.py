"""Normal form C: what Unicode says, however many marks stand behind a character."""

from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.support.normal_form import composed
from tests.every import every
from tests.examples import examples

MARKS = "\u0300\u0301\u0308\u0316\u0323\u0327\u0345\u0f71\u0f72\u0f73\u0f74\u0344\u0903\u0e38\u20dd"
"""Of all canonical classes that matter, among them marks that decompose and such of class 0."""


@settings(max_examples=examples(8))
@given(st.lists(st.text(f"aé\u1100\u1161가 {MARKS}", max_size=3), max_size=8))
def test_it_is_the_normal_form_of_unicode(pieces: list[str]) -> None:
    for text in ("".join(pieces), "".join(40 * piece for piece in pieces)):
        assert composed(text) == unicodedata.normalize("NFC", text)


@every("mark", MARKS)
@every("other", MARKS)
def test_a_long_row_of_marks_is_sorted_as_unicode_sorts_it(mark: str, other: str) -> None:
    text = f"é{40 * (mark + other)}a"
    assert composed(text) == unicodedata.normalize("NFC", text)
