"""Writes counts in sentences, with singular and plural."""

from __future__ import annotations


def plural(count: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: `1 case`, `2,000 cases`.

    `plural` is an irregular plural: `0 replies`.
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
