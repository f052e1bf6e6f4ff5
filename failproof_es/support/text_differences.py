"""Differences of two texts: by lines, equal and repeated ones folded, or by words. Pure.

Texts may be hostile: only their first lines are compared, each truncated, so that time and memory
are bounded. Lines that are left out are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal, NamedTuple

from failproof_es.support.untrusted_text import shortened

MOST_LINES = 200
LONGEST_LINE = 1_000
CONTEXT = 2
"""Equal lines that are shown on either side of a difference."""

Kind = Literal["same", "base", "other", "folded"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of both texts (`same`), of one (`base`, `other`), or a fold of hidden equal lines."""

    kind: Kind
    text: str
    times: int
    """Consecutive repetitions of the line; for `folded` the number of lines left out."""


@dataclass(frozen=True, slots=True)
class TextDifference:
    """The differences of two texts. Lines after the compared ones are only counted."""

    same: bool
    """Whether the compared lines are equal."""
    lines: tuple[DiffLine, ...]
    lines_left_out: int
    """Lines of either text after the compared ones; consecutive equal lines count once."""


def text_difference(base: str, other: str) -> TextDifference:
    """The differences of `base` and `other`, line by line, in the order of the texts.

    Compared are the first 200 lines of each, consecutive equal lines as one.
    """
    one, more_one = _rows(base)
    two, more_two = _rows(other)
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    lines: list[DiffLine] = []
    blocks = matcher.get_opcodes()
    for at, (what, a, b, c, d) in enumerate(blocks):
        if what == "equal":
            lines += _equal(one[a:b], first=at == 0, last=at == len(blocks) - 1)
        else:
            lines += [DiffLine("base", text, times) for text, times in one[a:b]]
            lines += [DiffLine("other", text, times) for text, times in two[c:d]]
    same = all(what == "equal" for what, *_ in blocks)
    return TextDifference(same, tuple(lines), more_one + more_two)


def _rows(text: str) -> tuple[list[tuple[str, int]], int]:
    """The first lines of a text, each with its count of repetitions; the number of lines cut.

    Consecutive equal lines are one line here.
    """
    rows = [
        (shortened(line, LONGEST_LINE), sum(1 for _ in same))
        for line, same in groupby(text.split("\n") if text else ())
    ]
    return rows[:MOST_LINES], max(len(rows) - MOST_LINES, 0)


def _equal(rows: Sequence[tuple[str, int]], *, first: bool, last: bool) -> Iterator[DiffLine]:
    """Equal lines with all but two at either side of a difference folded.

    `first` and `last`: the lines begin or end the text, so no difference is on that side.
    """
    before = 0 if first else CONTEXT
    after = 0 if last else CONTEXT
    if len(rows) <= before + after + 1:
        yield from (DiffLine("same", text, times) for text, times in rows)
        return
    end = len(rows) - after
    yield from (DiffLine("same", text, times) for text, times in rows[:before])
    yield DiffLine("folded", "", sum(times for _, times in rows[before:end]))
    yield from (DiffLine("same", text, times) for text, times in rows[end:])


MOST_MARKED = 4_000
"""Number of characters up to which two texts are compared word by word."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class MarkedPart(NamedTuple):
    """A part of a text, and whether the other text lacks it."""

    text: str
    differs: bool


class MarkedDifference(NamedTuple):
    """Two texts in parts, so that the differences can be marked in each."""

    base: tuple[MarkedPart, ...]
    other: tuple[MarkedPart, ...]

    def in_one_line(self) -> str:
        """Both texts as one: `Paris, [-France-]{+Texas+}`."""
        merged, others = [], iter(self.other)
        for part in self.base:
            if part.differs:
                merged.append(f"[-{part.text}-]")
            else:
                merged.extend(_added_before(others))
                merged.append(part.text)
        return "".join([*merged, *_added_before(others)])


def marked_difference(base: str | None, other: str | None) -> MarkedDifference | None:
    """The words in which two texts differ, such as what was expected and what came.

    `None` where marks tell a reader nothing: without either text, for equal texts, for texts of
    more than `MOST_MARKED` characters, and if less than half of the words of `base` recur in order.
    """
    if base is None or other is None or base == other:
        return None
    if max(len(base), len(other)) > MOST_MARKED:
        return None
    one, two = _WORD.findall(base), _WORD.findall(other)
    blocks = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    words = sum(map(str.isalnum, one))
    alike = sum(word.isalnum() for what, a, b, *_ in blocks if what == "equal" for word in one[a:b])
    if not alike or 2 * alike < words:
        return None
    return MarkedDifference(
        _marked(one, [(a, b, what != "equal") for what, a, b, _, _ in blocks]),
        _marked(two, [(c, d, what != "equal") for what, _, _, c, d in blocks]),
    )


def _added_before(parts: Iterator[MarkedPart]) -> Iterator[str]:
    """The parts of the other text up to its next equal part, which is consumed."""
    for part in parts:
        if not part.differs:
            return
        yield f"{{+{part.text}+}}"


def _marked(words: Sequence[str], spans: Iterable[tuple[int, int, bool]]) -> tuple[MarkedPart, ...]:
    return tuple(
        MarkedPart("".join(words[start:end]), differs)
        for start, end, differs in spans
        if end > start
    )
