"""Breaks long lines for terminals; elsewhere every line stays whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from rich.cells import cell_len, chop_cells
from rich.console import Console

_WORD = re.compile(r"[^\s`]*`[^`\n]*`\S*|\S+")
"""A word, or a command between backticks: it is whole, so that it can be pasted."""
_INDENT = 2


def terminal_width(stream: TextIO) -> int | None:
    """The width in characters of the terminal that the stream is; `None` for anything else."""
    return Console(file=stream).width if stream.isatty() else None


def wrapped(text: str, width: int | None) -> str:
    """The text with line breaks between words, so that no line has more than `width` characters.

    The lines that follow a break are indented. With `None` as `width` the text is unchanged.
    """
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _wrap_line(line, width))


def with_end_cut(text: str, width: int) -> str:
    """The first `width - 1` columns of a terminal, and `…`; a wide character has two columns."""
    return chop_cells(text, max(width - 1, 1))[0] + "…"


def _wrap_line(line: str, width: int) -> Iterator[str]:
    if cell_len(line) <= width:
        yield line
        return
    begin = line[: len(line) - len(line.lstrip())]
    indent = begin + " " * _INDENT
    part = begin
    for word in _WORD.findall(line):
        joined = f"{part} {word}" if part.strip() else part + word
        if cell_len(joined) <= width or not part.strip():
            part = joined
        else:
            yield from _pieces(part, width)
            part = indent + word
    yield from _pieces(part, width)


def _pieces(part: str, width: int) -> list[str]:
    """A part of a line, in pieces if even its only word is too long; a command stays whole."""
    return [part] if "`" in part else chop_cells(part, width) or [part]
