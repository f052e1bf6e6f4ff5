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

from failproof_es.core.case import review_id
from failproof_es.core.evaluation import Evaluation, ImpossibleHistory
from failproof_es.core.people import REVIEW_STATUSES, ReviewStatus, review_status
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
    """A reviewer's verdict on an evaluation and on its items, before it is recorded.

    Items without a verdict are not in `items`.
    """

    verdict: ReviewVerdict
    items: tuple[ReviewedItem, ...] = ()
    severity: Severity | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""

    @property
    def broken_items(self) -> tuple[str, ...]:
        """The keys of the items that do not hold.

        With one of them, a `pass` is no valid verdict.
        """
        return tuple(
            review.item for review in self.items if review.verdict in ("not_met", "happened")
        )

    @property
    def contradicts_itself(self) -> bool:
        """Whether the verdict is `pass` although an item does not hold."""
        return self.verdict == "pass" and bool(self.broken_items)

    @classmethod
    def of(cls, review: Reviewed) -> ReviewInput:
        """The verdicts that a recorded review holds."""
        return cls(review.verdict, review.items, review.severity, review.tags, review.notes)

    def says(self, review: Reviewed) -> bool:
        """Whether a recorded review says the same, apart from white space, which a spreadsheet
        changes."""
        return self._without_spaces() == self.of(review)._without_spaces()

    def _without_spaces(self) -> tuple[object, ...]:
        tags = tuple(tag.strip() for tag in self.tags)
        items = frozenset((item.item, item.verdict) for item in self.items)
        return self.verdict, items, self.severity, tags, " ".join(self.notes.split())


NewerVerdict = Literal["refuse", "keep", "overwrite"]
"""The treatment of an imported verdict if the reviewer has given a newer one than the file shows.
"""


@dataclass(frozen=True, slots=True)
class Reviewing:
    """The reviewer, whether the engine's verdict is hidden from them, and the file they used.

    `blind` is `None` if that is not known. `sheet` is the id of the sheet in the file,
    `pre_filled_at` the position up to which it shows this reviewer's verdicts; `None` if it shows
    none. `queue` is the queue that gave the evaluations to the reviewer, `seconds` ago, to
    label or, if it `adjudicates`, to decide between labels.
    """

    run_id: UUID
    reviewer: str
    blind: bool | None
    file_sha256: str | None = None
    sheet: str | None = None
    pre_filled_at: int | None = None
    newer: NewerVerdict = "refuse"
    queue: str | None = None
    seconds: float | None = None
    adjudicates: bool = False


class NewerVerdicts(Exception):
    """Raised if a file contradicts newer verdicts that it does not show.

    `newest` has the reviewer's last review, by evaluation.
    """

    def __init__(self, newest: Mapping[UUID, Reviewed]) -> None:
        super().__init__(f"{len(newest)} newer verdicts")
        self.newest = newest


@dataclass(frozen=True, slots=True)
class ReviewedEvaluation:
    """A finished evaluation and its reviews so far, first to last."""

    recorded: RecordedEvaluation
    state: Evaluation
    reviews: Sequence[Reviewed]

    @property
    def evaluation_id(self) -> UUID:
        """The id of the evaluation, and of its stream."""
        return self.recorded.key.evaluation_id

    def latest(self) -> dict[str, Reviewed]:
        """The last review of each reviewer, by reviewer, in the order of their first reviews."""
        return {review.reviewer: review for review in self.reviews}


def finished_evaluations(
    connection: Connection,
    evaluations: Iterable[RecordedEvaluation],
    only: Only = "all",
    *,
    up_to: int | None = None,
) -> Iterator[ReviewedEvaluation]:
    """The finished ones of these evaluations, with their reviews up to a position (`None`: all).

    `only` of `failures` selects the scored evaluations that have not passed, `unscored` those
    without a score. Holds a window of them in memory.
    """
    remaining = iter(evaluations)
    while window := list(islice(remaining, WINDOW)):
        selected = [
            (recorded, state)
            for recorded in window
            if _is_selected(state := recorded.state(), only)
        ]
        ids = [recorded.key.evaluation_id for recorded, _ in selected]
        reviews = read_reviews(connection, ids, up_to=up_to)
        for recorded, state in selected:
            yield ReviewedEvaluation(recorded, state, reviews.get(recorded.key.evaluation_id, ()))


