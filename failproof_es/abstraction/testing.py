"""A stub `TaskManagerApi` without models: the test of a user interface decides what happens.

    tasks = StubTaskManager()
    submission = tasks.submit_task(1, task, "model")
    tasks.subscribe(submission, BenchmarkEvent.STREAMING_RESULT, on_stream)
    tasks.emit(submission, BenchmarkEvent.STREAMING_RESULT, text="Once ")
    tasks.emit(submission, BenchmarkEvent.COMPLETED)

Under the shipped `BenchmarkSession` the test also decides how it judges:

    benchmark = BenchmarkSession(models, data, loader, tasks, dataset_path=..., report=...,
                          dispatcher=InlineDispatcher(), flow=InlineDispatcher())
    run_id = benchmark.start_benchmark()
    ...                                                     # `emit` the end of each submission
    tasks.grade(submission, 0.8, "a good answer")           # of each that was COMPLETED

It imports neither the engine nor a database. Callbacks are called in the calling thread, in
order, before `emit` returns; all else is as in the real one (specification 003 § 5.4).
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
    """What was handed to `submit_task`."""

    run_id: int
    task: BenchmarkTask
    model_name: str


class InlineDispatcher:
    """Calls in the calling thread: a dispatcher, and a flow, for a `BenchmarkSession`."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def put(self, call: Callable[[], None]) -> None:
        """Call it now; what it raises is logged, as elsewhere."""
        self._calls.append(call)
        if len(self._calls) > 1:
            return  # a callback that emits: its turn comes when the callback has returned
        while self._calls:
            try:
                self._calls[0]()
            except Exception:
                logger.exception("a benchmark callback raised")
            self._calls.pop(0)


class StubTaskManager:
    """Takes submissions and does nothing with them until it is told what becomes of them."""

    def __init__(self) -> None:
        self._dispatcher = InlineDispatcher()
        self._subscriptions = Subscriptions(self._dispatcher)
        self.submitted: dict[int, SubmittedTask] = {}
        """By submission id, in order."""
        self._answered: dict[int, Result] = {}
        """What waits for its judgement, by submission id."""
        self._ended: set[int] = set()
        self._judging: dict[int, tuple[Callable[[Result], None], Callable[[str | None], None]]] = {}
        """Who hears of judgements and of the end, by run."""

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        """Take a submission; ids count from 1."""
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
        """Register a callback, called by `calls`, else at once. Raises `UnknownSubmission`."""
        return self._subscriptions.subscribe(submission_id, event, callback, calls)

    def unsubscribe(self, token: int) -> None:
        """Remove a callback; twice is once. Raises `UnknownToken`."""
        self._subscriptions.unsubscribe(token)

    def emit(
        self, submission_id: int, event: BenchmarkEvent, *, text: str = "", error: str | None = None
    ) -> None:
        """Have this happen to a submission. After its COMPLETED or ERROR nothing more does.

        `text` is the piece of a STREAMING_RESULT, or the whole answer of a COMPLETED;
        `error` what went wrong with an ERROR. Raises `UnknownSubmission`.
        """
        submitted = self.submitted.get(submission_id)
        if submitted is None:
            raise UnknownSubmission(f"there is no submission {submission_id}")
        final = event in (BenchmarkEvent.COMPLETED, BenchmarkEvent.ERROR)
        result = _result(submitted, submission_id, event, text, error) if final else None
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
        """Take a run whose answers are to be judged; it ends at once where none waits."""
        self._judging[run_id] = (on_judged, on_end)
        self._end_if_judged(run_id)

    def grade(self, submission_id: int, score: float, reason: str) -> None:
        """Have an answer judged. After the last one of its run the run has ended.

        Raises `UnknownSubmission` where nothing waits to be judged under that id.
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
        """Have something keep a run that is being judged from its end."""
        self._judging.pop(run_id)[1](error)

    def _end_if_judged(self, run_id: int) -> None:
        if not any(result.run_id == run_id for result in self._answered.values()):
            self._judging.pop(run_id)[1](None)


def _result(
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
