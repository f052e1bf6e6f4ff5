"""Writes counts in sentences, with singular and plural."""

from __future__ import annotations


def plural(count: int, noun: str, plural: str | None = None) -> str:
    """So many of a thing: `1 case`, `2,000 cases`, `0 replies` where a plural is given."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