def read_reviews(
    connection: Connection, evaluation_ids: Sequence[UUID], *, up_to: int | None = None
) -> dict[UUID, list[Reviewed]]:
    """All reviews of these evaluations up to a position (`None`: all), first to last, by
    evaluation. Evaluations without a review may be missing. Raises `ImpossibleHistory` if a stream
    holds anything but reviews of its evaluation."""
    streams = {review_id(evaluation_id): evaluation_id for evaluation_id in evaluation_ids}
    by_evaluation: dict[UUID, list[Reviewed]] = {}
    for stream, rows in read_streams(connection, list(streams)).items():
        reviews = by_evaluation.setdefault(streams[stream], [])
        for row in rows:
            if up_to is not None and row.position > up_to:
                break
            event = row.event()
            if not isinstance(event, Reviewed) or event.evaluation_id != streams[stream]:
                raise ImpossibleHistory("it is not a review of its stream's evaluation", event)
            reviews.append(event)
    return by_evaluation


def count_review_statuses(
    connection: Connection, evaluation_ids: Sequence[UUID], *, up_to: int | None = None
) -> Counter[str]:
    """The number of these evaluations by review status, such as `awaiting`.

    Only reviews up to a position count (`None`: all). They must be evaluations that were left to
    people.
    """
    counts: Counter[str] = Counter()
    for begin in range(0, len(evaluation_ids), WINDOW):
        window = evaluation_ids[begin : begin + WINDOW]
        reviews = read_reviews(connection, window, up_to=up_to)
        counts.update(status_of_reviews(reviews.get(evaluation_id, ())) for evaluation_id in window)
    return counts


def status_of_reviews(reviews: Sequence[Reviewed]) -> ReviewStatus:
    """The status of an evaluation that was left to people and has these reviews, first to last."""
    return review_status(reviews)


def describe_review_statuses(counts: Mapping[str, int]) -> str:
    """A phrase with the number of evaluations that await review, and those of each other status."""
    parts = [f"{counts['awaiting']:,} of {sum(counts.values()):,} await review"]
    people = [f"{counts[word]:,} {word}" for word in REVIEW_STATUSES if counts.get(word)]
    return "; by people: ".join([*parts, ", ".join(people)] if people else parts)


def review_rows(connection: Connection, run_id: UUID) -> list[RecordedEvent]:
    """Every review of the run's evaluations, in the order of their positions in the log."""
    under = connection.execute(query("streams_under_run"), (run_id, run_id))
    evaluations = (evaluation_id for (evaluation_id,) in under)
    rows: list[RecordedEvent] = []
    while window := list(islice(evaluations, WINDOW)):
        for stream_rows in read_streams(
            connection, [review_id(evaluation_id) for evaluation_id in window]
        ).values():
            rows.extend(stream_rows)
    return sorted(rows, key=lambda row: row.position)


def record_reviews(
    store: Store, reviewing: Reviewing, opinions: Mapping[UUID, ReviewInput]
) -> list[Reviewed]:
    """Append a review for each evaluation in `opinions`, all or none; return the appended reviews.

    From a file, only new reviews are appended: not the verdicts with which it was pre-filled, not
    this reviewer's last verdicts again, nor those imported before from the same file. Others may
    review at the same time. Raises `NewerVerdicts` if the reviewer gave a newer verdict than the
    file shows, and `reviewing.newer` is `refuse`.
    """

    def new(connection: Connection) -> list[Draft]:
        return _new_reviews(connection, reviewing, opinions)

    return [event for event in append(store, new) if isinstance(event, Reviewed)]


