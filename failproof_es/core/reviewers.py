"""The names of the people who review."""

from __future__ import annotations

from failproof_es.support.untrusted_text import one_line

LONGEST_NAME = 200


def reviewer_name(text: str) -> str:
    """The name without white space around it.

    Raises `ValueError` unless it has 1 to 200 visible characters on one line.
    """
    name = text.strip()
    if not name or len(name) > LONGEST_NAME or one_line(name) != name:
        raise ValueError(f"a name has 1 to {LONGEST_NAME} visible characters")
    return name
