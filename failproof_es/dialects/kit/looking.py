"""Recognises files by their first bytes: a cheap check that never raises."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path

LINES = 20
"""Lines that are read of a file."""
LINE_BYTES = 65_536
"""Bytes that are read of each line."""


def first_lines_contain(path: Path, marks: Iterable[bytes], suffixes: Collection[str]) -> bool:
    """Whether one of the file's first 20 lines holds one of the marks, such as `b'"case_id"'`.

    `False` for other suffixes than `suffixes`, which are in lower case, and for an unreadable file.
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
