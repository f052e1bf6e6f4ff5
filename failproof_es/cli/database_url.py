"""Show a database URL without the password in it."""

from __future__ import annotations

import re

_IN_AUTHORITY = re.compile(r"(\w+://[^\s/@:]*):[^\s@]*@")
_AS_PARAMETER = re.compile(
    r"(?i)\b(password|passfile|sslpassword)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]*)"
)


def masked(text: str) -> str:
    """`text` with the password of every database URL or connection string in it as `***`."""
    return _AS_PARAMETER.sub(r"\1=***", _IN_AUTHORITY.sub(r"\1:***@", text))
