"""Checks whether quoted words occur in a text. Pure.

Texts are compared in Unicode's normal form C with every run of white space as one space; case,
punctuation and the form of quotation marks must be equal. A quotation must be inside one text,
begin and end at word boundaries, and be substantial.

Comparing a quotation of half a megabyte at every letter of a text would take quadratic time. Here
each word is put between line breaks, which no comparable text contains, so that one search in
linear time finds a quotation of whole words.
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
"""A word of a script with spaces between words. From Thai on (U+0E00) most scripts have none:
there a quotation may begin anywhere."""
_BORDER = "\n"
_UNSPACED = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Comparable:
    """A text or a quotation, normalised for comparison."""

    text: str
    """In normal form C, with one space for each run of white space and none around it."""
    bordered: str
    """`text` with each word between line breaks."""

    def holds(self, quotation: Comparable) -> bool:
        """Whether the text contains the quotation as whole words."""
        return bool(quotation.text) and quotation.bordered in self.bordered


def comparable(text: str) -> Comparable:
    """The text, normalised for comparison: Unicode's form C, single spaces, marked words."""
    return _bordered(on_one_line(composed(text)))


def find_quotation(quotation: Comparable, texts: Sequence[Comparable]) -> int | None:
    """The index of the first text that holds the quotation; `None` if none does."""
    return next((index for index, text in enumerate(texts) if text.holds(quotation)), None)


def is_substantial(quotation: Comparable, texts: Sequence[Comparable]) -> bool:
    """Whether the quotation has two words or six characters in words, or is one of the texts."""
    words = _WORD.findall(quotation.text)
    enough = len(words) >= _FEWEST_WORDS or sum(map(len, words)) >= _FEWEST_CHARACTERS
    return enough or quotation in texts


class Unproved(Exception):
    """The error that a quotation proves nothing; the message is the reason."""


def locate_quotation(quote: str, texts: Sequence[Comparable], *, is_proof: bool) -> int:
    """The index of the first text that holds the quoted words.

    Raises `Unproved` if the quotation is blank or no text holds it; with `is_proof` also if it is
    not substantial (`is_substantial`).
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
    """The (start, end) of each quotation in the text, end exclusive.

    `None` for a quotation that the text does not contain as whole words. The text must be in normal
    form C, or no quotation with composed characters is found.
    """
    whole = _bordered(on_one_line(text)).bordered
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
    """The position in a text for a position in its bordered form.

    `whole` is the bordered form (`Comparable.bordered`), `at` the position in it. `words` are the
    positions in the text where runs without white space begin.
    """
    word = whole.rfind(" ", 0, at) + 1
    return words[whole.count(" ", 0, at)] + (at - word) - whole.count(_BORDER, word, at)


def on_one_line(text: str) -> str:
    """The text with single spaces, and none around it."""
    return " ".join(text.split())


def _bordered(text: str) -> Comparable:
    return Comparable(text, _SPACED_WORD.sub(rf"{_BORDER}\g<0>{_BORDER}", text))
