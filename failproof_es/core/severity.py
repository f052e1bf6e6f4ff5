"""The severity of a failed case, and the order of severities. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

TAG = "severity:"
"""Prefix of the tag that gives the severity of a case whose dialect has none."""
WORDS = (
    ("s0", "p0", "critical", "blocker"),
    ("s1", "p1", "high", "major"),
    ("s2", "p2", "medium", "moderate"),
    ("s3", "p3", "low", "minor"),
    ("s4", "p4", "info", "trivial"),
)
"""Words of the same severity, the most severe first."""
_OF_CASES = WORDS[:4]
"""The severities that the document of a case can have."""
WORDS_OF_CASES = f"S0 to S3, {', '.join(word for _, *words in _OF_CASES for word in words)}"
"""The words that `severity_named` knows, for messages."""
_RANKS = {word: rank for rank, words in enumerate(WORDS) for word in words}


class Rated(Protocol):
    """The attributes of a case that give its severity."""

    @property
    def severity(self) -> str | None: ...

    @property
    def tags(self) -> Sequence[str]: ...


def severity_of(case: Rated) -> str | None:
    """The case's own severity, else that of its first tag `severity:WORD`; `None` without both.

    Orders, filters, gates and exports use this severity, never the attribute alone.
    """
    tags = (tag.removeprefix(TAG) for tag in case.tags if tag.startswith(TAG))
    return case.severity or next(filter(None, tags), None)


def severity_named(word: str) -> str | None:
    """`S0` to `S3` for a word of that severity, whatever its letter case; `None` for another."""
    rank = severity_rank(word)
    return _OF_CASES[rank][0].upper() if rank < len(_OF_CASES) else None


def severity_rank(severity: str | None) -> int:
    """The place in the order of severities, the most severe first: an unknown word comes after all
    known ones, no severity last."""
    if severity is None:
        return len(WORDS) + 1
    return _RANKS.get(severity.strip(" ").lower(), len(WORDS))


def words_of_severity(word: str) -> tuple[str, ...]:
    """All words of the same severity, in lower case; empty for an unknown word."""
    rank = severity_rank(word)
    return WORDS[rank] if rank < len(WORDS) else ()


def is_same_severity(word: str, other: str) -> bool:
    """Whether two words are of one severity: of one rank if it is known, else the same word."""
    rank = severity_rank(word)
    return rank == severity_rank(other) and (rank < len(WORDS) or word == other)


def severity_order(severity: str) -> tuple[int, str]:
    """Sort key of severities: by `severity_rank`, words of one rank by their letters."""
    return severity_rank(severity), severity
