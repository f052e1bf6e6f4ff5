"""How the planned evaluations of a run stand, counted as they finish. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from failproof_es.case import Case
from failproof_es.evaluation import Evaluation, awaits_review
from failproof_es.events import Counts


@dataclass(slots=True)
class Group:
    """Finished evaluations that have something in common."""

    finished: int = 0
    measured: int = 0
    """Those that have an accuracy."""
    failed: int = 0
    """Those whose accuracy is under 1."""
    accuracy_sum: Fraction = Fraction(0)
    """Exact, so that it does not depend on the order in which evaluations finish."""
    awaiting: int = 0
    """Those that no judge model decides, and people have to."""

    def add(self, accuracy: float | None, *, awaiting: bool = False) -> None:
        """Count one more; without an accuracy it is finished and not measured."""
        self.finished += 1
        self.awaiting += awaiting
        if accuracy is not None:
            self.measured += 1
            self.failed += accuracy < 1
            self.accuracy_sum += Fraction(accuracy)

    def include(self, other: Group) -> None:
        """Count all of another group in."""
        self.finished += other.finished
        self.measured += other.measured
        self.failed += other.failed
        self.accuracy_sum += other.accuracy_sum
        self.awaiting += other.awaiting

    @property
    def accuracy(self) -> float | None:
        """The mean of those that have one; `None` where none has."""
        return float(self.accuracy_sum / self.measured) if self.measured else None

    @property
    def success_rate(self) -> float | None:
        """Accuracy summed over finished: what has none counts as 0. `None` of nothing."""
        return float(self.accuracy_sum / self.finished) if self.finished else None


_REASONS = 20
"""So many reasons are told apart; of more the kinds are counted."""


@dataclass(slots=True)
class ModelTally:
    """How the planned evaluations of one model stand."""

    planned: int
    scored: int = 0
    abandoned: int = 0
    everything: Group = field(default_factory=Group)
    suites: dict[str, Group] = field(default_factory=dict)
    categories: dict[str, Group] = field(default_factory=dict)
    severities: dict[str, Group] = field(default_factory=dict)
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Those that ended because no usable answer came, by kind and reason.

    Where there are many reasons, the later ones stand under an empty one."""

    @property
    def finished(self) -> int:
        """Evaluations that have their one final result."""
        return self.scored + self.abandoned

    def add(self, evaluation: Evaluation, case: Case) -> None:
        """Count one finished evaluation of this case."""
        score = evaluation.score
        self.scored += score is not None
        self.abandoned += score is None
        accuracy = None if score is None else score.scores.get("accuracy")
        awaiting = awaits_review(evaluation)
        self.everything.add(accuracy, awaiting=awaiting)
        self._lose(evaluation)
        for groups, name in (
            (self.suites, case.suite_id),
            (self.categories, case.category),
            (self.severities, case.severity),
        ):
            if name is not None:
                groups.setdefault(name, Group()).add(accuracy, awaiting=awaiting)

    def _lose(self, evaluation: Evaluation) -> None:
        ended = evaluation.abandoned
        if ended is not None and evaluation.lost:
            why = ended.kind, ended.reason
            known = why in self.lost or len(self.lost) < _REASONS
            self.lost[why if known else (ended.kind, "")] += 1


@dataclass(slots=True)
class Tally:
    """How the planned evaluations stand, of each model by itself."""

    models: dict[str, ModelTally]
    """By the key of the model, in the order of the configuration."""

    @classmethod
    def of(cls, planned: int, models: Sequence[str]) -> Tally:
        """Nothing finished yet, of so many evaluations in all: of each model as many."""
        return cls({key: ModelTally(planned // len(models)) for key in models})

    def add(self, model_key: str, evaluation: Evaluation, case: Case) -> None:
        """Count one finished evaluation of this case by this model."""
        self.models[model_key].add(evaluation, case)

    @property
    def planned(self) -> int:
        """Evaluations of all models."""
        return sum(each.planned for each in self.models.values())

    @property
    def lost(self) -> int:
        """Evaluations to which no usable answer came."""
        return sum(model.lost.total() for model in self.models.values())

    @property
    def finished(self) -> int:
        """Evaluations that have their one final result."""
        return sum(model.finished for model in self.models.values())

    def counts(self) -> Counts:
        """The tally as an event carries it."""
        return Counts(
            planned=self.planned,
            finished=self.finished,
            scored=sum(each.scored for each in self.models.values()),
            abandoned=sum(each.abandoned for each in self.models.values()),
        )
