"""`BenchmarkApi`: the flow of specification 003 § 1, built on the other interfaces.

`open_benchmark` in `opened.py` builds one from a configuration and a log.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from failproof_es.abstraction.data_manager_api import DataManagerApi
from failproof_es.abstraction.dataset_loader_api import DataSetLoaderApi
from failproof_es.abstraction.enums import BenchmarkEvent, TaskStatus
from failproof_es.abstraction.implementation.interface_tasks import InterfaceTasks
from failproof_es.abstraction.implementation.prompts import Prompts
from failproof_es.abstraction.implementation.subscriptions import CallbackDispatcher, Subscriptions
from failproof_es.abstraction.llm_manager_api import LLMManagerApi
from failproof_es.abstraction.notices import Notice
from failproof_es.abstraction.prompt_api import PromptApi
from failproof_es.abstraction.task_manager_api import TaskManagerApi
from failproof_es.abstraction.types import (
    BenchmarkConfig,
    BenchmarkProgress,
    BenchmarkTask,
    Result,
)
from failproof_es.problems import InvalidInput, Problem, require_text_list

_RUN = 0
"""The subject of events of the whole run."""
_PROGRESS = BenchmarkEvent.PROGRESS_CHANGED
_FINAL = (TaskStatus.JUDGEMENT_COMPLETED, TaskStatus.FAILED)


class ExtendedDataManager(DataManagerApi, Protocol):
    """A data manager with methods that the session uses if they exist, beside the
    specification's."""

    def judge_with(self, judge_model_name: str) -> None:
        """Set the judge of runs that are created later."""

    def tasks_of(self, run_id: int) -> list[BenchmarkTask]:
        """The tasks of a run."""

    def configuration_of(self, run_id: int) -> BenchmarkConfig:
        """The configuration that a run was created with."""


class JudgingTasks(TaskManagerApi, Protocol):
    """A task manager with the methods that the session needs beside the specification's interface.

    `InterfaceTasks` supplies them for a task manager that lacks them.
    """

    def subscribe(
        self,
        submission_id: int,
        event: BenchmarkEvent,
        callback: Callable[[Any], None],
        *,
        calls: CallbackDispatcher | None = None,
    ) -> int:
        """Register a callback for an event of a submission; returns a token for `unsubscribe`.

        `calls` is the dispatcher that calls the callback; `None` means the task manager's own
        choice.
        """

    def judge(
        self,
        run_id: int,
        on_judged: Callable[[Result], None],
        on_end: Callable[[str | None], None],
    ) -> None:
        """Judge every answer of the run that waits for a judgement.

        `on_judged` gets each result that becomes final by it. `on_end` is called once: with `None`
        if the judging succeeded, else with the reason why not.
        """


def _can_judge(tasks: TaskManagerApi | JudgingTasks) -> bool:
    """Whether a task manager has the methods of `JudgingTasks`."""
    try:
        parameters = inspect.signature(tasks.subscribe).parameters
    except (TypeError, ValueError):
        return False
    return callable(getattr(tasks, "judge", None)) and "calls" in parameters


@dataclass(slots=True)
class _LatestRun:
    """Numbers of results of the latest run, and whether it has ended."""

    run_id: int = 0
    total: int = 0
    answered: int = 0
    judged: int = 0
    failed: int = 0
    settled: int = 0
    """Submissions that had their final event."""
    trouble: str | None = None
    ended: bool = True

    @property
    def progress(self) -> BenchmarkProgress:
        """Progress by judged and failed results; 100 % only after the run has ended."""
        done = self.judged + self.failed
        if not self.ended:
            done = min(done, self.total - 1)
        return BenchmarkProgress(self.total, done, 100.0 * done / self.total if self.total else 0.0)


