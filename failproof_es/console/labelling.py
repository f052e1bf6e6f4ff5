"""`/queues`: people who are logged in label the evaluations of a queue, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from typing import Any, LiteralString, NamedTuple, get_args
from uuid import UUID

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from failproof_es.console.database import ask_again
from failproof_es.console.errors import response_to
from failproof_es.console.links import to
from failproof_es.console.parts.conversation import read_conversation, shown_turns
from failproof_es.console.person import Form, form_of, person_of
from failproof_es.console.rendering import render
from failproof_es.console.routes import SnapshotOpener
from failproof_es.console.security.posts import Refused
from failproof_es.core.case import operations_id
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.queues import Task, allows, count_statuses
from failproof_es.core.run import Run
from failproof_es.dialects.kit.judging import Item, checklist
from failproof_es.engine.history import RecordedEvaluation, read_evaluations
from failproof_es.engine.queues.claiming import (
    Claim,
    claim_next,
    require_open_for,
    submit,
    was_claimed,
)
from failproof_es.engine.queues.creating import require_queue
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.engine.queues.rights import tasks_of
from failproof_es.engine.reviews.people import ReviewInput
from failproof_es.events import (
    EvaluationEvent,
    QueueClosed,
    QueueCreated,
    ReviewedItem,
    ReviewVerdict,
    Severity,
)
from failproof_es.events.side_streams import item_verdicts
from failproof_es.reading.exchanges import read_history
from failproof_es.store.reading.reader import Connection, read_streams, resolve_run
from failproof_es.store.store import Store

QUEUE_PATH = "/queues/{run}/{queue}"
MOST_RUNS = 200
"""Most runs whose queues the list shows: the newest ones that the person may see."""
MOST_READERS = 50
"""Most queues whose states are remembered."""
_LONGEST_NOTES = 20_000
_ALL = 2**63 - 1
_VERDICTS: tuple[ReviewVerdict, ...] = get_args(ReviewVerdict)
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_RUNS: LiteralString = """
SELECT run_id, run_number FROM failproof.run_list ORDER BY run_number DESC LIMIT %s
"""


class QueueRow(NamedTuple):
    """A queue in the list."""

    run_number: int
    created: QueueCreated
    is_open: bool
    statuses: dict[str, int]

    @property
    def url(self) -> str:
        """The address of its next evaluation."""
        return to("queues", self.run_number, self.created.queue)


class OpenQueue(NamedTuple):
    """A queue that a person labels, and its run."""

    run: Run
    created: QueueCreated
    person: str
    tasks: frozenset[Task]
    """What the person may do in it."""

    def url(self, after: UUID | None = None) -> str:
        """The address of the next evaluation after this one."""
        return to("queues", self.run.started.run_number, self.created.queue, after=after)


class Labelling:
    """The pages of queues. They read what the person may see, and write as the store's user."""

    def __init__(self, reading: SnapshotOpener, store: Store) -> None:
        self._reading = reading
        self._store = store
        self._readers: dict[tuple[UUID, str], QueueReader] = {}
        """The readers of the queues that were labelled last, by run and name."""

    def list_queues(self, request: Request) -> Response:
        """The queues of the newest runs, and how far they are."""
        with self._reading.database.snapshot(_name(request)) as connection:
            rows = list(_read_queues(connection, self._reader))
        page = render("queues.html", rows=rows, most=MOST_RUNS, person=person_of(request))
        return HTMLResponse(page)

    def show_next(self, request: Request, run: str, queue: str) -> Response:
        """The next evaluation for the person, with the form of a label."""
        opened = self._open(request, run, queue)
        after = _evaluation_in(opened.created, request.query_params.get("after"))
        reader = self._reader(opened.created)
        claim = claim_next(self._store, reader, opened.person, after=after, tasks=opened.tasks)
        return self._page(request, opened, claim)

    def submit(self, request: Request, run: str, queue: str) -> Response:
        """Record a label; a form that was sent twice is recorded once."""
        opened, form = self._open(request, run, queue), form_of(request)
        claim = self._claim_in(opened, form)
        try:
            opinion = _opinion_in(form, self._checklist(opened, claim))
        except ValueError as error:
            return self._page(request, opened, claim, problem=str(error), form=form)
        outcome = submit(self._store, claim, opinion).outcome
        if outcome == "late":
            raise _outdated()
        if outcome == "conflict":
            raise Refused(
                HTTPStatus.CONFLICT,
                "newer-verdict",
                "you gave another verdict on this evaluation meanwhile, which stays",
                f"go on at {opened.url()}",
            )
        return RedirectResponse(opened.url(claim.evaluation_id), 303)

    def _open(self, request: Request, run: str, queue: str) -> OpenQueue:
        """The queue. Raises `InvalidInput` if it is closed, or the person may not label it."""
        person = _name(request)
        with self._reading.moment(person=person) as (connection, reader, _):
            recorded = reader.run(resolve_run(connection, run))
            number = recorded.started.run_number
            created = require_queue(connection, recorded.started.originator_id, number, queue)
        with self._store.lend() as connection:
            require_open_for(connection, created.created, person)
            tasks = tasks_of(connection, person, created.created.about)
        if not tasks:
            raise Refused(
                HTTPStatus.FORBIDDEN,
                "not-assigned",
                "you have no role that labels the runs of this project",
                "ask for the role reviewer: `failproof-es project grant`",
            )
        return OpenQueue(recorded, created.created, person, tasks)

    def _reader(self, queue: QueueCreated) -> QueueReader:
        """The reader of a queue, which remembers what it read."""
        key = (queue.about, queue.queue)
        while key not in self._readers and len(self._readers) >= MOST_READERS:
            self._readers.pop(next(iter(self._readers)), None)
        return self._readers.setdefault(key, QueueReader(queue))

    def _claim_in(self, opened: OpenQueue, form: Form) -> Claim:
        """The claim that the form was made with.

        Raises `Refused` if its task is neither the person's now nor a label that they were asked
        for before.
        """
        evaluation = _evaluation_in(opened.created, form.value("evaluation"))
        own_reviews = form.value("own_reviews")
        if evaluation is None or not (own_reviews.isascii() and own_reviews.isdigit()):
            raise _outdated()
        with self._store.lend() as connection:
            items = self._reader(opened.created).items(connection)
            place = opened.created.evaluations.index(evaluation)
            item, count = items[place], int(own_reviews[:9])
            task = next((task for task in opened.tasks if task == form.value("task")), None)
            known = item.reviews_by.get(opened.person, 0)
            if task is None or count > known:
                raise _outdated()
            claim = Claim(
                opened.created, opened.person, evaluation, task, count, place + 1,
                tuple(item.labels.values()) if task == "adjudicate" else (),
            )  # fmt: skip
            # A label that comes after others have given theirs is recorded, if it was asked for.
            is_asked = item.task_of(opened.person) == task or count < known
            is_late = task == "label" and allows(opened.created.reviewers, opened.person)
            if not is_asked and not (is_late and was_claimed(connection, claim)):
                raise _outdated()
        return claim

    def _page(
        self,
        request: Request,
        opened: OpenQueue,
        claim: Claim | None,
        *,
        problem: str | None = None,
        form: Form | None = None,
    ) -> Response:
        context: dict[str, Any] = {"turns": (), "items": (), "case": None}
        if claim is not None:
            recorded = self._read(opened, claim)
            turns, why = read_conversation(recorded, opened.run.started)
            context = {
                "turns": shown_turns(claim.evaluation_id, turns)[0],
                "conversation_problem": why,
                "case": recorded.case,
                "items": checklist(recorded.case.expectation),
                "model": None if opened.created.blind else recorded.key.model_key,
            }
        page = render(
            "queue.html",
            claim=claim,
            queue=opened.created,
            run_number=opened.run.started.run_number,
            skip=None if claim is None else opened.url(claim.evaluation_id),
            problem=problem,
            form=form or Form(),
            verdicts_of=item_verdicts,
            page=context,
            person=person_of(request),
        )
        return HTMLResponse(page, HTTPStatus.OK if problem is None else 422)

    def _checklist(self, opened: OpenQueue, claim: Claim) -> tuple[Item, ...]:
        return checklist(self._read(opened, claim).case.expectation)

    def _read(self, opened: OpenQueue, claim: Claim) -> RecordedEvaluation:
        with self._reading.database.snapshot(opened.person) as connection:
            history = read_history(connection, claim.evaluation_id, _ALL)
            own = history[-1].event if history else None
            if not isinstance(own, EvaluationEvent) or own.run_id is None:
                raise _outdated()
            key = EvaluationKey(own.run_id, own.prompt_id, own.model_key, own.repetition)
            [recorded] = read_evaluations(connection, [key])
            return recorded


