"""Counts evaluations by a shared property: a model, a suite, a run. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from failproof_es.core.evaluation import Evaluation
from failproof_es.core.unscored import UnscoredKey
from failproof_es.events import Counts
from failproof_es.support.percentages import ratio


@dataclass(frozen=True, slots=True)
class BoundedRate:
    """A rate over the scored evaluations, and its bounds: all unscored ones failed, or passed.

    A score can be missing because of the answer itself, so the rate over all evaluations can be
    anywhere between the bounds.
    """

    passed: Fraction
    """Number of passes, or sum of accuracies, among the scored."""
    scored: int
    unscored: int

    @property
    def rate(self) -> float | None:
        """Rate over the scored; `None` without any."""
        return ratio(self.passed, self.scored)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Rate if all unscored had failed, and if all had passed; `None` without unscored."""
        if not self.unscored:
            return None
        total = self.scored + self.unscored
        return float(self.passed / total), float((self.passed + self.unscored) / total)


BOUNDS = ("if_unscored_failed", "if_unscored_passed")
"""Names of the two bounds of a rate in files for other tools."""


@dataclass(slots=True)
class Group:
    """Counts of finished evaluations with a shared property. Every field is additive."""

    finished: int = 0
    """`scored` and `abandoned` together."""
    scored: int = 0
    abandoned: int = 0
    awaiting: int = 0
    """Abandoned evaluations that wait for people, because no judge model decides them."""
    lost: int = 0
    """Abandoned evaluations without a usable answer of the model."""
    cases: int = 0
    """Cases whose first repetition is finished, so that a repeated case counts once."""
    passed: int = 0
    """Scored evaluations that pass, as decided by their dialect."""
    failed: int = 0
    """Scored evaluations that fail."""
    measured: int = 0
    """Scored evaluations with an accuracy."""
    accuracy_sum: Fraction = Fraction(0)
    """Exact sum of decimal accuracies: independent of their order, and ten times 0.1 is 1."""
    classes: Counter[str] = field(default_factory=Counter)
    """Number of evaluations by class."""

    def include(self, other: Group, times: int = 1) -> None:
        """Add another group; with `times=-1` subtract it."""
        self.finished += times * other.finished
        self.scored += times * other.scored
        self.abandoned += times * other.abandoned
        self.awaiting += times * other.awaiting
        self.lost += times * other.lost
        self.cases += times * other.cases
        self.passed += times * other.passed
        self.failed += times * other.failed
        self.measured += times * other.measured
        if other.measured:  # fractions are slow, and most added groups hold one evaluation
            self.accuracy_sum += other.accuracy_sum * times if times != 1 else other.accuracy_sum
        for name, count in other.classes.items():
            self.classes[name] += times * count

    @property
    def unscored(self) -> int:
        """Evaluations that ended without a score, for any reason."""
        return self.abandoned

    @property
    def missing(self) -> int:
        """Evaluations that ended without a score and do not wait for people."""
        return self.abandoned - self.awaiting

    @property
    def undecided(self) -> int:
        """Scored evaluations that neither pass nor fail: their dialect has no pass mark."""
        return self.scored - self.passed - self.failed

    @property
    def ungraded(self) -> int:
        """Answered evaluations that ended without a score, for another reason than people."""
        return self.missing - self.lost

    @property
    def bounded_accuracy(self) -> BoundedRate:
        """The accuracy, and its bounds."""
        return BoundedRate(self.accuracy_sum, self.measured, self.unscored)

    @property
    def bounded_pass_rate(self) -> BoundedRate:
        """The pass rate over the evaluations that passed or failed, and its bounds."""
        return BoundedRate(Fraction(self.passed), self.passed + self.failed, self.unscored)

    @property
    def accuracy(self) -> float | None:
        """Mean accuracy of the measured evaluations; `None` without any."""
        return self.bounded_accuracy.rate

    @property
    def success_rate(self) -> float | None:
        """Sum of accuracies divided by finished evaluations: a missing accuracy counts as 0.

        `None` if none is finished.
        """
        return ratio(self.accuracy_sum, self.finished)

    @property
    def pass_rate(self) -> float | None:
        """Passed evaluations divided by passed and failed ones; `None` without either."""
        return self.bounded_pass_rate.rate


@dataclass(slots=True)
class ModelTally:
    """The counts of one model's planned evaluations, for its gates: all, and by case attributes."""

    planned: int
    everything: Group = field(default_factory=Group)
    suites: dict[str, Group] = field(default_factory=dict)
    categories: dict[str, Group] = field(default_factory=dict)
    severities: dict[str, Group] = field(default_factory=dict)
    unscored: Counter[UnscoredKey] = field(default_factory=Counter)
    """Evaluations that ended without a score, by reason."""

    @property
    def scored(self) -> int:
        """Evaluations with a score."""
        return self.everything.scored

    @property
    def abandoned(self) -> int:
        """Evaluations that ended without a score."""
        return self.everything.abandoned

    @property
    def finished(self) -> int:
        """Evaluations that have their one final result."""
        return self.everything.finished


@dataclass(slots=True)
class Tally:
    """Number of planned evaluations, and of those that this process has seen end."""

    planned: int
    """Evaluations of all models."""
    scored: int = 0
    abandoned: int = 0

    def add(self, evaluation: Evaluation) -> None:
        """Count one finished evaluation."""
        self.scored += evaluation.score is not None
        self.abandoned += evaluation.score is None

    def counts(self) -> Counts:
        """The tally as `Counts`, which the events of a run's end carry."""
        return Counts(
            planned=self.planned,
            finished=self.scored + self.abandoned,
            scored=self.scored,
            abandoned=self.abandoned,
        )
