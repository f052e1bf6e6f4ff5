"""How the planned evaluations of a run stand, counted as they finish. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from failproof_es.case import Case
from failproof_es.evaluation import Evaluation, awaits_review
from failproof_es.events import Counts
from failproof_es.exact import exact


@dataclass(slots=True)
class Group:
    """Finished evaluations that have something in common. All of it can be added up."""

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

    def add(
        self, accuracy: float | None, *, awaiting: bool = False, passed: bool | None = None
    ) -> None:
        """Count one more; without an accuracy it is finished and not measured."""
        self.finished += 1
        self.awaiting += awaiting
        self.passed += passed is True
        self.failed += passed is False
        if accuracy is not None:
            self.measured += 1
            self.accuracy_sum += exact(accuracy)

    def include(self, other: Group, times: int = 1) -> None:
        """Count all of another group in; with -1 out."""
        self.finished += times * other.finished
        self.scored += times * other.scored
        self.abandoned += times * other.abandoned
        self.awaiting += times * other.awaiting
        self.cases += times * other.cases
        self.passed += times * other.passed
        self.failed += times * other.failed
        self.measured += times * other.measured
        if other.accuracy_sum:  # fractions are slow to add
            self.accuracy_sum += other.accuracy_sum if times == 1 else times * other.accuracy_sum
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
        passed = None if score is None else score.passed
        awaiting = awaits_review(evaluation)
        self.everything.add(accuracy, awaiting=awaiting, passed=passed)
        self._lose(evaluation)
        for groups, name in (
            (self.suites, case.suite_id),
            (self.categories, case.category),
            (self.severities, case.severity),
        ):
            if name is not None:
                groups.setdefault(name, Group()).add(accuracy, awaiting=awaiting, passed=passed)

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
