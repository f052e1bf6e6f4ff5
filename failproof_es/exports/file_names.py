"""Names of files and folders made of names that anybody may have chosen."""

from __future__ import annotations

import re

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|data)(\..*)?", re.IGNORECASE)
"""Names that some system or format keeps for itself."""


def file_name(text: str) -> str:
    """A name that every file system takes, and that leads nowhere: no separator, no `..`."""
    named = _NOT_IN_A_NAME.sub("-", text).strip(".-")[:_LONGEST].rstrip(".-")
    return f"{named}_" if _RESERVED.fullmatch(named) else named or "unnamed"
