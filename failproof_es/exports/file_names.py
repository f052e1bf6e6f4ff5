"""File and folder names made of arbitrary text."""

from __future__ import annotations

import re

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_IN_ANY_NAME = re.compile(r"[^\w.-]+")
_LONGEST = 80
_MOST_BYTES = 150
"""Maximum bytes: file systems allow 255, and a time, a number and a suffix are added."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|data)(\..*)?", re.IGNORECASE)
"""Names that an operating system or a format reserves."""


def file_name(text: str, *, ascii_only: bool = True) -> str:
    """A file name made of `text` that every file system accepts, without separators and `..`.

    It is shortened to 80 characters; `unnamed` if nothing of the text is left. Without `ascii_only`
    it keeps letters and digits of every script.
    """
    unusable = _NOT_IN_A_NAME if ascii_only else _NOT_IN_ANY_NAME
    name = unusable.sub("-", text).strip(".-")[:_LONGEST]
    name = name.encode("utf-8", "replace")[:_MOST_BYTES].decode("utf-8", "ignore").rstrip(".-")
    return f"{name}_" if _RESERVED.fullmatch(name) else name or "unnamed"
