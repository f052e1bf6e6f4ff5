"""Counts evaluations by a shared property: a model, a suite, a run. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from failproof_es.core.evaluation import Evaluation
from failproof_es.core.unscored import UnscoredKey
from failproof_es.events import Counts
from failproof_es.support.percentages import ratio


class VerdictCounts(Protocol):
    """Counts of evaluations by their verdict."""

    @property
    def passed(self) -> int:
        """Those that pass."""

    @property
    def failed(self) -> int:
        """Those that do not."""

    @property
    def unscored(self) -> int:
        """Those that ended without a score."""


@dataclass(frozen=True, slots=True)
class RateBounds:
    """A rate over what was scored, and what it would be had everything unscored failed or passed.

    What has no score may be missing because of what was answered, so the rate over the rest alone
    can be any rate between the two.
    """

    passed: Fraction
    """The sum of the scored: of verdicts their number, of accuracies their sum."""
    scored: int
    unscored: int

    @property
    def rate(self) -> float | None:
        """Over the scored alone; `None` of nothing."""
        return ratio(self.passed, self.scored)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The rate had everything unscored failed, and had it passed; `None` without any."""
        if not self.unscored:
            return None
        total = self.scored + self.unscored
        return float(self.passed / total), float((self.passed + self.unscored) / total)


BOUNDS = ("if_unscored_failed", "if_unscored_passed")
"""What files of other tools call the two bounds of a rate."""


def pass_bounds(counts: VerdictCounts) -> RateBounds:
    """The pass rate of these counts, and its bounds."""
    return RateBounds(Fraction(counts.passed), counts.passed + counts.failed, counts.unscored)


@dataclass(slots=True)
class Group:
    """Counts of finished evaluations with a shared property. All of them can be added."""

    finished: int = 0
    """`scored` and `abandoned` together."""
    scored: int = 0
    abandoned: int = 0
    awaiting: int = 0
    """Those abandoned that no judge model decides, and people have to."""
    cases: int = 0
    """Cases whose first repetition is finished: one that is asked three times is one case."""
    passed: int = 0
    """Those of the scored that pass, as their dialect says."""
    failed: int = 0
    """Those of the scored that do not."""
    measured: int = 0
    """Those of the scored that have an accuracy."""
    accuracy_sum: Fraction = Fraction(0)
    """Exact, as they are written: no order of finishing shows in it, and ten tenths are one."""
    classes: Counter[str] = field(default_factory=Counter)
    """How many are of which class."""

    def include(self, other: Group, times: int = 1) -> None:
        """Add all of another group; with -1 subtract it."""
        self.finished += times * other.finished
        self.scored += times * other.scored
        self.abandoned += times * other.abandoned
        self.awaiting += times * other.awaiting
        self.cases += times * other.cases
        self.passed += times * other.passed
        self.failed += times * other.failed
        self.measured += times * other.measured
        if other.measured:  # fractions are slow, and most groups that are added are of one
            self.accuracy_sum += other.accuracy_sum * times if times != 1 else other.accuracy_sum
        for name, count in other.classes.items():
            self.classes[name] += times * count

    @property
    def unscored(self) -> int:
        """Those that ended without a score, whatever the cause."""
        return self.abandoned

    @property
    def missing(self) -> int:
        """Those that ended without a score, by another cause than waiting for people."""
        return self.abandoned - self.awaiting

    @property
    def accuracies(self) -> RateBounds:
        """The accuracy, and its bounds."""
        return RateBounds(self.accuracy_sum, self.measured, self.unscored)

    @property
    def passes(self) -> RateBounds:
        """The pass rate, and its bounds."""
        return pass_bounds(self)

    @property
    def accuracy(self) -> float | None:
        """The mean of those that have one; `None` where none has."""
        return self.accuracies.rate

    @property
    def success_rate(self) -> float | None:
        """Accuracy summed over finished: what has none counts as 0. `None` of nothing."""
        return ratio(self.accuracy_sum, self.finished)

    @property
    def pass_rate(self) -> float | None:
        """Passed of those that passed or failed; `None` where none did either."""
        return self.passes.rate


@dataclass(slots=True)
class ModelTally:
    """The counts of one model's planned evaluations, for its gates."""

    planned: int
    everything: Group = field(default_factory=Group)
    suites: dict[str, Group] = field(default_factory=dict)
    categories: dict[str, Group] = field(default_factory=dict)
    severities: dict[str, Group] = field(default_factory=dict)
    unscored: Counter[UnscoredKey] = field(default_factory=Counter)
    """Those that ended without a score, by why."""

    @property
    def scored(self) -> int:
        """Evaluations with a score."""
        return self.everything.scored

    @property
    def abandoned(self) -> int:
        """Evaluations that ended without one."""
        return self.everything.abandoned

    @property
    def finished(self) -> int:
        """Evaluations that have their one final result."""
        return self.everything.finished


@dataclass(slots=True)
class Tally:
    """How many of the planned evaluations a drive has seen end; that is all it needs to know."""

    planned: int
    """Evaluations of all models."""
    scored: int = 0
    abandoned: int = 0

    def add(self, evaluation: Evaluation) -> None:
        """Count one finished evaluation."""
        self.scored += evaluation.score is not None
        self.abandoned += evaluation.score is None

    def counts(self) -> Counts:
        """The tally as an event carries it."""
        return Counts(
            planned=self.planned,
            finished=self.scored + self.abandoned,
            scored=self.scored,
            abandoned=self.abandoned,
        )