def _new_reviews(
    connection: Connection, reviewing: Reviewing, opinions: Mapping[UUID, ReviewInput]
) -> list[Draft]:
    ids = list(opinions)
    reviews = read_reviews(connection, ids)
    own = _by_reviewer(reviews, reviewing.reviewer)
    pre_filled: Mapping[UUID, Sequence[Reviewed]] = {}
    if reviewing.pre_filled_at is not None:
        past = read_reviews(connection, ids, up_to=reviewing.pre_filled_at)
        pre_filled = _by_reviewer(past, reviewing.reviewer)
    new_ids, newest = new_opinions(reviewing, opinions, own, pre_filled)
    if newest and reviewing.newer == "refuse":
        raise NewerVerdicts(newest)
    return [
        draft_review(
            reviewing, evaluation_id, opinions[evaluation_id], reviews.get(evaluation_id, ())
        )
        for evaluation_id in new_ids
    ]


def new_opinions(
    reviewing: Reviewing,
    opinions: Mapping[UUID, ReviewInput],
    own: Mapping[UUID, Sequence[Reviewed]],
    shown_reviews: Mapping[UUID, Sequence[Reviewed]],
) -> tuple[list[UUID], dict[UUID, Reviewed]]:
    """The evaluations whose opinions are to be recorded, and the newer reviews that conflict with a
    file, by evaluation. Pure. `own` has all reviews of this reviewer, `shown_reviews` those with
    which the file was pre-filled. With `overwrite` nothing conflicts. Every opinion that is not
    from a file is recorded."""
    if reviewing.file_sha256 is None:
        return list(opinions), {}
    new_ids: list[UUID] = []
    newest: dict[UUID, Reviewed] = {}
    for evaluation_id, opinion in opinions.items():
        reviews, pre_filled = own.get(evaluation_id, ()), shown_reviews.get(evaluation_id, ())
        if not _is_new(reviewing, opinion, reviews, pre_filled):
            continue
        if len(reviews) > len(pre_filled) and reviewing.newer != "overwrite":
            newest[evaluation_id] = reviews[-1]
        else:
            new_ids.append(evaluation_id)
    return new_ids, newest


def _by_reviewer(
    reviews: Mapping[UUID, Sequence[Reviewed]], reviewer: str
) -> dict[UUID, list[Reviewed]]:
    """The reviews of one reviewer, first to last, by evaluation."""
    return {
        evaluation_id: [review for review in of_evaluation if review.reviewer == reviewer]
        for evaluation_id, of_evaluation in reviews.items()
    }


def _is_selected(state: Evaluation, only: Only) -> bool:
    if only == "failures":
        return state.score is not None and state.score.passed is False
    return state.finished if only == "all" else state.abandoned is not None


def _is_new(
    reviewing: Reviewing,
    opinion: ReviewInput,
    reviews: Sequence[Reviewed],
    pre_filled: Sequence[Reviewed],
) -> bool:
    """Whether an opinion from a file is new: not pre-filled, not imported, not the last one.

    `reviews` are all reviews of this reviewer, `pre_filled` those that the file was made with.
    """
    if pre_filled and opinion.says(pre_filled[-1]):
        return False
    if any(review.file_sha256 == reviewing.file_sha256 for review in reviews):
        return False
    return not reviews or not opinion.says(reviews[-1])


def draft_review(
    reviewing: Reviewing, evaluation_id: UUID, opinion: ReviewInput, reviews: Sequence[Reviewed]
) -> Draft:
    """The event that records a review.

    `reviews` are all reviews of the evaluation, first to last. Who once saw the engine's verdict on
    it is never blind again, and who adjudicated it does so again outside queues.
    """
    own = [review for review in reviews if review.reviewer == reviewing.reviewer]
    saw = any(review.blind is False for review in own)
    adjudicated = reviewing.queue is None and any(review.adjudicates for review in own)
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
        blind=False if saw else reviewing.blind,
        file_sha256=reviewing.file_sha256,
        sheet=reviewing.sheet,
        queue=reviewing.queue,
        seconds=reviewing.seconds,
        adjudicates=reviewing.adjudicates or adjudicated,
    )
