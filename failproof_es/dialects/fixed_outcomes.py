"""Finds cases with a fixed outcome: any answer passes, or no answer can.

They are counted beside every accuracy, because they raise or lower it whatever a model answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from failproof_es.core.case import Case
from failproof_es.dialects.protocol import Dialect, FixedOutcome, HasFixedOutcomes
from failproof_es.support.plurals import plural


def fixed_outcome(dialect: Dialect, case: Case) -> FixedOutcome | None:
    """The case's fixed outcome; `None` where the answer decides."""
    return dialect.fixed_outcome(case) if isinstance(dialect, HasFixedOutcomes) else None


@dataclass(slots=True)
class FixedOutcomeCounts:
    """Counts of cases, and of those with a fixed outcome."""

    cases: int = 0
    any_passes: int = 0
    none_passes: int = 0

    def add(self, found: FixedOutcome | None) -> None:
        """Count one more case."""
        self.cases += 1
        self.any_passes += found == "any_passes"
        self.none_passes += found == "none_passes"

    def lines(self) -> Iterator[str]:
        """A sentence for each fixed outcome that occurs, without a full stop."""
        if self.any_passes:
            verb = "expects" if self.any_passes == 1 else "expect"
            yield f"{self._share(self.any_passes)} {verb} nothing: any answer passes"
        if self.none_passes:
            yield f"{self._share(self.none_passes)} can never be met: no answer passes"

    def _share(self, count: int) -> str:
        return f"{count:,} of {plural(self.cases, 'case')}"
