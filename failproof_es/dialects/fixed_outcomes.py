"""Finds cases with a fixed outcome: any answer passes, no answer can, or nothing decides.

Such cases raise or lower an accuracy whatever a model answers. So they are named before a run
begins, counted beside every accuracy, and recorded as a finding of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from failproof_es.core.case import Case
from failproof_es.dialects.protocol import Dialect, FixedOutcome, HasFixedOutcomes
from failproof_es.support.plurals import plural


def fixed_outcomes_of(dialect: Dialect) -> Callable[[Case], FixedOutcome | None]:
    """The function that gives the fixed outcome of each of a dialect's cases.

    Its result is `None` for a case whose answer decides, and for every case of a dialect that has
    no such function.
    """
    return dialect.fixed_outcome if isinstance(dialect, HasFixedOutcomes) else lambda case: None


FIXED_OUTCOME = "fixed_outcome"
"""The kind of a run's findings about cases with a fixed outcome."""

_LINES: Mapping[FixedOutcome, str] = {
    "any_passes": "{count} {expects} nothing: any answer passes",
    "none_passes": "{count} can never be met: no answer passes",
    "no_verdict": "{count} {expects} nothing that is checked: only people can decide",
}


@dataclass(slots=True)
class FixedOutcomeCounts:
    """The number of cases, and of cases with each fixed outcome.

    The names of the counts are those of `FixedOutcome`, which `protocol` explains.
    """

    cases: int = 0
    any_passes: int = 0
    none_passes: int = 0
    no_verdict: int = 0

    def add(self, outcome: FixedOutcome | None) -> None:
        """Count one more case. `outcome` is `None` if the case has no fixed outcome."""
        self.cases += 1
        if outcome is not None:
            setattr(self, outcome, getattr(self, outcome) + 1)

    def include(self, other: FixedOutcomeCounts) -> None:
        """Add the counts in `other`, which are of other cases."""
        self.cases += other.cases
        for outcome in _LINES:
            setattr(self, outcome, getattr(self, outcome) + getattr(other, outcome))

    def lines(self, noun: str = "case") -> Iterator[str]:
        """A sentence for each fixed outcome that occurs, without a full stop.

        `noun` is the singular of the word that the sentences use for a case.
        """
        for outcome, line in _LINES.items():
            if count := getattr(self, outcome):
                share = f"{count:,} of {plural(self.cases, noun)}"
                yield line.format(count=share, expects="expects" if count == 1 else "expect")
