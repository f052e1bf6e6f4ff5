"""Problems as tests compare them: by field and code, not by their sentences."""

from __future__ import annotations

from failproof_es.problems import InvalidInput


def coded(error: InvalidInput) -> str:
    """Each problem's field and code, such as `selection.limit: out-of-range`; joined by commas."""
    return ", ".join(f"{problem.field}: {problem.code}" for problem in error.problems)
