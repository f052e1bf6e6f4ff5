"""How far the labels of a queue agree."""

from __future__ import annotations

from collections.abc import Iterable

from failproof_es.core.queues import QueueItem
from failproof_es.events import Reviewed
from failproof_es.support.statistics import krippendorff_alpha


def agreement_of(items: Iterable[QueueItem]) -> float | None:
    """Krippendorff's alpha of the labels of these items, without decisions between labels."""
    return agreement_of_labels(item.labels.values() for item in items)


def agreement_of_labels(labels_by_item: Iterable[Iterable[Reviewed]]) -> float | None:
    """Krippendorff's alpha of labels, item by item: 1 is agreement, 0 is chance.

    `unclear` is no verdict. `None` without an item that two people labelled, or if all verdicts are
    the same.
    """
    return krippendorff_alpha(
        [review.verdict for review in labels if review.verdict != "unclear"]
        for labels in labels_by_item
    )
