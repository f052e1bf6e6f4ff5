"""Checks whether quoted words were really said. Pure.

Compared are texts in Unicode's normal form C with every run of white space as one space;
nothing else is forgiven: not case, not punctuation, not the form of quotation marks. A
quotation must stand within one text, begin and end where words do, and say something.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 2
_FEWEST_CHARACTERS = 6
_UNSPACED_FROM = "\u0e00"
"""From Thai on, most scripts put no space between words."""


def normalised(text: str) -> str:
    """The text as it is compared."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def find_quotation(quotation: str, texts: Sequence[str]) -> int | None:
    """The index of the first text that holds the quotation; `None` where none does."""
    wanted = normalised(quotation)
    return next(
        (n for n, text in enumerate(texts) if contains_quotation(normalised(text), wanted)), None
    )


def contains_quotation(whole: str, wanted: str) -> bool:
    """Whether the quotation stands in the text; both are `normalised` already."""
    return bool(wanted) and (wanted == whole or _stands_at_words(wanted, whole))


def is_substantial(quotation: str, texts: Sequence[str]) -> bool:
    """Whether it is more than a word that stands anywhere: or else one of the texts, whole."""
    wanted = normalised(quotation)
    words = _WORD.findall(wanted)
    enough = len(words) >= _FEWEST_WORDS or sum(map(len, words)) >= _FEWEST_CHARACTERS
    return enough or any(wanted == normalised(text) for text in texts)


def _stands_at_words(wanted: str, whole: str) -> bool:
    start = whole.find(wanted)
    while start >= 0:
        begins = _next_border(whole, start)
        if begins == start and not _within_word(whole, start + len(wanted)):
            return True
        start = whole.find(wanted, max(begins, start + 1))
    return False


def _next_border(text: str, position: int) -> int:
    """The position, or the next one at which a word ends or begins."""
    while _within_word(text, position):
        position += 1
    return position


def _within_word(text: str, position: int) -> bool:
    """Whether a word goes on across the position."""
    if not 0 < position < len(text):
        return False
    return all(
        each.isalnum() and each < _UNSPACED_FROM for each in text[position - 1 : position + 1]
    )


def span_of(quotation: str, text: str) -> tuple[int, int] | None:
    """Where the quotation stands in the text: its first character, and the one after its last.

    `None` where it does not stand there as a whole, or where the text is in another normal form.
    """
    words = unicodedata.normalize("NFC", quotation).split()
    if not words:
        return None
    for found in re.finditer(r"\s+".join(map(re.escape, words)), text):
        if not _within_word(text, found.start()) and not _within_word(text, found.end()):
            return found.span()
    return None
