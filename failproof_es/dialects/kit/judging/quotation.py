"""Checks whether quoted words were really said. Pure.

Compared are texts in Unicode's normal form C with every run of white space as one space;
nothing else is forgiven: not case, not punctuation, not the form of quotation marks. A
quotation must stand within one text, begin and end where words do, and say something.

A quotation of half a megabyte may begin at every letter of a text, so that to compare it letter by
letter would take the square of its length. Here each word is put between line breaks, which no
comparable text holds: a quotation of whole words is then found by one search, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from failproof_es.support.normal_form import composed

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 2
_FEWEST_CHARACTERS = 6
_SPACED_WORD = re.compile(r"[^\W_\u0e00-\U0010ffff]+")
"""A word goes on from letter to letter. From Thai on, most scripts put no space between words:
there a quotation may begin anywhere."""
_BORDER = "\n"
_UNSPACED = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Comparable:
    """A text as it is compared, or a quotation."""

    text: str
    """In normal form C, with one space for each run of white space and none around it."""
    bordered: str
    """The same with each word between line breaks."""

    def holds(self, quotation: Comparable) -> bool:
        """Whether the quotation stands in the text, as whole words."""
        return bool(quotation.text) and quotation.bordered in self.bordered


def comparable(text: str) -> Comparable:
    """The text as it is compared."""
    return _bordered(_on_one_line(composed(text)))


def find_quotation(quotation: Comparable, texts: Sequence[Comparable]) -> int | None:
    """The index of the first text that holds the quotation; `None` where none does."""
    return next((index for index, text in enumerate(texts) if text.holds(quotation)), None)


def is_substantial(quotation: Comparable, texts: Sequence[Comparable]) -> bool:
    """Whether it is more than a word that stands anywhere: or else one of the texts, whole."""
    words = _WORD.findall(quotation.text)
    enough = len(words) >= _FEWEST_WORDS or sum(map(len, words)) >= _FEWEST_CHARACTERS
    return enough or quotation in texts


class Unproved(Exception):
    """Why a quotation proves nothing, in words."""


def locate_quotation(quote: str, texts: Sequence[Comparable], *, is_proof: bool) -> int:
    """The index of the first text that holds the quoted words. Raises `Unproved`.

    As a proof they must say something, too.
    """
    if not quote.strip():
        raise Unproved("quotes nothing")
    words = comparable(quote)
    index = find_quotation(words, texts)
    if index is None:
        raise Unproved("the quotation does not stand in what the model said")
    if is_proof and not is_substantial(words, texts):
        raise Unproved("the quotation is too short to show anything")
    return index


def spans_of(quotations: Sequence[str], text: str) -> list[tuple[int, int] | None]:
    """Where each quotation stands in the text: its first character, and the one after its last.

    `None` where it does not stand there as a whole, or where the text is in another normal form.
    """
    whole = _bordered(_on_one_line(text)).bordered
    words = [word.start() for word in _UNSPACED.finditer(text)]
    spans: list[tuple[int, int] | None] = []
    for quotation in map(comparable, quotations):
        start = whole.find(quotation.bordered) if quotation.text else -1
        if start < 0:
            spans.append(None)
            continue
        end = start + len(quotation.bordered)
        spans.append((_place(whole, start, words), _place(whole, end, words)))
    return spans


def _place(whole: str, at: int, words: Sequence[int]) -> int:
    """The place in a text that a place in its bordered form stands for.

    `words` are the places in the text at which something stands behind white space.
    """
    word = whole.rfind(" ", 0, at) + 1
    return words[whole.count(" ", 0, at)] + (at - word) - whole.count(_BORDER, word, at)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _bordered(text: str) -> Comparable:
    return Comparable(text, _SPACED_WORD.sub(rf"{_BORDER}\g<0>{_BORDER}", text))
