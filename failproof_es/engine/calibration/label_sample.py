"""Draws the evaluations that people label, and reads their labels.

The sample is stratified by the judges' verdict. The strata share the labels in proportion to the
square roots of their sizes: a corrected rate is then almost as certain as with the best shares,
which nobody knows before, and the rarer verdict has labels enough to measure the judges' errors.
Within a stratum every n-th evaluation is drawn, model by model, so that all models have their part.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from uuid import UUID

from failproof_es.core.queues import QueueItem, count_people
from failproof_es.engine.calibration.judged_run import JudgedEvaluation
from failproof_es.engine.queues.creating import queues_of
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.events import DrawnStratum, QueueCreated, Reviewed
from failproof_es.store.reading.reader import Connection


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a sample, by evaluation."""

    passed: Mapping[UUID, bool]
    """The decision of the labels; without undecided evaluations."""
    undecided: frozenset[UUID]
    """Evaluations with labels that are unclear or contradict each other."""
    reviews: Mapping[UUID, tuple[Reviewed, ...]]
    """The last label of each reviewer."""
    adjudications: Mapping[UUID, Reviewed] = field(default_factory=dict)
    """The decisions between labels."""
    by_reviewer: Mapping[str, int] = field(default_factory=dict)
    """The number of labels and decisions of each person."""


def draw(
    evaluations: Sequence[JudgedEvaluation], labels: int, seed: int
) -> tuple[tuple[DrawnStratum, ...], tuple[UUID, ...]]:
    """Draw `labels` of the evaluations, or all if they are fewer: the strata, and the order to
    label. Pure; the same for the same arguments."""
    chance = random.Random(seed)  # noqa: S311
    by_verdict = {
        passed: [evaluation for evaluation in evaluations if evaluation.passed is passed]
        for passed in (True, False)
    }
    shares = share_labels({passed: len(own) for passed, own in by_verdict.items()}, labels)
    strata: list[DrawnStratum] = []
    drawn: list[UUID] = []
    for passed, own in by_verdict.items():
        if own:
            strata.append(DrawnStratum(passed=passed, evaluations=len(own), drawn=shares[passed]))
            drawn += _every_nth(own, shares[passed], chance)
    chance.shuffle(drawn)
    return tuple(strata), tuple(drawn)


def share_labels(sizes: Mapping[bool, int], labels: int) -> dict[bool, int]:
    """The number of labels of each stratum, by its verdict; all of `sizes` if they are fewer.

    A stratum that is not empty gets a label, unless there is only one.
    """
    passed, failed = sizes[True], sizes[False]
    share = sqrt(passed) / ((sqrt(passed) + sqrt(failed)) or 1.0)
    least = max(labels - failed, min(passed, 1))
    most = min(passed, labels - min(failed, labels - 1, 1))
    drawn = min(max(round(labels * share), least), most)
    return {True: drawn, False: min(labels - drawn, failed)}


def _every_nth(
    evaluations: Sequence[JudgedEvaluation], count: int, chance: random.Random
) -> Iterator[UUID]:
    shuffled = list(evaluations)
    chance.shuffle(shuffled)
    shuffled.sort(key=lambda evaluation: evaluation.model_key)
    step, start = len(shuffled) / max(count, 1), chance.random()
    for number in range(count):
        yield shuffled[min(int((number + start) * step), len(shuffled) - 1)].evaluation_id


def samples_of(
    connection: Connection, run_id: UUID, up_to: int | None = None
) -> Iterator[QueueCreated]:
    """The queues that measure the judges of the run, first to last: its random samples that were
    drawn up to a position (`None`: all)."""
    return (queue.created for queue in queues_of(connection, run_id, up_to) if queue.created.strata)


def read_labels(connection: Connection, sample: QueueCreated, up_to: int | None = None) -> Labels:
    """The labels of the sample up to a position (`None`: all)."""
    return labels_of(QueueReader(sample).items(connection, up_to=up_to))


def labels_of(items: Sequence[QueueItem]) -> Labels:
    """The labels of these items of a queue. Pure."""
    return Labels(
        {
            item.evaluation_id: item.status == "pass"
            for item in items
            if item.status in ("pass", "fail")
        },
        frozenset(item.evaluation_id for item in items if item.status in ("unclear", "disputed")),
        {item.evaluation_id: tuple(item.labels.values()) for item in items if item.labels},
        {item.evaluation_id: item.adjudication for item in items if item.adjudication is not None},
        count_people(items),
    )
