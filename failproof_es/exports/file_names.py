"""Names of files and folders made of names that anybody may have chosen."""

from __future__ import annotations

import re

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_IN_ANY_NAME = re.compile(r"[^\w.-]+")
_LONGEST = 80
_MOST_BYTES = 150
"""A name on disk may have 255, and is made longer by a time, a number and a suffix."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|data)(\..*)?", re.IGNORECASE)
"""Names that some system or format keeps for itself."""


def file_name(text: str, *, ascii_only: bool = True) -> str:
    """A name that every file system takes, and that leads nowhere: no separator, no `..`.

    Without `ascii_only` it keeps letters and digits of every script.
    """
    unusable = _NOT_IN_A_NAME if ascii_only else _NOT_IN_ANY_NAME
    name = unusable.sub("-", text).strip(".-")[:_LONGEST]
    name = name.encode("utf-8", "replace")[:_MOST_BYTES].decode("utf-8", "ignore").rstrip(".-")
    return f"{name}_" if _RESERVED.fullmatch(name) else name or "unnamed"
