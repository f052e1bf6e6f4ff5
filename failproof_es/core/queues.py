"""The state of each evaluation of a queue, and what a person can do with it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from uuid import UUID

from failproof_es.core.people import review_status
from failproof_es.events import QueueCreated, Reviewed

ItemStatus = Literal["waiting", "disputed", "pass", "fail", "unclear"]
"""`waiting`: labels are missing. `disputed`: the labels differ, and nobody adjudicated. Else the
verdict on which the labels agree, or the adjudicator's."""
ITEM_STATUSES: tuple[ItemStatus, ...] = ("waiting", "disputed", "pass", "fail", "unclear")
Task = Literal["label", "adjudicate"]


@dataclass(frozen=True)
class QueueItem:
    """An evaluation of a queue and its reviews that count there."""

    queue: QueueCreated
    evaluation_id: UUID
    reviews_by: Mapping[str, int]
    """The number of all reviews of it, whether or not they count, by reviewer."""
    saw_engine: frozenset[str]
    """Reviewers of it who saw the engine's verdict before."""
    labels: Mapping[str, Reviewed]
    """The last label of each reviewer, by reviewer, in the order of their first labels."""
    adjudication: Reviewed | None
    """The last decision between the labels."""

    @classmethod
    def of(cls, queue: QueueCreated, evaluation_id: UUID, reviews: Sequence[Reviewed]) -> QueueItem:
        """The item of an evaluation with these reviews, first to last.

        Of each reviewer the last review counts that was given in this queue or in none, if the
        reviewer may label, or adjudicate, in the queue. In a blind queue it also has to be blind.
        """
        latest = {
            review.reviewer: review
            for review in reviews
            if review.queue in (None, queue.queue) and (review.blind or not queue.blind)
        }
        counted = list(latest.values())
        decisions = [
            review for review in counted
            if review.adjudicates and allows(queue.adjudicators, review.reviewer)
        ]  # fmt: skip
        return cls(
            queue,
            evaluation_id,
            Counter(review.reviewer for review in reviews),
            frozenset(review.reviewer for review in reviews if review.blind is False),
            {
                review.reviewer: review for review in counted
                if not review.adjudicates and allows(queue.reviewers, review.reviewer)
            },
            max(decisions, key=lambda review: review.originator_version, default=None),
        )  # fmt: skip

    @property
    def reviews(self) -> int:
        """The number of all reviews of it, whether or not they count."""
        return sum(self.reviews_by.values())

    @property
    def missing(self) -> int:
        """The number of labels that are missing."""
        if self.adjudication is not None:
            return 0
        return max(self.queue.labels_each - len(self.labels), 0)

    @cached_property
    def status(self) -> ItemStatus:
        """The status of the evaluation in the queue."""
        if self.missing:
            return "waiting"
        decided = [*self.labels.values(), *filter(None, [self.adjudication])]
        status = review_status(decided)
        return "waiting" if status == "awaiting" else status

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody whose label or decision counts."""
        decided_by = () if self.adjudication is None else (self.adjudication.reviewer,)
        return tuple(dict.fromkeys((*self.labels, *decided_by)))

    def task_of(self, person: str) -> Task | None:
        """What the person can do with the evaluation; `None` if nothing.

        Whoever gave a label does not adjudicate it. In a blind queue, whoever saw the engine's
        verdict on it does neither.
        """
        if person in self.people or (self.queue.blind and person in self.saw_engine):
            return None
        if self.missing and allows(self.queue.reviewers, person):
            return "label"
        if self.status == "disputed" and allows(self.queue.adjudicators, person):
            return "adjudicate"
        return None

    def places_for(self, task: Task) -> int:
        """The number of people who can do this task at the same time."""
        return self.missing if task == "label" else 1


def allows(names: Sequence[str], person: str) -> bool:
    """Whether the person is one of these people; an empty list allows everybody."""
    return not names or person in names


def count_statuses(items: Sequence[QueueItem]) -> dict[str, int]:
    """The number of items of each status that occurs, in the order of `ITEM_STATUSES`."""
    counts = Counter(item.status for item in items)
    return {status: counts[status] for status in ITEM_STATUSES if counts[status]}


def count_people(items: Sequence[QueueItem]) -> dict[str, int]:
    """The number of labels and decisions of each person, by name."""
    counts = Counter(person for item in items for person in item.people)
    return dict(sorted(counts.items()))
