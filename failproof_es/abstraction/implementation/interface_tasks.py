"""Submitting and judging with the interfaces of specification 003 alone, for the flow.

Works with any `TaskManagerApi`, whatever payload its callbacks get. The judging follows § 1.4:
`load_results`, `build_judge_prompt`, `generate`, `update_result`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from failproof_es.abstraction.data_manager_api import DataManagerApi
from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.dispatcher import logger
from failproof_es.abstraction.implementation.prompts import Prompts
from failproof_es.abstraction.implementation.subscriptions import CallbackDispatcher
from failproof_es.abstraction.llm_manager_api import LLMManagerApi
from failproof_es.abstraction.notices import FINAL, Notice
from failproof_es.abstraction.prompt_api import PromptApi
from failproof_es.abstraction.task_manager_api import TaskManagerApi
from failproof_es.abstraction.types import BenchmarkProgress, BenchmarkTask, Result
from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import ModelReply, Transcript
from failproof_es.dialects.kit.json_in_prose import ReplyUnreadable, outermost_objects
from failproof_es.dialects.shipped.benchmark import Benchmark as Dialect

_ENDS = (TaskStatus.JUDGEMENT_COMPLETED, TaskStatus.FAILED)


@dataclass(frozen=True, slots=True)
class _SubmittedTask:
    run_id: int
    task: BenchmarkTask
    model_name: str


class InterfaceTasks:
    """A `TaskManagerApi` around another one, `tasks`, that can also judge.

    `judge_name` returns the name of the chosen judge. `flow` calls the callbacks.
    """

    def __init__(
        self,
        tasks: TaskManagerApi,
        data: DataManagerApi,
        models: LLMManagerApi,
        prompts: PromptApi,
        flow: CallbackDispatcher,
        judge_name: Callable[[], str],
    ) -> None:
        self._tasks = tasks
        self._data = data
        self._models = models
        self._prompts = prompts
        self._flow = flow
        self._judge_name = judge_name
        self._lock = threading.Lock()
        self._submitted: dict[int, _SubmittedTask] = {}
        self._final_events: dict[int, BenchmarkEvent] = {}
        """The first final event of each submission that has ended."""
        self._final: set[tuple[int, str, str]] = set()
        """Run id, model name and task id of each result that was reported as final: once."""

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        """Submit a task of a run for one model to the wrapped task manager; returns the
        submission's id."""
        submission_id = self._tasks.submit_task(run_id, task, model_name)
        self._submitted[submission_id] = _SubmittedTask(run_id, task, model_name)
        return submission_id

    def subscribe(
        self,
        submission_id: int,
        event: BenchmarkEvent,
        callback: Callable[[Any], None],
        *,
        calls: CallbackDispatcher | None = None,
    ) -> int:
        """Register a callback for an event of a submission; returns its token.

        `calls` calls the callback, by default `flow`. The callback gets a `Notice` in place of the
        wrapped manager's payload. Of the final events of a submission (COMPLETED, ERROR) only the
        first is passed on, once to each callback.
        """
        by = calls or self._flow
        is_ended = False

        def forward_notice(payload: Any = None) -> None:
            nonlocal is_ended
            if event in FINAL:
                with self._lock:
                    first = self._final_events.setdefault(submission_id, event)
                    if is_ended or first is not event:
                        return
                    is_ended = True
            notice = self._make_notice(submission_id, event, payload)
            by.put(lambda: callback(notice))

        return self._tasks.subscribe(submission_id, event, forward_notice)

    def unsubscribe(self, token: int) -> None:
        """Remove the callback with this token from the wrapped task manager."""
        self._tasks.unsubscribe(token)

    def judge(
        self,
        run_id: int,
        on_judged: Callable[[Result], None],
        on_end: Callable[[str | None], None],
    ) -> None:
        """Judge every waiting answer of the run, one after the other, in the flow's thread.

        `on_judged` gets each judged result, and each final one that had no ERROR notice. `on_end`
        is called once, last: with `None`, or with the error that stopped the judging.
        """
        self._flow.put(lambda: self._judge_all(run_id, on_judged, on_end))

    # -- notices ---------------------------------------------------------------------------

    def _make_notice(self, submission_id: int, event: BenchmarkEvent, payload: Any) -> Notice:
        submitted = self._submitted[submission_id]
        notice = payload if isinstance(payload, Notice) else None
        result = payload if isinstance(payload, Result) else notice.result if notice else None
        error = None
        if event is BenchmarkEvent.ERROR:
            error = _error_message(payload, notice, result)
            result = replace(
                result or self._empty_result(submitted),
                status=TaskStatus.FAILED,
                error_message=error,
            )
        if event in FINAL and result is not None and result.status in _ENDS:
            self._final.add((submitted.run_id, submitted.model_name, submitted.task.task_id))
        progress = payload if isinstance(payload, BenchmarkProgress) else None
        return Notice(
            event,
            submitted.run_id,
            submission_id,
            submitted.task.task_id,
            submitted.model_name,
            attempt=notice.attempt if notice else 1,
            text=notice.text if notice else payload if isinstance(payload, str) else "",
            progress=progress or (notice.progress if notice else None),
            result=result,
            error=error,
        )

    def _empty_result(self, submitted: _SubmittedTask) -> Result:
        return Result(
            run_id=submitted.run_id,
            model_name=submitted.model_name,
            task_id=submitted.task.task_id,
        )

    # -- judging ---------------------------------------------------------------------------

    def _judge_all(
        self,
        run_id: int,
        on_judged: Callable[[Result], None],
        on_end: Callable[[str | None], None],
    ) -> None:
        tasks = {submitted.task.task_id: submitted.task for submitted in self._submitted.values()}
        try:
            for result in self._data.load_results(run_id, TaskStatus.PENDING_JUDGEMENT):
                judged = self._judge_result(result, tasks[result.task_id])
                self._data.update_result(judged)
                self._report_final(run_id, judged, on_judged)
            for status in _ENDS:  # results that were final without a judge
                for result in self._data.load_results(run_id, status):
                    self._report_final(run_id, result, on_judged)
        except Exception as error:  # `on_end` must be called, else callers wait forever
            logger.exception("run %s could not be judged", run_id)
            on_end(f"{type(error).__name__}: {error}")
        else:
            on_end(None)

    def _report_final(
        self, run_id: int, result: Result, on_judged: Callable[[Result], None]
    ) -> None:
        key = (run_id, result.model_name, result.task_id)
        if key not in self._final:
            self._final.add(key)
            on_judged(result)

    def _judge_result(self, result: Result, task: BenchmarkTask) -> Result:
        """The result with its judgement, or FAILED with the error of the judging."""
        try:
            prompt = self._prompts.build_judge_prompt(task, result.llm_response)
            reply = self._models.generate(self._judge_name(), prompt)
            verdict = self._read_verdict(reply, task, result.llm_response)
        except Exception as error:  # models and prompts are foreign code: any exception
            return replace(result, status=TaskStatus.FAILED, error_message=str(error))
        score, reason = verdict
        return replace(
            result,
            status=TaskStatus.JUDGEMENT_COMPLETED,
            evaluation_score=score,
            evaluation_reason=reason,
        )

    def _read_verdict(self, reply: str, task: BenchmarkTask, answer: str) -> tuple[float, str]:
        """Score and reason in a judge's reply. Raises `ValueError` if they are missing or
        invalid."""
        if not isinstance(self._prompts, Prompts):
            return _parse_foreign_verdict(reply)
        transcript = Transcript((ModelReply(0, answer, "stop"),))
        reading = Dialect().read_judgement(_case_of(task), transcript, ModelReply(0, reply, "stop"))
        if reading.verdict is None:
            raise ValueError(reading.problem)
        return float(reading.verdict["score"]), str(reading.verdict["reason"])


