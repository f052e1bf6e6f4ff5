"""People's reviews of finished evaluations: what is left to review, and recording reviews.

Each evaluation has its own stream of reviews, beside the run: the run's seal, its replay and
its numbers do not change. Nothing is replaced. The last review of an evaluation by one
reviewer counts; the others stay on record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal
from uuid import UUID

from failproof_es.core.case import Case, review_id
from failproof_es.core.evaluation import Evaluation, ImpossibleHistory
from failproof_es.core.people import REVIEW_STATUSES, ReviewStatus, review_status
from failproof_es.dialects.kit.judging import Item, checklist
from failproof_es.engine.history import WINDOW, Connection, RecordedEvaluation
from failproof_es.engine.identity import current_host, current_user
from failproof_es.events import Reviewed, ReviewedItem, ReviewVerdict, Severity
from failproof_es.store.reading.reader import RecordedEvent, read_streams
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append
from failproof_es.store.writing.event_header import Draft, EventHeader
from failproof_es.store.writing.recorder import query

Only = Literal["all", "failures", "unscored"]


@dataclass(frozen=True, slots=True)
class ReviewInput:
    """A reviewer's verdicts on an evaluation. `items` lacks those that were left out."""

    verdict: ReviewVerdict
    items: tuple[ReviewedItem, ...] = ()
    severity: Severity | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""

    @classmethod
    def of(cls, review: Reviewed) -> ReviewInput:
        """The opinion that a review recorded."""
        return cls(review.verdict, review.items, review.severity, review.tags, review.notes)


@dataclass(frozen=True, slots=True)
class Reviewing:
    """Who reviews, whether the engine's verdict is hidden from them, and from which file."""

    run_id: UUID
    reviewer: str
    blind: bool
    file_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewedEvaluation:
    """A finished evaluation and its reviews so far, first to last."""

    recorded: RecordedEvaluation
    state: Evaluation
    reviews: Sequence[Reviewed]

    @property
    def evaluation_id(self) -> UUID:
        """The evaluation's stream."""
        return self.recorded.key.evaluation_id

    def latest(self) -> dict[str, Reviewed]:
        """The review that counts, by reviewer, in the order of their first reviews."""
        return {review.reviewer: review for review in self.reviews}


def items_of(case: Case) -> tuple[Item, ...]:
    """The checklist of a case; empty where its dialect has none."""
    return checklist(case.expectation)


def finished_evaluations(
    connection: Connection, evaluations: Iterable[RecordedEvaluation], only: Only = "all"
) -> Iterator[ReviewedEvaluation]:
    """The finished evaluations, with their reviews, a window at a time.

    `failures` are those that were scored and have not passed, `unscored` those abandoned.
    """
    remaining = iter(evaluations)
    while window := list(islice(remaining, WINDOW)):
        chosen = [(each, state) for each in window if _wanted(state := each.state(), only)]
        reviews = read_reviews(connection, [each.key.evaluation_id for each, _ in chosen])
        for each, state in chosen:
            yield ReviewedEvaluation(each, state, reviews.get(each.key.evaluation_id, ()))


def read_reviews(
    connection: Connection, evaluation_ids: Sequence[UUID], *, up_to: int | None = None
) -> dict[UUID, list[Reviewed]]:
    """All reviews of these evaluations up to a position, first to last."""
    streams = {review_id(each): each for each in evaluation_ids}
    found: dict[UUID, list[Reviewed]] = {}
    for stream, rows in read_streams(connection, list(streams)).items():
        reviews = found.setdefault(streams[stream], [])
        for row in rows:
            if up_to is not None and row.position > up_to:
                break
            event = row.event()
            if not isinstance(event, Reviewed) or event.evaluation_id != streams[stream]:
                raise ImpossibleHistory("it is not a review of its stream's evaluation", event)
            reviews.append(event)
    return found


def count_review_statuses(
    connection: Connection, evaluation_ids: Sequence[UUID], *, up_to: int | None = None
) -> Counter[str]:
    """The number of evaluations that were left to people, by status."""
    counts: Counter[str] = Counter()
    for begin in range(0, len(evaluation_ids), WINDOW):
        window = evaluation_ids[begin : begin + WINDOW]
        found = read_reviews(connection, window, up_to=up_to)
        counts.update(status_of_reviews(found.get(each, ())) for each in window)
    return counts


def status_of_reviews(reviews: Sequence[Reviewed]) -> ReviewStatus:
    """The status of an evaluation with these reviews, first to last."""
    return review_status({review.reviewer: review.verdict for review in reviews})


def describe_review_statuses(counts: Mapping[str, int]) -> str:
    """The counts in words."""
    told = [f"{counts['awaiting']:,} of {sum(counts.values()):,} await review"]
    people = [f"{counts[word]:,} {word}" for word in REVIEW_STATUSES if counts.get(word)]
    return "; by people: ".join([*told, ", ".join(people)] if people else told)


def review_rows(connection: Connection, run_id: UUID) -> list[RecordedEvent]:
    """Every review of the run's evaluations as the log has it, in commit order."""
    under = connection.execute(query("streams_under_run"), (run_id, run_id))
    evaluations = (evaluation_id for (evaluation_id,) in under)
    rows: list[RecordedEvent] = []
    while window := list(islice(evaluations, WINDOW)):
        for found in read_streams(connection, [review_id(each) for each in window]).values():
            rows.extend(found)
    return sorted(rows, key=lambda row: row.position)


def record_reviews(
    store: Store, reviewing: Reviewing, opinions: Mapping[UUID, ReviewInput]
) -> list[Reviewed]:
    """Append a review for each evaluation, all or none; return what was appended.

    From a file, only new reviews are appended: not this reviewer's last verdicts again, nor
    those imported before from the same file. Others may review at the same time.
    """

    def new(connection: Connection) -> list[Draft]:
        before = read_reviews(connection, list(opinions))
        return [
            _reviewed(reviewing, evaluation_id, opinion)
            for evaluation_id, opinion in opinions.items()
            if not _said(reviewing, opinion, before.get(evaluation_id, ()))
        ]

    return [event for event in append(store, new) if isinstance(event, Reviewed)]


def _wanted(state: Evaluation, only: Only) -> bool:
    if only == "failures":
        return state.score is not None and state.score.passed is False
    return state.finished if only == "all" else state.abandoned is not None


def _said(reviewing: Reviewing, opinion: ReviewInput, before: Sequence[Reviewed]) -> bool:
    """Whether a file has nothing new."""
    own = [review for review in before if review.reviewer == reviewing.reviewer]
    if reviewing.file_sha256 is None or not own:
        return False
    same_file = any(review.file_sha256 == reviewing.file_sha256 for review in own)
    return same_file or ReviewInput.of(own[-1]) == opinion


def _reviewed(reviewing: Reviewing, evaluation_id: UUID, opinion: ReviewInput) -> Draft:
    header = EventHeader(
        review_id(evaluation_id),
        None,
        about=reviewing.run_id,
        who=current_user(),
        where=current_host(),
    )
    return Draft(
        Reviewed,
        header,
        evaluation_id=evaluation_id,
        reviewer=reviewing.reviewer,
        items=opinion.items,
        verdict=opinion.verdict,
        severity=opinion.severity,
        tags=opinion.tags,
        notes=opinion.notes,
        blind=reviewing.blind,
        file_sha256=reviewing.file_sha256,
    )
