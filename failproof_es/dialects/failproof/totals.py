"""A run's accuracy, two ways: over all its cases, and as the mean of its suites' means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum


@dataclass(slots=True)
class SuiteTotals:
    """One suite: evaluations by primary class, and the accuracy of those with a score."""

    classes: Counter[str] = field(default_factory=Counter)
    scored: int = 0
    correct: float = 0.0

    @property
    def evaluations(self) -> int:
        """All evaluations, scored or not."""
        return self.classes.total()

    @property
    def accuracy(self) -> float | None:
        """The mean accuracy of the scored evaluations; `None` when there is none."""
        return self.correct / self.scored if self.scored else None


@dataclass(frozen=True, slots=True)
class Totals:
    """A run: its suites in the order seen, and both overall numbers."""

    suites: Mapping[str, SuiteTotals]
    accuracy_by_case: float | None
    """Every scored evaluation counts the same: large suites weigh more."""
    accuracy_by_suite: float | None
    """Every suite with a scored evaluation counts the same, whatever its size."""
    classes: Mapping[str, int]
    scored: int
    evaluations: int


def totals(rows: Iterable[tuple[str, float | None, str | None]]) -> Totals:
    """Add up (suite_id, accuracy or `None` when not scored, primary class or `None`).

    Independent of the order of the rows, suites' order aside. An evaluation without a
    class counts as `unclassified`.
    """
    suites: dict[str, SuiteTotals] = {}
    for suite_id, accuracy, primary in rows:
        suite = suites.setdefault(suite_id, SuiteTotals())
        suite.classes[primary or "unclassified"] += 1
        if accuracy is not None:
            suite.scored += 1
            suite.correct += accuracy
    scored = sum(suite.scored for suite in suites.values())
    means = [suite.accuracy for suite in suites.values() if suite.accuracy is not None]
    return Totals(
        suites=suites,
        accuracy_by_case=fsum(s.correct for s in suites.values()) / scored if scored else None,
        accuracy_by_suite=fsum(means) / len(means) if means else None,
        classes=sum((suite.classes for suite in suites.values()), Counter()),
        scored=scored,
        evaluations=sum(suite.evaluations for suite in suites.values()),
    )
