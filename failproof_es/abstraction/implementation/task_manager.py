"""`TaskManagerApi` on the engine: all submissions of one run share one drive.

Each submission is one evaluation of the run's plan. Callbacks are called for the evaluation's
events once these are durable; only the text of a streamed answer is passed on earlier.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.dataset_loader import task_of
from failproof_es.abstraction.implementation.dispatcher import Dispatcher
from failproof_es.abstraction.implementation.engine_loop import EngineLoop
from failproof_es.abstraction.implementation.recorded_benchmark import (
    DIALECT,
    RecordedBenchmark,
    result_of,
)
from failproof_es.abstraction.implementation.run_drive import RunDrive
from failproof_es.abstraction.implementation.subscriptions import CallbackDispatcher, Subscriptions
from failproof_es.abstraction.notices import Notice
from failproof_es.abstraction.types import BenchmarkProgress, BenchmarkTask, Result
from failproof_es.core.case import Case
from failproof_es.core.evaluation import Evaluation, EvaluationKey, Transcript, evolve
from failproof_es.events import Event, RequestSent
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import HeldLease, RunBusy

OnJudged = Callable[[Result], None]
OnEnd = Callable[[str | None], None]

_DONE = BenchmarkProgress(total_tasks=1, completed_tasks=1, percent_complete=100.0)


@dataclass(slots=True)
class _Submission:
    """A submitted evaluation: its state, and which notices were published."""

    submission_id: int
    run_number: int
    key: EvaluationKey
    case: Case
    result_id: int
    state: Evaluation
    started: bool = False
    answered: bool = False

    def result(self) -> Result:
        return result_of(self.case, self.state, self.key, self.result_id, self.run_number)

    def notice(self, event: BenchmarkEvent, **what: Any) -> Notice:
        return Notice(
            event,
            self.run_number,
            self.submission_id,
            self.case.case_id,
            self.key.model_key,
            **what,
        )

    @property
    def waits_for_judge(self) -> bool:
        """Whether the answer is complete and only a judgement is missing."""
        state = self.state
        if state.classification is None or state.finished:
            return False
        return DIALECT.judge_messages(self.case, Transcript(state.replies)) is not None


class TaskManager:
    """A `TaskManagerApi` on the engine, which executes the runs of the submitted tasks.

    Submissions may come from any thread; callbacks are called in the dispatcher's thread.
    """

    def __init__(self, store: Store, loop: EngineLoop, dispatcher: Dispatcher) -> None:
        self._store = store
        self._loop = loop
        self._subscriptions = Subscriptions(dispatcher)
        self._lock = threading.RLock()
        self._runs: dict[int, _DrivenRun] = {}
        self._submitted = 0

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        """Have a model answer a task of the run's plan; returns the submission's id.

        A recorded answer is not asked for again: the submission ends at once with the recorded
        result. Submitting the same again while the run is executed returns the same id. Raises
        `InvalidInput` for a task or a model that is not in the plan, or a run that has ended.
        """
        with self._lock:
            run = self._drive_run(run_id)
            key = run.recorded.key(task.task_id, model_name)
            planned = run.recorded.tasks[task.task_id].case
            if task_of(planned) != task:
                reason = f"run {run_id} has other words for the task {task.task_id!r}"
                raise InvalidInput.because(
                    "plan-mismatch", reason, remedy="submit it as the plan has it"
                )
            existing = run.submissions.get(key.evaluation_id)
            if existing is not None:
                return existing.submission_id
            self._submitted += 1
            submission = _Submission(
                self._submitted,
                run_id,
                key,
                planned,
                run.recorded.result_id(key, task.task_id),
                run.recorded.evaluation(key).state(),
            )
            self._subscriptions.open(submission.submission_id)
            run.take(submission)
            return submission.submission_id

    def subscribe(
        self,
        submission_id: int,
        event: BenchmarkEvent,
        callback: Callable[[Any], None],
        *,
        calls: CallbackDispatcher | None = None,
    ) -> int:
        """Register a callback for an event of a submission; it gets a `Notice`. Returns its token.

        `calls` calls the callback, by default the shared dispatcher. Raises `UnknownSubmission` if
        there is no submission with that id.
        """
        return self._subscriptions.subscribe(submission_id, event, callback, calls)

    def unsubscribe(self, token: int) -> None:
        """Remove a callback; idempotent. Raises `UnknownToken` if the token was never issued."""
        self._subscriptions.unsubscribe(token)

    def judge(self, run_id: int, on_judged: OnJudged, on_end: OnEnd) -> None:
        """Judge every waiting answer of the run; nothing may be submitted afterwards.

        `on_judged` gets every result that becomes final by a judgement. `on_end` is called once:
        with `None` when the run has ended, else with the reason why not, such as that the run is
        not executed here. Both must not block: most calls come from the engine's thread.
        """
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                on_end(f"run {run_id} is not being driven: resume it")
            else:
                run.judge(on_judged, on_end)

    @contextlib.contextmanager
    def borrow_lease(self, run_id: int, evaluation_id: UUID) -> Iterator[HeldLease | None]:
        """Lend the lease of a run, to record a judgement from outside; `None` if not executed here.

        The judges are not asked about that evaluation. Raises `RunBusy` while the run's judges are
        being asked.
        """
        with self._lock:
            run = self._runs.get(run_id)
        if run is None:
            yield None
        else:
            with run.borrow_lease(evaluation_id) as lease:
                yield lease

    def end_run(self, run_id: int) -> None:
        """End a run whose results are all final, and wait for that.

        Does nothing if the run has ended or is executed here, which ends it.
        """
        with self._lock:
            if run_id in self._runs or RecordedBenchmark.read(self._store, run_id).run.ended:
                return
            run = self._drive_run(run_id)
        run.end(judged_outside=True)

    def close(self) -> None:
        """Stop all runs in execution, each after its requests in flight. They can be resumed.

        A run with judgements from outside is ended if all its results are final.
        """
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.end()

    def _drive_run(self, run_id: int) -> _DrivenRun:
        """The run in execution, begun if necessary. Raises `InvalidInput` for a run that has
        ended."""
        if run_id not in self._runs:
            recorded = RecordedBenchmark.read(self._store, run_id)
            if recorded.run.ended:
                reason = f"run {run_id} has ended: {recorded.run.status}"
                raise InvalidInput.because("run-ended", reason, remedy="begin another run")
            self._runs[run_id] = _DrivenRun(recorded, self._subscriptions, self._forget)
            self._runs[run_id].begin(self._loop)
        return self._runs[run_id]

    def _forget(self, run_id: int) -> None:
        # Atomic, so without the lock: the engine's thread must not wait.
        self._runs.pop(run_id, None)


class _DrivenRun:
    """A run that is being executed: publishes its events to the subscribers."""

    def __init__(
        self,
        recorded: RecordedBenchmark,
        subscriptions: Subscriptions,
        forget: Callable[[int], None],
    ) -> None:
        self.recorded = recorded
        self.submissions: dict[UUID, _Submission] = {}
        self.drive: RunDrive
        self._subscriptions = subscriptions
        self._forget = forget
        self._on_judged: OnJudged = lambda _: None
        self._on_end: OnEnd = lambda _: None
        self._end_lock = threading.Lock()
        self._judging_lock = threading.Lock()
        """Held while a judgement from outside is recorded. Never taken in the engine's thread."""
        self._judging = False
        self._judged_outside: set[UUID] = set()
        self._ended: tuple[str | None] | None = None

    def begin(self, loop: EngineLoop) -> None:
        """Begin to execute the run in the engine's loop."""
        self.drive = RunDrive(self.recorded.store, loop, self.recorded.run_id, self)

    def take(self, submission: _Submission) -> None:
        """Have an evaluation answered, or publish its recorded outcome if it has one."""
        self.submissions[submission.key.evaluation_id] = submission
        if submission.state.finished or submission.waits_for_judge:
            self._publish(submission, submission.notice(BenchmarkEvent.STARTED))
            self._publish_outcome(submission)
            return
        self.drive.submit(submission.key)
        with self._end_lock:
            ended = self._ended
        if ended is not None:
            self._publish_unanswered(submission, ended[0])

    def judge(self, on_judged: OnJudged, on_end: OnEnd) -> None:
        """Report the judgements from outside, then let the judges judge the other answers.

        `on_judged` and `on_end` are called as in `TaskManager.judge`.
        """
        with self._judging_lock:
            self._judging = True
            with self._end_lock:
                ended = self._ended
                self._on_judged, self._on_end = on_judged, on_end
            for submission in self.submissions.values():
                if submission.key.evaluation_id not in self._judged_outside:
                    continue
                submission.state = self.recorded.evaluation(submission.key).state()
                on_judged(submission.result())
            if ended is not None:
                on_end(ended[0])
            else:
                self.drive.judge()

    @contextlib.contextmanager
    def borrow_lease(self, evaluation_id: UUID) -> Iterator[HeldLease | None]:
        """Lend the run's lease, to record a judgement of that evaluation from outside.

        Raises `RunBusy` once the run's judges are being asked.
        """
        with self._judging_lock:
            if self._judging:
                raise RunBusy(self.recorded.run_id, "this program, whose judges are being asked")
            yield self.drive.lease()
            self._judged_outside.add(evaluation_id)

    def end(self, *, judged_outside: bool = False) -> None:
        """Stop after the requests in flight. A run whose last results were judged outside is ended.

        `judged_outside`: there were judgements from outside before this execution began.
        """
        final = (TaskStatus.JUDGEMENT_COMPLETED, TaskStatus.FAILED)
        with self._judging_lock:
            outside = judged_outside or self._judged_outside
            if outside and all(r.status in final for r in self.recorded.results()):
                self._judging = True
                self.drive.finish()
            else:
                self.drive.stop()

    # -- in the engine's thread ------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        """Apply an event to its submission, and publish a notice if the submission began or is
        answered."""
        submission = self.submissions.get(event.originator_id)
        if submission is None:
            return
        submission.state = evolve(submission.state, event)
        if submission.answered:
            if submission.state.finished:
                self._on_judged(submission.result())
        elif isinstance(event, RequestSent) and not submission.started:
            submission.started = True
            self._publish(submission, submission.notice(BenchmarkEvent.STARTED))
        elif submission.state.finished or submission.waits_for_judge:
            self._publish_outcome(submission)

    def on_text(self, key: EvaluationKey, request: RequestSent, text: str) -> None:
        """Publish a piece of a streamed answer to the task; pieces of judges' replies are
        ignored."""
        submission = self.submissions.get(key.evaluation_id)
        if submission is not None and request.purpose == "target":
            streaming = BenchmarkEvent.STREAMING_RESULT
            notice = submission.notice(streaming, attempt=request.attempt, text=text)
            self._publish(submission, notice)

    def on_end(self, error: str | None) -> None:
        """Publish an ERROR for each unanswered submission, then report the end of the execution.

        `error` is `None` if the run has ended, else the reason why not.
        """
        self._forget(self.recorded.number)
        with self._end_lock:
            self._ended = (error,)
            on_end = self._on_end
        for submission in list(self.submissions.values()):
            self._publish_unanswered(submission, error)
        on_end(error)

    # -- notices ---------------------------------------------------------------------------

    def _publish_outcome(self, submission: _Submission) -> None:
        """Publish the final notice of a submission: COMPLETED, or ERROR if it has failed."""
        submission.answered = True
        result = submission.result()
        if result.status is TaskStatus.FAILED:
            error = result.error_message or ""
            self._publish(
                submission, submission.notice(BenchmarkEvent.ERROR, result=result, error=error)
            )
            return
        self._publish(
            submission,
            submission.notice(BenchmarkEvent.PROGRESS_CHANGED, progress=_DONE, result=result),
        )
        self._publish(submission, submission.notice(BenchmarkEvent.COMPLETED, result=result))

    def _publish_unanswered(self, submission: _Submission, error: str | None) -> None:
        """Publish an ERROR if the execution is over and the submission has no answer.

        `error` is the reason why the run has not ended; `None` if it has.
        """
        if not submission.answered:
            reason = error or "the run ended without it"
            self._publish(
                submission,
                submission.notice(BenchmarkEvent.ERROR, result=submission.result(), error=reason),
            )

    def _publish(self, submission: _Submission, notice: Notice) -> None:
        self._subscriptions.publish(submission.submission_id, notice)