def add_labelling(app: FastAPI, reading: SnapshotOpener, store: Store) -> None:
    """Register the routes."""
    labelling = Labelling(reading, store)

    def queues(request: Request) -> Response:
        return _answer(request, partial(labelling.list_queues, request))

    def show_next(request: Request, run: str, queue: str) -> Response:
        return _answer(request, partial(labelling.show_next, request, run, queue))

    def submit_label(request: Request, run: str, queue: str) -> Response:
        return _answer(request, partial(labelling.submit, request, run, queue))

    for path, handler, method in (
        ("/queues", queues, "GET"),
        (QUEUE_PATH, show_next, "GET"),
        (QUEUE_PATH, submit_label, "POST"),
    ):
        app.add_api_route(
            path, handler, methods=[method], include_in_schema=False, response_model=None
        )


def _answer(request: Request, read: Callable[[], Response]) -> Response:
    try:
        return ask_again(read)
    except Refused as refused:
        return refused.response(request)
    except Exception as error:
        return response_to(request, error)


def _name(request: Request) -> str:
    person = person_of(request)
    assert person is not None  # the guard lets nobody else in
    return person.name


def _read_queues(
    connection: Connection, reader_of: Callable[[QueueCreated], QueueReader]
) -> Iterator[QueueRow]:
    runs = dict(connection.execute(_RUNS, (MOST_RUNS,)).fetchall())
    streams = read_streams(connection, [operations_id(run_id) for run_id in runs])
    for run_id, number in runs.items():
        events = [row.event() for row in streams.get(operations_id(run_id), [])]
        closed = {event.queue for event in events if isinstance(event, QueueClosed)}
        for event in events:
            if isinstance(event, QueueCreated):
                statuses = count_statuses(reader_of(event).items(connection))
                yield QueueRow(number, event, event.queue not in closed, statuses)