class BenchmarkSession:
    """A `BenchmarkApi` that runs one benchmark at a time and publishes its progress.

    Its methods may be called from any thread. Callbacks get a `notices.Notice`, in order, in the
    dispatcher's thread. The session's own callbacks use the dispatcher `flow`, so that callbacks of
    others can't delay the run.
    """

    def __init__(
        self,
        models: LLMManagerApi,
        data: DataManagerApi | ExtendedDataManager,
        loader: DataSetLoaderApi,
        tasks: TaskManagerApi | JudgingTasks,
        *,
        dataset_path: str,
        report: Callable[[int], str],
        dispatcher: CallbackDispatcher,
        flow: CallbackDispatcher,
        prompts: PromptApi | None = None,
    ) -> None:
        """`loader` reads the tasks at `dataset_path`; `report` writes a report, returning its path.

        `dispatcher` calls the callbacks of subscribers, `flow` those of the session. `prompts` are
        used only if `tasks` can't judge: `InterfaceTasks` judges with them then. The default is the
        prompts of the benchmark dialect.
        """
        self._models = models
        self._data = data
        self._loader = loader
        self._tasks = (
            cast("JudgingTasks", tasks)
            if _can_judge(tasks)
            else InterfaceTasks(tasks, data, models, prompts or Prompts(), flow, self._chosen_judge)
        )
        self._dataset_path = dataset_path
        self._report = report
        self._flow = flow
        self._subscriptions = Subscriptions(dispatcher)
        self._subscriptions.open(_RUN)
        self._lock = threading.RLock()
        self._model_names: list[str] = []
        self._judge: str | None = None
        self._latest_run = _LatestRun()
        self._reported: set[int] = set()

    def list_models(self) -> list[str]:
        """The names of all models of the configured providers that can be reached."""
        return self._models.list_models()

    def select_models(self, model_names: list[str]) -> None:
        """Choose the models that answer. Raises `InvalidInput` for unknown or repeated names."""
        require_text_list(model_names, "model_names", "gpt-4o")
        problems = [
            Problem(
                "duplicate-name",
                f"the model {name!r} is chosen twice",
                remedy="name each model once",
            )
            for name in dict.fromkeys(model_names)
            if model_names.count(name) > 1
        ]
        problems += self._unknown_model_problems(model_names)
        if problems:
            raise InvalidInput(problems)
        self._model_names = list(model_names)

    def select_judge_model(self, judge_model_name: str) -> None:
        """Choose the model that judges. Raises `InvalidInput` for an unknown name."""
        if problems := self._unknown_model_problems([judge_model_name]):
            raise InvalidInput(problems)
        self._judge = judge_model_name

    def start_benchmark(self) -> int:
        """Begin a run in the background; returns its number.

        Raises `InvalidInput`, before the first question, if models or judge are not chosen, the
        dataset has defects, a model can't be reached or another run is in progress.
        """
        with self._lock:
            self._require_idle()
            judge = self._require_chosen()
            if (judge_with := getattr(self._data, "judge_with", None)) is not None:
                judge_with(judge)
            run_id = self._data.create_run(self._model_names)
            tasks = self._loader.load_tasks(self._dataset_path)
            self._data.save_tasks(run_id, tasks)
            self._submit_all(run_id, self._model_names, tasks)
        return run_id

    def resume_benchmark(self, run_id: int) -> None:
        """Resume a run in the background; recorded answers and judgements are kept.

        Raises `InvalidInput` if the run has ended, another run is in progress or the data
        manager lacks `configuration_of` and `tasks_of`.
        """
        with self._lock:
            self._require_idle()
            if not hasattr(self._data, "configuration_of") or not hasattr(self._data, "tasks_of"):
                raise InvalidInput.because(
                    "unsupported-feature",
                    f"run {run_id} cannot be resumed: the data manager has no `configuration_of` "
                    "and no `tasks_of`",
                    remedy="begin another run",
                )
            names = self._data.configuration_of(run_id).model_names
            self._submit_all(run_id, names, self._data.tasks_of(run_id))

    def get_progress(self) -> dict[str, float]:
        """Progress of the run that was started last: numbers of one moment, by name.

        `total_tasks` = models x tasks. `completed_tasks` = `judged_tasks` + `failed_tasks`, but
        less than `total_tasks` until the run has ended. `percent_complete` is their ratio, from 0
        to 100. `answered_tasks` have an answer.
        """
        with self._lock:
            run_status = self._latest_run
            progress = run_status.progress
            return {
                "total_tasks": float(progress.total_tasks),
                "completed_tasks": float(progress.completed_tasks),
                "percent_complete": progress.percent_complete,
                "answered_tasks": float(run_status.answered),
                "judged_tasks": float(run_status.judged),
                "failed_tasks": float(run_status.failed),
            }

    def generate_report(self, run_id: int) -> str:
        """Write the report of a run; returns its path. A run's first report publishes COMPLETED.

        Raises `InvalidInput` while the run is in progress or if there is no such run.
        """
        with self._lock:
            if self._latest_run.run_id == run_id and not self._latest_run.ended:
                raise InvalidInput.because(
                    "run-not-ended",
                    f"run {run_id} is still going",
                    remedy="wait until it is 100 % complete",
                )
        path = self._report(run_id)
        with self._lock:
            if run_id not in self._reported:
                self._reported.add(run_id)
                self._subscriptions.open(_RUN)
                self._publish(Notice(BenchmarkEvent.COMPLETED, run_id, report_path=path))
        return path

    def subscribe(self, event: BenchmarkEvent, callback: Callable[[Any], None]) -> int:
        """Register a callback for an event of runs; returns its token.

        If the latest run has had its final notice (COMPLETED or ERROR), and it is of that event,
        the callback gets it at once.
        """
        return self._subscriptions.subscribe(_RUN, event, callback)

    def unsubscribe(self, token: int) -> None:
        """Remove a callback; idempotent. Raises `UnknownToken` if the token was never issued."""
        self._subscriptions.unsubscribe(token)

    # -- choosing --------------------------------------------------------------------------

    def _unknown_model_problems(self, names: list[str]) -> list[Problem]:
        model_names = self._models.list_models()
        remedy = f"there are: {', '.join(model_names)}"
        return [
            Problem("unknown-model", f"there is no model {name!r}", remedy=remedy)
            for name in names
            if name not in model_names
        ]

    def _require_chosen(self) -> str:
        problems = []
        if not self._model_names:
            problems.append(
                Problem("no-model", "no model is chosen", remedy="call `select_models` first")
            )
        if self._judge is None:
            remedy = "call `select_judge_model` first"
            problems.append(Problem("no-judge", "no judge is chosen", remedy=remedy))
        if problems or self._judge is None:
            raise InvalidInput(problems)
        return self._judge

    def _chosen_judge(self) -> str:
        if self._judge is None:
            raise InvalidInput.because(
                "no-judge", "no judge is chosen", remedy="call `select_judge_model`"
            )
        return self._judge

    def _require_idle(self) -> None:
        if not self._latest_run.ended:
            raise InvalidInput.because(
                "run-not-ended",
                f"run {self._latest_run.run_id} is still going",
                remedy="wait for it, or open another benchmark",
            )

    # -- the flow --------------------------------------------------------------------------

    def _submit_all(self, run_id: int, model_names: list[str], tasks: list[BenchmarkTask]) -> None:
        """Submit every task for every model.

        The session subscribes to the submissions' events: it counts the answers, and begins the
        judging after the last. A submission that raises ends the run with ERROR.
        """
        total = len(model_names) * len(tasks)
        if total == 0:
            reason = f"run {run_id} has no task"
            raise InvalidInput.because("no-cases", reason, remedy="load at least one")
        self._latest_run = _LatestRun(run_id, total, ended=False)
        self._subscriptions.open(_RUN)
        self._publish(Notice(BenchmarkEvent.STARTED, run_id, progress=self._latest_run.progress))
        heard = {
            BenchmarkEvent.PROGRESS_CHANGED: self._on_task_progress,
            BenchmarkEvent.STREAMING_RESULT: self._publish,
            BenchmarkEvent.ERROR: self._on_task_end,
            BenchmarkEvent.COMPLETED: self._on_task_end,
        }
        try:
            for model_name in model_names:
                for task in tasks:
                    submission = self._tasks.submit_task(run_id, task, model_name)
                    for event, callback in heard.items():
                        self._tasks.subscribe(submission, event, callback, calls=self._flow)
        except BaseException as error:
            self._on_end(f"{type(error).__name__}: {error}")
            raise

    def _on_task_progress(self, notice: Notice) -> None:
        with self._lock:
            self._publish_progress(notice.model_name, notice.task_id, notice.result)

    def _on_task_end(self, notice: Notice) -> None:
        """Count a submission that is answered or failed; begin the judging after the last one."""
        with self._lock:
            run_status = self._latest_run
            if notice.run_id != run_status.run_id or run_status.ended:
                return
            run_status.settled += 1
            status = notice.result.status if notice.result else TaskStatus.NEW
            if notice.event is BenchmarkEvent.ERROR and status is not TaskStatus.FAILED:
                run_status.trouble = notice.error or "a task was given up"
            is_complete = notice.event is BenchmarkEvent.COMPLETED
            run_status.answered += is_complete or bool(notice.result and notice.result.llm_response)
            if status in _FINAL:
                self._count_final(notice.result)
            if run_status.settled == run_status.total:
                if run_status.trouble is None:
                    self._tasks.judge(run_status.run_id, self._on_judged, self._on_end)
                else:
                    self._on_end(run_status.trouble)

    def _on_judged(self, result: Result) -> None:
        with self._lock:
            self._count_final(result)

    def _on_end(self, error: str | None) -> None:
        """Publish that the run has ended; with an `error`, publish why it could not end."""
        with self._lock:
            self._latest_run.ended = True
            run_id, progress = self._latest_run.run_id, self._latest_run.progress
            if error is None:
                self._publish(Notice(_PROGRESS, run_id, progress=progress))
            else:
                self._publish(Notice(BenchmarkEvent.ERROR, run_id, progress=progress, error=error))

    def _count_final(self, result: Result | None) -> None:
        """Count a final result and publish the progress; `None` is ignored."""
        if result is None:
            return
        if result.status is TaskStatus.FAILED:
            self._latest_run.failed += 1
        else:
            self._latest_run.judged += 1
        self._publish_progress(result.model_name, result.task_id, result)

    def _publish_progress(self, model_name: str, task_id: str, result: Result | None) -> None:
        run_status = self._latest_run
        self._publish(
            Notice(
                _PROGRESS,
                run_status.run_id,
                task_id=task_id,
                model_name=model_name,
                progress=run_status.progress,
                result=result,
            )
        )

    def _publish(self, notice: Notice) -> None:
        self._subscriptions.publish(_RUN, notice)
