"""A `TaskManagerApi` without models: whoever tests a user interface says what happens.

    tasks = StubTaskManager()
    submission = tasks.submit_task(1, task, "model")
    tasks.subscribe(submission, BenchmarkEvent.STREAMING_RESULT, on_stream)
    tasks.emit(submission, BenchmarkEvent.STREAMING_RESULT, text="Once ")
    tasks.emit(submission, BenchmarkEvent.COMPLETED)

It imports neither the engine nor a database. Callbacks are called in the calling thread, in
order, before `emit` returns; all else is as in the real one (specification 003 § 5.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from failproof_es.abstraction.dispatcher import logger
from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.notices import Notice
from failproof_es.abstraction.subscriptions import Subscriptions, UnknownSubmission
from failproof_es.abstraction.types import BenchmarkProgress, BenchmarkTask, Result


@dataclass(frozen=True)
class Submitted:
    """What was handed to `submit_task`."""

    run_id: int
    task: BenchmarkTask
    model_name: str


class _AtOnce:
    """Calls in the calling thread."""

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
        self._dispatcher = _AtOnce()
        self._subscriptions = Subscriptions(self._dispatcher)
        self.submitted: dict[int, Submitted] = {}
        """By submission id, in order."""

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        """Take a submission; ids count from 1."""
        submission_id = len(self.submitted) + 1
        self.submitted[submission_id] = Submitted(run_id, task, model_name)
        self._subscriptions.open(submission_id)
        return submission_id

    def subscribe(
        self, submission_id: int, event: BenchmarkEvent, callback: Callable[[Any], None]
    ) -> int:
        """Register a callback. Raises `UnknownSubmission`."""
        return self._subscriptions.subscribe(submission_id, event, callback)

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
                result=_result(submitted, submission_id, event, text, error) if final else None,
                error=error,
            ),
        )


def _result(
    submitted: Submitted, result_id: int, event: BenchmarkEvent, text: str, error: str | None
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
