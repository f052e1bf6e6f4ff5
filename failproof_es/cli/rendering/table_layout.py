"""The widths of a table's columns, so that it fits a terminal and no word is broken needlessly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from failproof_es.cli.rendering.output import Column

_NARROWEST = 10
"""The minimum width of a text column, in characters."""
_LONGEST_WORD = 24
"""A longer word may be broken."""


Cells = Sequence[Sequence[str]]


def natural_width(columns: Sequence[Column], cells: Cells) -> int:
    """The characters that a table needs for every text on one line, with usual padding."""
    return sum(_preferred_widths(columns, cells)) + 3 * len(columns) + 1


def fitting_layout(
    columns: Sequence[Column], cells: Cells, width: int
) -> tuple[int, list[int]] | None:
    """The padding of the columns, and the width of each; `None` if the table cannot fit.

    Less padding comes before wrapped texts, wrapped headings come last.
    """
    preferred = _preferred_widths(columns, cells)
    for padding in (1, 0):
        if sum(preferred) + len(columns) * (1 + 2 * padding) < width:
            return padding, preferred
    for padding, wraps_headings in ((1, False), (0, False), (0, True)):
        between = len(columns) * (1 + 2 * padding) + 1
        if widths := _widths(columns, cells, width - between, wraps_headings):
            return padding, widths
    return None


def _preferred_widths(columns: Sequence[Column], cells: Cells) -> list[int]:
    return [
        max(cell_len(column.heading), *(cell_len(row[at]) for row in cells), 0)
        for at, column in enumerate(columns)
    ]


def _widths(
    columns: Sequence[Column], cells: Cells, room: int, wraps_headings: bool
) -> list[int] | None:
    """The width of each column in characters; `None` if all together exceed `room`.

    The widest are narrowed first. Numbers stay whole, and so do the words of headings and texts.
    """
    least = [
        max(
            _longest_word([column.heading]) if wraps_headings else cell_len(column.heading),
            _least_width(column, [row[at] for row in cells]),
        )
        for at, column in enumerate(columns)
    ]
    if sum(least) > room:
        return None
    widths = [min(width, room) for width in _preferred_widths(columns, cells)]
    while sum(widths) > room:
        narrowable = (at for at, width in enumerate(widths) if width > least[at])
        widths[max(narrowable, key=widths.__getitem__)] -= 1
    return widths


def _least_width(column: Column, texts: Sequence[str]) -> int:
    """The width of a column's widest number, or of its longest word up to a limit."""
    longest = max(map(cell_len, texts), default=0)
    if column.right:
        return longest
    return max(min(longest, _NARROWEST), min(_longest_word(texts), _LONGEST_WORD))


def _longest_word(texts: Iterable[str]) -> int:
    return max((cell_len(word) for text in texts for word in text.split()), default=0)
