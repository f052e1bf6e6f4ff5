"""How severe the failure of a case is, and the order of severities. Pure."""

from __future__ import annotations

from failproof_es.core.case import Case

TAG = "severity:"
"""Prefix of the tag that gives the severity of a case whose dialect has none."""
_WORDS = (
    ("s0", "p0", "critical", "blocker"),
    ("s1", "p1", "high", "major"),
    ("s2", "p2", "medium", "moderate"),
    ("s3", "p3", "low", "minor"),
    ("s4", "p4", "info", "trivial"),
)
"""Words of the same severity, the most severe first."""
_RANKS = {word: rank for rank, words in enumerate(_WORDS) for word in words}


def severity_of(case: Case) -> str | None:
    """The case's own severity, else that of its first tag `severity:WORD`; `None` without both."""
    tags = (tag.removeprefix(TAG) for tag in case.tags if tag.startswith(TAG))
    return case.severity or next(tags, None)


def severity_rank(severity: str | None) -> int:
    """The place in the order of severities, the most severe first: an unknown word comes after all
    known ones, no severity last."""
    if severity is None:
        return len(_WORDS) + 1
    return _RANKS.get(severity.strip().lower(), len(_WORDS))