def _evaluation_in(queue: QueueCreated, text: str | None) -> UUID | None:
    """The evaluation of the queue with this id; `None` if it has no such one."""
    return next((evaluation for evaluation in queue.evaluations if str(evaluation) == text), None)


def _opinion_in(form: Form, items: tuple[Item, ...]) -> ReviewInput:
    """What the form says. Raises `ValueError`, with a sentence for the person."""
    verdict = next((word for word in _VERDICTS if word == form.value("verdict")), None)
    if verdict is None:
        raise ValueError("Choose a verdict: pass, fail or unclear.")
    reviewed = []
    for item in items:
        if answer := form.value(f"item {item.key}"):
            verdicts = [word for word in item_verdicts(item.key) if word == answer]
            if not verdicts:
                raise ValueError(f"Choose one of the answers to {item.name}.")
            reviewed.append(ReviewedItem(item=item.key, verdict=verdicts[0]))
    severity = next((word for word in _SEVERITIES if word == form.value("severity")), None)
    tags = tuple(filter(None, (part.strip() for part in form.value("tags").split(","))))
    notes = form.value("notes").replace("\r\n", "\n").strip()
    if len(notes) > _LONGEST_NOTES or len(form.value("tags")) > 1_000:
        raise ValueError(f"Notes have at most {_LONGEST_NOTES:,} characters, tags 1,000.")
    if "\x00" in notes or "\x00" in "".join(tags):
        raise ValueError("Notes and tags cannot have the character NUL.")
    opinion = ReviewInput(verdict, tuple(reviewed), severity, tuple(dict.fromkeys(tags)), notes)
    if opinion.contradicts_itself:
        raise ValueError("This is no pass: an item of the checklist does not hold.")
    return opinion


def _outdated() -> Refused:
    return Refused(
        HTTPStatus.CONFLICT,
        "form-outdated",
        "this evaluation is not yours to label any more",
        "go on with the next one at /queues",
    )
