"""Recognises files by their first bytes: a cheap check that never raises."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path

HEAD_BYTES = 65_536
"""Bytes that are read of a file whose format is not one of lines."""
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


def head_of(path: Path, suffixes: Collection[str]) -> bytes:
    """The file's first 64 KiB; empty for other suffixes, in lower case, and an unreadable file."""
    if path.suffix.lower() not in suffixes:
        return b""
    try:
        with path.open("rb") as stream:
            return stream.read(HEAD_BYTES)
    except OSError:
        return b""


def has_yaml_key(head: bytes, keys: Iterable[bytes]) -> bool:
    """Whether a line of YAML begins with one of the keys, or with braces that hold one.

    Also in quotes, and in an item of a list.
    """
    names = b"|".join(map(re.escape, keys))
    key = rb"^[ \t\[-]*(?:[{,](?:[^\n]*?[,{])?[ \t]*)?[\"']?(?:" + names + rb")[\"']?[ \t]*:"
    return re.search(key, head, re.MULTILINE) is not None
