"""Make untrusted text safe to show in a terminal, which would obey control characters.

`failproof_es.support.untrusted_text` defines unsafe characters and their escapes; this module
applies them to JSON.
"""

from __future__ import annotations

import re

from failproof_es.support.untrusted_text import UNSAFE_IN_LINES, lines, one_line, shortened

__all__ = ["json_text", "lines", "one_line", "shortened"]


def json_text(document: str) -> str:
    """An equivalent JSON document that is safe to show.

    Outside its strings JSON has no unsafe character but white space, so each one can become the
    `\\uXXXX` that JSON itself allows.
    """
    return UNSAFE_IN_LINES.sub(_json_escape, document)


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
