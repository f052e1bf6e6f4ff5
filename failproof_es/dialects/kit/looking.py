"""Recognises files by their first bytes: a cheap check that never raises."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path

LINES = 20
"""So many lines are looked at."""
LINE_BYTES = 65_536
"""So much of each."""


def first_lines_contain(path: Path, marks: Iterable[bytes], suffixes: Collection[str]) -> bool:
    """Whether one of the file's first lines holds one of the marks, such as `b'"case_id"'`.

    `False` for another suffix than `suffixes`, and for what can't be read.
    """
    if path.suffix.lower() not in suffixes:
        return False
    try:
        with path.open("rb") as stream:
            head = list(islice(iter(lambda: stream.readline(LINE_BYTES), b""), LINES))
    except OSError:
        return False
    all_marks = tuple(marks)
    return any(mark in line for line in head for mark in all_marks)
