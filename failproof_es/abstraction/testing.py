"""A stub `TaskManagerApi` without models, for tests of user interfaces: the test emits events.

    tasks = StubTaskManager()
    submission = tasks.submit_task(1, task, "model")
    tasks.subscribe(submission, BenchmarkEvent.STREAMING_RESULT, on_stream)
    tasks.emit(submission, BenchmarkEvent.STREAMING_RESULT, text="Once ")
    tasks.emit(submission, BenchmarkEvent.COMPLETED)

With the shipped `BenchmarkSession` the test also gives the judgements:

    benchmark = BenchmarkSession(models, data, loader, tasks, dataset_path=..., report=...,
                          dispatcher=InlineDispatcher(), flow=InlineDispatcher())
    run_id = benchmark.start_benchmark()
    ...                                             # `emit` a final event for each submission
    tasks.grade(submission, 0.8, "a good answer")   # for each COMPLETED submission

The stub needs neither the engine nor a database. Callbacks are called in the calling thread, in
order, before `emit` returns; the rest is as in the real task manager (specification 003 § 5.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.dispatcher import logger
from failproof_es.abstraction.implementation.subscriptions import (
    CallbackDispatcher,
    Subscriptions,
    UnknownSubmission,
)
from failproof_es.abstraction.notices import Notice
from failproof_es.abstraction.types import BenchmarkProgress, BenchmarkTask, Result


@dataclass(frozen=True)
class SubmittedTask:
    """The arguments of one `submit_task` call."""

    run_id: int
    task: BenchmarkTask
    model_name: str


class InlineDispatcher:
    """A dispatcher without a thread, for `dispatcher` and `flow` of a `BenchmarkSession`.

    It calls in the thread that calls `put`.
    """

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def put(self, call: Callable[[], None]) -> None:
        """Make the call now, or after the running one; an exception is logged, as in
        `Dispatcher`."""
        self._calls.append(call)
        if len(self._calls) > 1:
            return  # put by a running callback: called when that callback has returned
        while self._calls:
            try:
                self._calls[0]()
            except Exception:
                logger.exception("a benchmark callback raised")
            self._calls.pop(0)


class StubTaskManager:
    """A task manager whose submissions get events and judgements only from the test."""

    def __init__(self) -> None:
        self._dispatcher = InlineDispatcher()
        self._subscriptions = Subscriptions(self._dispatcher)
        self.submitted: dict[int, SubmittedTask] = {}
        """The submissions by id, in order."""
        self._answered: dict[int, Result] = {}
        """Results that wait for a judgement, by submission id."""
        self._ended: set[int] = set()
        self._judging: dict[int, tuple[Callable[[Result], None], Callable[[str | None], None]]] = {}
        """The callbacks `on_judged` and `on_end`, by run."""

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        """Record a submission; returns its id, counted from 1."""
        submission_id = len(self.submitted) + 1
        self.submitted[submission_id] = SubmittedTask(run_id, task, model_name)
        self._subscriptions.open(submission_id)
        return submission_id

    def subscribe(
        self,
        submission_id: int,
        event: BenchmarkEvent,
        callback: Callable[[Any], None],
        *,
        calls: CallbackDispatcher | None = None,
    ) -> int:
        """Register a callback for an event of a submission, called by `calls` or else inline.

        Returns its token. Raises `UnknownSubmission` if there is no submission with that id.
        """
        return self._subscriptions.subscribe(submission_id, event, callback, calls)

    def unsubscribe(self, token: int) -> None:
        """Remove a callback; idempotent. Raises `UnknownToken` if the token was never issued."""
        self._subscriptions.unsubscribe(token)

    def emit(
        self, submission_id: int, event: BenchmarkEvent, *, text: str = "", error: str | None = None
    ) -> None:
        """Emit an event of a submission; ignored after its COMPLETED or ERROR.

        `text` is the piece of a STREAMING_RESULT or the whole answer of a COMPLETED, `error` the
        message of an ERROR. Raises `UnknownSubmission` if there is no submission with that id.
        """
        submitted = self.submitted.get(submission_id)
        if submitted is None:
            raise UnknownSubmission(f"there is no submission {submission_id}")
        final = event in (BenchmarkEvent.COMPLETED, BenchmarkEvent.ERROR)
        result = _make_result(submitted, submission_id, event, text, error) if final else None
        if result is not None and submission_id not in self._ended:
            self._ended.add(submission_id)
            if event is BenchmarkEvent.COMPLETED:
                self._answered[submission_id] = result
        done = BenchmarkProgress(1, 1, 100.0)
        self._subscriptions.publish(
            submission_id,
            Notice(
                event,
                submitted.run_id,
                submission_id,
                submitted.task.task_id,
                submitted.model_name,
                attempt=1,
                text=text if event is BenchmarkEvent.STREAMING_RESULT else "",
                progress=done if event is BenchmarkEvent.PROGRESS_CHANGED else None,
                result=result,
                error=error,
            ),
        )

    def judge(
        self,
        run_id: int,
        on_judged: Callable[[Result], None],
        on_end: Callable[[str | None], None],
    ) -> None:
        """Begin the judging of a run; a run without waiting answers ends at once.

        `on_judged` gets each result that `grade` judges. `on_end` gets `None` after the last one,
        or the error of `fail_run`.
        """
        self._judging[run_id] = (on_judged, on_end)
        self._end_if_judged(run_id)

    def grade(self, submission_id: int, score: float, reason: str) -> None:
        """Judge an answer with a score from 0 to 1. The last judgement of a run ends the run.

        Raises `UnknownSubmission` if no answer with that id waits for a judgement.
        """
        result = self._answered.get(submission_id)
        if result is None or result.run_id not in self._judging:
            raise UnknownSubmission(f"submission {submission_id} does not wait for a judge")
        del self._answered[submission_id]
        graded = TaskStatus.JUDGEMENT_COMPLETED
        self._judging[result.run_id][0](
            replace(result, status=graded, evaluation_score=score, evaluation_reason=reason)
        )
        self._end_if_judged(result.run_id)

    def fail_run(self, run_id: int, error: str) -> None:
        """End the judging of a run with an error, which its `on_end` gets.

        Raises `KeyError` if the run is not being judged.
        """
        self._judging.pop(run_id)[1](error)

    def _end_if_judged(self, run_id: int) -> None:
        if not any(result.run_id == run_id for result in self._answered.values()):
            self._judging.pop(run_id)[1](None)


def _make_result(
    submitted: SubmittedTask, result_id: int, event: BenchmarkEvent, text: str, error: str | None
) -> Result:
    failed = event is BenchmarkEvent.ERROR
    return Result(
        result_id=result_id,
        run_id=submitted.run_id,
        model_name=submitted.model_name,
        task_id=submitted.task.task_id,
        llm_response=text,
        status=TaskStatus.FAILED if failed else TaskStatus.PENDING_JUDGEMENT,
        error_message=error,
    )
