"""Counts evaluations by a shared property: a model, a suite, a run. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from failproof_es.core.evaluation import Evaluation
from failproof_es.events import Counts


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
    def accuracy(self) -> float | None:
        """The mean of those that have one; `None` where none has."""
        return float(self.accuracy_sum / self.measured) if self.measured else None

    @property
    def success_rate(self) -> float | None:
        """Accuracy summed over finished: what has none counts as 0. `None` of nothing."""
        return float(self.accuracy_sum / self.finished) if self.finished else None

    @property
    def pass_rate(self) -> float | None:
        """Passed of those that passed or failed; `None` where none did either."""
        of = self.passed + self.failed
        return self.passed / of if of else None


@dataclass(slots=True)
class ModelTally:
    """The counts of one model's planned evaluations, for its gates."""

    planned: int
    everything: Group = field(default_factory=Group)
    suites: dict[str, Group] = field(default_factory=dict)
    categories: dict[str, Group] = field(default_factory=dict)
    severities: dict[str, Group] = field(default_factory=dict)
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Those that ended because no usable answer came, by kind and reason."""

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
