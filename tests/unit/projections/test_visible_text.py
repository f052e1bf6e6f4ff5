"""Names in `text` columns, which cannot hold NUL: shown, and never mixed up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.protocol import visible

texts = st.lists(st.sampled_from(["\x00", "\\", "0", "u0000", "é"]), max_size=12).map("".join)


def read_back(shown: str) -> str:
    def undo(found: re.Match[str]) -> str:
        backslashes = len(found[1])
        return "\\" * (backslashes // 2) + ("\x00" if backslashes % 2 else "u0000")

    return re.sub(r"(\\*)u0000", undo, shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        (r"C:\cases\new", r"C:\cases\new"),
        ("u0000", "u0000"),
        ("a\x00b", r"a\u0000b"),
        (r"a\u0000b", r"a\\u0000b"),
        ("a\\\x00b", r"a\\\u0000b"),
    ],
)
def test_only_nul_and_what_looks_like_it_is_written_otherwise(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(texts)
def test_every_text_can_be_read_back(text: str) -> None:
    assert "\x00" not in visible(text)
    assert read_back(visible(text)) == text
