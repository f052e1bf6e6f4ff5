"""Decides whether two shell commands are equivalent.

docs/reference/command-equivalence.md has the rules.
"""

from failproof_es.shell_analysis.equivalence.comparison import (
    RULES_VERSION,
    Equivalence,
    EquivalenceVerdict,
    compare,
    compare_many,
)

__all__ = ["RULES_VERSION", "Equivalence", "EquivalenceVerdict", "compare", "compare_many"]
