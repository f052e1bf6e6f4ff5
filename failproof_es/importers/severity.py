"""Other tools' words for a severity as `S0` to `S3`. Pure."""

from __future__ import annotations

from collections.abc import Mapping

_SEVERITIES: Mapping[str, str] = {
    "critical": "S0", "blocker": "S0", "high": "S1", "major": "S1", "medium": "S2",
    "moderate": "S2", "low": "S3", "minor": "S3",
}  # fmt: skip
WORDS = f"S0 to S3, {', '.join(_SEVERITIES)}"
"""The words that mean a severity, for messages."""


def severity_of(word: str) -> str | None:
    """The severity that a word means, whatever its letter case; `None` if it means none."""
    plain = word.strip().lower()
    is_own = plain in ("s0", "s1", "s2", "s3")
    return plain.upper() if is_own else _SEVERITIES.get(plain)
