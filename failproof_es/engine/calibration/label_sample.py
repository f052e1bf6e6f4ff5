"""Draws the evaluations that people label, and reads their labels.

The sample is stratified by the judges' verdict. The strata share the labels in proportion to the
square roots of their sizes: a corrected rate is then almost as certain as with the best shares,
which nobody knows before, and the rarer verdict has labels enough to measure the judges' errors.
Within a stratum every n-th evaluation is drawn, model by model, so that all models have their part.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any
from uuid import UUID

import orjson

from failproof_es.core.case import operations_id
from failproof_es.core.people import review_status
from failproof_es.engine.calibration.judged_run import JudgedEvaluation
from failproof_es.engine.history import WINDOW
from failproof_es.engine.operations import record_operations
from failproof_es.engine.reviews.people import read_reviews
from failproof_es.events import DrawnStratum, LabelsDrawn, Reviewed
from failproof_es.store.reading.reader import Connection, find
from failproof_es.store.store import Store

_PREFIX = "labels-"
_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a sample, by evaluation."""

    passed: Mapping[UUID, bool]
    """The decision of the blind reviews; without undecided evaluations."""
    undecided: frozenset[UUID]
    """Evaluations with blind reviews that are unclear or contradict each other."""
    reviews: Mapping[UUID, tuple[Reviewed, ...]]
    """The last review of each blind reviewer."""

    @property
    def by_reviewer(self) -> dict[str, int]:
        """The number of labels that each reviewer gave or took part in."""
        counts = Counter(review.reviewer for reviews in self.reviews.values() for review in reviews)
        return dict(sorted(counts.items()))


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


def record_sample(store: Store, run_id: UUID, fields: Mapping[str, Any]) -> str:
    """Record a drawn sample, of which `fields` has everything but the id; return the id.

    Raises as `failproof_es.store.writing.appending.append` does, such as `ReadOnlyLog`.
    """
    content = orjson.dumps(
        [str(run_id), sorted(fields.items())], default=_as_json, option=orjson.OPT_SORT_KEYS
    )
    sample = _PREFIX + hashlib.sha256(b"label sample\n" + content).hexdigest()[:_DIGITS]
    record_operations(store, run_id, [(LabelsDrawn, {"sample": sample, **fields})])
    return sample


def _as_json(value: Any) -> Any:
    return value.model_dump(mode="json")


def samples_of(
    connection: Connection, run_id: UUID, up_to: int | None = None
) -> Iterator[LabelsDrawn]:
    """The samples of the run that were drawn up to a position (`None`: all), first to last."""
    topics = [LabelsDrawn.__name__]
    for row in find(connection, stream_id=operations_id(run_id), topics=topics, up_to=up_to):
        event = row.event()
        if isinstance(event, LabelsDrawn):
            yield event


def read_labels(connection: Connection, sample: LabelsDrawn, up_to: int | None = None) -> Labels:
    """The labels of the sample: its blind reviews up to a position (`None`: all).

    The last review of each reviewer counts, if the engine's verdict was hidden from the reviewer.
    """
    passed: dict[UUID, bool] = {}
    undecided = set()
    reviews_by_evaluation = {}
    for begin in range(0, len(sample.evaluations), WINDOW):
        window = sample.evaluations[begin : begin + WINDOW]
        for evaluation_id, reviews in read_reviews(connection, window, up_to=up_to).items():
            latest = {review.reviewer: review for review in reviews}
            blind = tuple(review for review in latest.values() if review.blind)
            if not blind:
                continue
            reviews_by_evaluation[evaluation_id] = blind
            status = review_status({review.reviewer: review.verdict for review in blind})
            if status in ("pass", "fail"):
                passed[evaluation_id] = status == "pass"
            else:
                undecided.add(evaluation_id)
    return Labels(passed, frozenset(undecided), reviews_by_evaluation)
