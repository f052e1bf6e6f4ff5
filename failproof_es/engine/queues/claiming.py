"""Gives people the evaluations of a queue, and records what they decide.

An evaluation is kept for a person while they work on it. A verdict that comes late is recorded all
the same: no label is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from failproof_es.core.case import review_id
from failproof_es.core.queues import QueueItem, Task, allows
from failproof_es.engine.queues.creating import find_queue, require_not_closed
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.engine.queues.rights import EVERY_TASK
from failproof_es.engine.reviews.people import (
    Reviewing,
    ReviewInput,
    draft_review,
    read_reviews,
)
from failproof_es.engine.reviews.sheets import saw_engine
from failproof_es.events import QueueCreated, Reviewed
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import Connection
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append
from failproof_es.store.writing.event_header import Draft
from failproof_es.store.writing.recorder import query

CLAIM_S = 900.0
"""Seconds for which an evaluation is kept for a person."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An evaluation that is kept for a person."""

    queue: QueueCreated
    person: str
    evaluation_id: UUID
    task: Task
    own_reviews: int
    """The number of reviews that the person gave of it before. A verdict that was given with
    another number in view is a repeated one, or conflicts with one that was given meanwhile."""
    place: int
    """The place of the evaluation in the queue, from 1."""
    others: tuple[Reviewed, ...]
    """The labels between which the person is to decide; empty for a label."""


class Submission(NamedTuple):
    """What became of a verdict on a claimed evaluation."""

    outcome: Literal["recorded", "repeated", "conflict", "late"]
    """`repeated`: the same verdict was on record. `conflict`: another one of this person was, and
    this one was not recorded. `late`: a decision that was not recorded, because the labels did not
    wait for one of this person any more."""
    review: Reviewed
    """The review on record."""


def claim_next(
    store: Store,
    reader: QueueReader,
    person: str,
    *,
    after: UUID | None = None,
    tasks: frozenset[Task] = EVERY_TASK,
    seconds: float = CLAIM_S,
) -> Claim | None:
    """Keep the next evaluation with one of these tasks for the person, for so many seconds.

    The search begins after the evaluation `after`, and goes on with the queue's first one. `None`
    if nothing is left, or others work on all of it. Raises as `require_open_for`.
    """
    queue = reader.queue
    with store.lend() as connection:
        require_open_for(connection, queue, person)
        items = reader.items(connection)
        for place in _places_after(queue, after):
            if items[place].task_of(person) not in tasks:
                continue
            if claim := _claim(connection, items[place], place, person, seconds):
                return claim
    return None


def require_open_for(connection: Connection, queue: QueueCreated, person: str) -> None:
    """Raise `InvalidInput` if the queue is closed, not for this person, or blind and the person saw
    the engine's verdicts on its run."""
    if not (allows(queue.reviewers, person) or allows(queue.adjudicators, person)):
        raise InvalidInput.because(
            "not-assigned",
            f"{queue.queue} is not for {person}",
            remedy=f"it is for {', '.join(dict.fromkeys(queue.reviewers + queue.adjudicators))}",
        )
    own = find_queue(connection, queue.about, queue.queue)
    if own is not None:
        require_not_closed(own)
    if queue.blind and saw_engine(connection, queue.about, person):
        raise InvalidInput.because(
            "not-blind",
            f"a sheet with the engine's verdicts on this run was exported for {person}",
            remedy="somebody else has to label this queue, whose labels are blind",
        )


def _places_after(queue: QueueCreated, after: UUID | None) -> Sequence[int]:
    begin = 0 if after is None else queue.evaluations.index(after) + 1
    return [*range(begin, len(queue.evaluations)), *range(begin)]


def _claim(
    connection: Connection, item: QueueItem, place: int, person: str, seconds: float
) -> Claim | None:
    task = item.task_of(person)
    if task is None:
        return None
    parameters = _keys(item.queue, item.evaluation_id, person) | {
        "review_stream": review_id(item.evaluation_id),
        "seen": item.reviews,
        "done_by": list(item.people),
        "places": item.places_for(task),
        "seconds": seconds,
    }
    claimed_at: datetime | None
    [(claimed_at,)] = connection.execute(query("claim_review"), parameters)
    if claimed_at is None:
        return None
    return Claim(
        item.queue, person, item.evaluation_id, task, item.reviews_by.get(person, 0), place + 1,
        tuple(item.labels.values()) if task == "adjudicate" else (),
    )  # fmt: skip


def release(store: Store, queue: QueueCreated, person: str, evaluation_id: UUID) -> None:
    """Let others have an evaluation that is kept for this person, if it is."""
    with store.lend() as connection:
        connection.execute(query("release_review"), _keys(queue, evaluation_id, person))


def submit(store: Store, claim: Claim, opinion: ReviewInput) -> Submission:
    """Record the person's verdict on the claimed evaluation, once.

    A person gives one verdict on an evaluation of a queue: one that is submitted twice, by a second
    window or after a crash, is recorded once. A label that comes late is recorded. Raises as
    `failproof_es.store.writing.appending.append` does, such as `ReadOnlyLog`.
    """
    queue = claim.queue
    unrecorded: list[Submission] = []

    def draft(connection: Connection) -> list[Draft]:
        unrecorded.clear()
        reviews = read_reviews(connection, [claim.evaluation_id]).get(claim.evaluation_id, [])
        own = [review for review in reviews if review.reviewer == claim.person]
        here = [review for review in own if review.queue == queue.queue]
        if here or len(own) > claim.own_reviews:
            standing = (here or own)[-1]
            says_same = opinion.says(standing)
            unrecorded.append(Submission("repeated" if says_same else "conflict", standing))
            return []
        item = QueueItem.of(queue, claim.evaluation_id, reviews)
        if claim.task == "adjudicate" and item.task_of(claim.person) != "adjudicate":
            unrecorded.append(Submission("late", item.adjudication or reviews[-1]))
            return []
        reviewing = Reviewing(
            queue.about, claim.person, queue.blind, queue=queue.queue,
            seconds=_seconds_since(connection, claim),
            adjudicates=claim.task == "adjudicate",
        )  # fmt: skip
        return [draft_review(reviewing, claim.evaluation_id, opinion, reviews)]

    recorded = append(store, draft)
    release(store, queue, claim.person, claim.evaluation_id)
    if unrecorded:
        return unrecorded[0]
    [review] = recorded
    assert isinstance(review, Reviewed)
    return Submission("recorded", review)


def was_claimed(connection: Connection, claim: Claim) -> bool:
    """Whether the evaluation was kept for the person, be it until some time ago."""
    return _seconds_since(connection, claim) is not None


def _seconds_since(connection: Connection, claim: Claim) -> float | None:
    """Seconds since the evaluation was claimed; `None` if another submission ended the claim."""
    keys = _keys(claim.queue, claim.evaluation_id, claim.person)
    row = connection.execute(query("seconds_since_claim"), keys).fetchone()
    return None if row is None else round(row[0], 3)


def _keys(queue: QueueCreated, evaluation_id: UUID, person: str) -> dict[str, object]:
    return {
        "run_id": queue.about,
        "queue": queue.queue,
        "evaluation_id": evaluation_id,
        "reviewer": person,
    }