def _error_message(payload: Any, notice: Notice | None, result: Result | None) -> str:
    message = (notice.error if notice else None) or (result.error_message if result else None)
    return message or (str(payload) if payload not in (None, notice, result) else "the task failed")


def _parse_foreign_verdict(reply: str) -> tuple[float, str]:
    """Score from 0 to 1 and reason in a judge's reply to prompts that are not `Prompts`.

    Raises `ValueError` unless the reply has one JSON object with both; repeating the same object is
    allowed.
    """
    try:
        objects = [dict(pairs) for pairs in outermost_objects(reply, ("score",))]
    except ReplyUnreadable as error:
        raise ValueError(f"{error.reason}: {error.message}") from None
    if not objects or any(judgement != objects[0] for judgement in objects):
        raise ValueError("the judge's reply does not hold one JSON object with a score")
    score, reason = objects[0].get("score"), objects[0].get("reason")
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    number = float(score or 0) if is_number else math.nan
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"the judge's score is not from 0 to 1: {score!r}")
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError("the judge's reply has no reason")
    reason.encode()  # raises `ValueError` for half a character, which no record holds
    return number, reason


def _case_of(task: BenchmarkTask) -> Case:
    return Case(
        dialect="benchmark",
        case_id=task.task_id,
        suite_id="",
        turns=(Turn(role="user", content=task.question),),
        expectation={
            "question": task.question,
            **asdict(task.expected_answer),
            "incorrect_direction": task.incorrect_direction,
        },
    )
