"""The last review of each person on an evaluation, wherever a result is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar
from uuid import UUID

from failproof_es.engine.history import WINDOW
from failproof_es.engine.reviews.people import read_reviews
from failproof_es.events import Reviewed, ReviewVerdict, Severity
from failproof_es.store.reading.reader import Connection
from failproof_es.support.document import Document

T = TypeVar("T")


class GivenReview(Document):
    """The last review that a person gave of an evaluation. It changes neither score nor rate."""

    reviewer: str
    verdict: ReviewVerdict
    severity: Severity | None
    """As observed, not as the case expects it."""
    notes: str
    blind: bool | None
    """Whether the engine's result was hidden; `None` if that is not known."""
    adjudicates: bool
    """Whether it decides between the other reviewers."""

    def describe(self) -> str:
        """The review in one phrase: `jane: fail, S1, "It gave in."`"""
        notes = f'"{self.notes}"' if self.notes else None
        verdict = f"decides {self.verdict}" if self.adjudicates else self.verdict
        return f"{self.reviewer}: {', '.join(filter(None, (verdict, self.severity, notes)))}"


def given_reviews(reviews: Iterable[Reviewed]) -> tuple[GivenReview, ...]:
    """The last review of each person, in the order in which they were given.

    `reviews` are those of one evaluation, first to last.
    """
    latest: dict[str, Reviewed] = {}
    for review in reviews:
        latest.pop(review.reviewer, None)
        latest[review.reviewer] = review
    return tuple(
        GivenReview(
            reviewer=reviewer,
            verdict=review.verdict,
            severity=review.severity,
            notes=review.notes,
            blind=review.blind,
            adjudicates=review.adjudicates,
        )
        for reviewer, review in latest.items()
    )


def reviews_by_evaluation(
    connection: Connection, evaluation_ids: Sequence[UUID], *, up_to: int | None = None
) -> dict[UUID, tuple[GivenReview, ...]]:
    """The reviews of these evaluations up to a position (`None`: all); only reviewed ones."""
    reviews = read_reviews(connection, evaluation_ids, up_to=up_to)
    return {
        evaluation_id: given_reviews(of_evaluation)
        for evaluation_id, of_evaluation in reviews.items()
        if of_evaluation
    }


def with_reviews(
    connection: Connection,
    items: Iterable[T],
    evaluation_of: Callable[[T], UUID],
    *,
    up_to: int | None = None,
) -> Iterator[tuple[T, tuple[GivenReview, ...]]]:
    """Each item with the reviews of its evaluation up to a position (`None`: all).

    Reads a window of items at a time.
    """
    remaining = iter(items)
    while window := list(islice(remaining, WINDOW)):
        ids = [evaluation_of(item) for item in window]
        reviews = reviews_by_evaluation(connection, ids, up_to=up_to)
        for item, evaluation_id in zip(window, ids, strict=True):
            yield item, reviews.get(evaluation_id, ())
