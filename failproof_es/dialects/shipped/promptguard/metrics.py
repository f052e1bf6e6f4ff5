"""Agreement of the models' labels with the expected ones, and evaluations without a label.

Ratios of counts. A ratio with the denominator 0 is `None`, never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation
from failproof_es.dialects.protocol import RunShape
from failproof_es.events import RunStarted
from failproof_es.support.percentages import ratio


@dataclass(slots=True)
class ConfusionMatrix:
    """Counts of evaluations: those with a label in `pairs`, all others in `left_out`.

    The keys are (expected label, decided label), and the reason why there is no label.
    """

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, expected: str, decided: str | None, why_not: str = "") -> None:
        """Count one evaluation. `decided` is its label, or `None` for the reason `why_not`."""
        if decided is None:
            self.left_out[why_not] += 1
        else:
            self.pairs[expected, decided] += 1

    @property
    def labels(self) -> list[str]:
        """Every label that was expected or decided, sorted."""
        return sorted({label for pair in self.pairs for label in pair})

    @property
    def evaluations(self) -> int:
        """The number of counted evaluations, with and without a label."""
        return self.pairs.total() + self.left_out.total()

    def as_json(self) -> dict[str, Any]:
        """Accuracy over the evaluations with a label, ratios by label, and the confusion matrix.

        `labels` has the precision, recall and f1 of each label, `confusion` the counts by expected,
        then decided label, `left_out` the counts of evaluations without a label by reason.
        """
        decided = self.pairs.total()
        labels = self.labels
        right = sum(self.pairs[label, label] for label in labels)
        return {
            "evaluations": self.evaluations,
            "decided": decided,
            "left_out": dict(sorted(self.left_out.items())),
            "accuracy": ratio(right, decided),
            "labels": {label: self._label(label) for label in labels},
            "confusion": {
                expected: {decided: self.pairs[expected, decided] for decided in labels}
                for expected in labels
            },
        }

    def _label(self, label: str) -> dict[str, Any]:
        right = self.pairs[label, label]
        expected = sum(
            n for (expected_label, _), n in self.pairs.items() if expected_label == label
        )
        decided = sum(n for (_, decided_label), n in self.pairs.items() if decided_label == label)
        return {
            "expected": expected,
            "decided": decided,
            "right": right,
            "precision": ratio(right, decided),
            "recall": ratio(right, expected),
            "f1": ratio(2 * right, expected + decided),
        }


def agreements(
    started: RunStarted, evaluations: Iterable[tuple[Case, Evaluation]]
) -> Iterator[dict[str, Any]]:
    """The agreement of each model of the run, as JSON, in configuration order.

    Planned evaluations that have not begun are counted as left out.
    """
    by_model = {model.key: ConfusionMatrix() for model in started.models}
    for case, evaluation in evaluations:
        if evaluation.model_key is not None:
            expected = str(case.expectation["expected_label"])
            by_model[evaluation.model_key].add(expected, *_decided(evaluation))
    planned = started.planned_evaluations // len(by_model)
    for key, agreement in by_model.items():
        if not_begun := planned - agreement.evaluations:
            agreement.left_out["not begun"] += not_begun
        yield {"model": key, **agreement.as_json()}


def agreement_lines(agreement: dict[str, Any]) -> Iterator[str]:
    """One model's agreement for people: the ratios by label, then the confusion matrix.

    `agreement` is one of `agreements`.
    """
    labels = list(agreement["labels"])
    width = max(map(len, [*labels, "expected"]), default=0) + 2
    yield (
        f"{agreement['model']}: {agreement['decided']} of {agreement['evaluations']} decided, "
        + (f"accuracy {_format_share(agreement['accuracy'])}")
    )
    for why, count in agreement["left_out"].items():
        yield f"  left out: {count} {why}"
    if not labels:
        return
    yield "  " + "label".ljust(width) + "precision  recall      f1"
    for label, ratios in agreement["labels"].items():
        cells = (_format_share(ratios[name]).rjust(9) for name in ("precision", "recall", "f1"))
        yield "  " + label.ljust(width) + " ".join(cells)
    yield "  " + "expected".ljust(width) + "".join(label.rjust(width) for label in labels)
    for expected, row in agreement["confusion"].items():
        yield "  " + expected.ljust(width) + "".join(str(n).rjust(width) for n in row.values())


AGREEMENT = RunShape(agreements, agreement_lines)
"""The shape that `results RUN --shape agreement` prints."""


def _format_share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def _decided(evaluation: Evaluation) -> tuple[str | None, str]:
    """(label, "") of a scored evaluation, or (`None`, the reason why it has no label)."""
    if evaluation.abandoned is not None:
        return None, evaluation.abandoned.kind
    if evaluation.score is None or evaluation.classification is None:
        return None, "not finished"
    return evaluation.classification.primary, ""
