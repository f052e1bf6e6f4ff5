"""Finds the ends of here-documents line by line, without a parser."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

_OPENS = re.compile(r"(?<!<)<<-?\s*(?:(['\"])(?P<quoted>[^'\"\n]+)\1|\\?(?P<plain>[A-Za-z_]\w*))")


def line_ends(lines: Sequence[str]) -> list[int]:
    """For each line the index of the next line behind it and the here-documents that it opens.

    A here-document without its closing line is ignored.
    """
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(index)
    ends = []
    for index, line in enumerate(lines):
        end = index + 1
        for opened in _OPENS.finditer(line) if "<<" in line else ():
            closing = places.get(opened["quoted"] or opened["plain"], [])
            nearest = bisect_right(closing, end - 1)
            end = closing[nearest] + 1 if nearest < len(closing) else end
        ends.append(end)
    return ends
