"""Nothing that a model or a file says can steer the terminal."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.support.untrusted_text import json_text, lines, marked_lines, one_line, shortened

ANY_TEXT = st.text(alphabet=st.characters(codec=None, exclude_categories=()))
UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def unsafe(text: str) -> set[str]:
    return {character for character in text if unicodedata.category(character) in UNSAFE_CATEGORIES}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b31mred", "\\x9b31mred"),
        ("ab\u202ecd", "ab\\u202ecd"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("del\x7f", "del\\x7f"),
        ("one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"),
        ("line\u2028separator", "line\\u2028separator"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("Zürich 東京 🙂", "Zürich 東京 🙂"),
    ],
)
def test_what_steers_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert one_line(text) == shown


@pytest.mark.long
def test_every_control_and_format_character_of_unicode_is_escaped() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert unsafe(one_line(everything)) == set()


@given(ANY_TEXT)
def test_one_line_is_one_line_and_can_be_encoded(text: str) -> None:
    shown = one_line(text)
    assert unsafe(shown) == set()
    assert len(shown.splitlines()) <= 1
    shown.encode()


@given(ANY_TEXT)
def test_lines_keeps_line_feeds_and_tabs_and_nothing_else_unsafe(text: str) -> None:
    shown = lines(text)
    assert unsafe(shown) <= {"\n", "\t"}
    assert shown.count("\n") == text.count("\n")


@given(ANY_TEXT)
def test_sanitising_twice_changes_nothing(text: str) -> None:
    assert one_line(one_line(text)) == one_line(text)


@given(st.dictionaries(ANY_TEXT, ANY_TEXT))
def test_json_made_safe_to_show_still_means_the_same(document: dict[str, str]) -> None:
    for indent in (None, 2):
        text = json.dumps(document, ensure_ascii=False, indent=indent)
        shown = json_text(text)
        assert unsafe(shown) <= {"\n"}
        assert json.loads(shown) == json.loads(text)


@given(ANY_TEXT, st.integers(min_value=1, max_value=100))
def test_shortened_text_says_that_it_is_shortened(text: str, width: int) -> None:
    shown = shortened(text, width)
    assert len(shown) <= width
    assert shown == text or shown.endswith("…")


@given(ANY_TEXT)
def test_marked_pieces_are_the_lines_and_tell_an_escape_from_one_that_was_written(
    text: str,
) -> None:
    pieces = list(marked_lines(text))
    assert "".join(piece for piece, _ in pieces) == lines(text)
    assert "".join(piece for piece, escape in pieces if not escape) == "".join(
        character for character in text if lines(character) == character
    )
