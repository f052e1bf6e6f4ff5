"""How the planned evaluations of a run stand, counted as they finish. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    accuracy_sum: float = 0.0
    awaiting: int = 0
    """Those that no judge model decides, and people have to."""

    def add(self, accuracy: float | None, *, awaiting: bool = False) -> None:
        """Count one more; without an accuracy it is finished and not measured."""
        self.finished += 1
        self.awaiting += awaiting
        if accuracy is not None:
            self.measured += 1
            self.failed += accuracy < 1
            self.accuracy_sum += accuracy

    @property
    def accuracy(self) -> float | None:
        """The mean of those that have one; `None` where none has."""
        return self.accuracy_sum / self.measured if self.measured else None

    @property
    def success_rate(self) -> float | None:
        """Accuracy summed over finished: what has none counts as 0. `None` of nothing."""
        return self.accuracy_sum / self.finished if self.finished else None


@dataclass(slots=True)
class Tally:
    """How the planned evaluations stand."""

    planned: int
    scored: int = 0
    abandoned: int = 0
    everything: Group = field(default_factory=Group)
    suites: dict[str, Group] = field(default_factory=dict)
    categories: dict[str, Group] = field(default_factory=dict)
    severities: dict[str, Group] = field(default_factory=dict)

    def add(self, evaluation: Evaluation, case: Case) -> None:
        """Count one finished evaluation of this case."""
        score = evaluation.score
        self.scored += score is not None
        self.abandoned += score is None
        accuracy = None if score is None else score.scores.get("accuracy")
        awaiting = awaits_review(evaluation)
        self.everything.add(accuracy, awaiting=awaiting)
        for groups, name in (
            (self.suites, case.suite_id),
            (self.categories, case.category),
            (self.severities, case.severity),
        ):
            if name is not None:
                groups.setdefault(name, Group()).add(accuracy, awaiting=awaiting)

    @property
    def finished(self) -> int:
        """Evaluations that have their one final result."""
        return self.scored + self.abandoned

    def counts(self) -> Counts:
        """The tally as an event carries it."""
        return Counts(
            planned=self.planned,
            finished=self.finished,
            scored=self.scored,
            abandoned=self.abandoned,
        )
