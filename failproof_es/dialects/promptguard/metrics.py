"""How well the models' labels agree with the expected ones, and what was left out and why.

Ratios of counts. A ratio of nothing is `None`, never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from failproof_es.case import Case
from failproof_es.evaluation import Evaluation


@dataclass(slots=True)
class Agreement:
    """Counts of (expected, decided) labels, and of evaluations without a decided one."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, expected: str, decided: str | None, why_not: str = "") -> None:
        """Count one evaluation. `why_not` names the reason where nothing was decided."""
        if decided is None:
            self.left_out[why_not] += 1
        else:
            self.pairs[expected, decided] += 1

    @property
    def labels(self) -> list[str]:
        """Every label that was expected or decided."""
        return sorted({label for pair in self.pairs for label in pair})

    def as_json(self) -> dict[str, Any]:
        """Accuracy over the decided ones, each label's ratios, the confusion matrix."""
        decided = self.pairs.total()
        labels = self.labels
        right = sum(self.pairs[label, label] for label in labels)
        return {
            "evaluations": decided + self.left_out.total(),
            "decided": decided,
            "left_out": dict(sorted(self.left_out.items())),
            "accuracy": _ratio(right, decided),
            "labels": {label: self._label(label) for label in labels},
            "confusion": {
                expected: {decided: self.pairs[expected, decided] for decided in labels}
                for expected in labels
            },
        }

    def _label(self, label: str) -> dict[str, Any]:
        right = self.pairs[label, label]
        expected = sum(n for (wanted, _), n in self.pairs.items() if wanted == label)
        decided = sum(n for (_, given), n in self.pairs.items() if given == label)
        return {
            "expected": expected,
            "decided": decided,
            "right": right,
            "precision": _ratio(right, decided),
            "recall": _ratio(right, expected),
            "f1": _ratio(2 * right, expected + decided),
        }


def summary(evaluations: Iterable[tuple[Case, Evaluation]]) -> dict[str, Any]:
    """The agreement of all evaluations, and of each model's, in the order first met."""
    total = Agreement()
    by_model: dict[str, Agreement] = {}
    for case, evaluation in evaluations:
        model = by_model.setdefault(evaluation.model_key or "not begun", Agreement())
        expected = str(case.expectation["expected_label"])
        decided, why_not = _decided(evaluation)
        for agreement in (total, model):
            agreement.add(expected, decided, why_not)
    models = {model: agreement.as_json() for model, agreement in by_model.items()}
    return {**total.as_json(), "models": models}


def _decided(evaluation: Evaluation) -> tuple[str | None, str]:
    """The label of a scored evaluation, or the reason why it has none."""
    if evaluation.abandoned is not None:
        return None, evaluation.abandoned.kind
    if evaluation.score is None or evaluation.classification is None:
        return None, "not finished"
    return evaluation.classification.primary, ""


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
