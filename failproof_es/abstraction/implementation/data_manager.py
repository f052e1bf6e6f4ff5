"""`DataManagerApi` on the event log: saving appends events, or confirms recorded ones.

A run is recorded together with its whole plan, so `create_run` plans the configured dataset and
`save_tasks` compares the tasks with the plan. The engine records its own answers; `save_result`
confirms these and appends answers from elsewhere, with `api` as their source. `update_result`
appends a judgement to an answer that waits for one. The last result of a run that nobody drives
ends the run. A result that contradicts the record is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from uuid import UUID

from failproof_es.abstraction.enums import TaskStatus
from failproof_es.abstraction.implementation.dispatcher import logger
from failproof_es.abstraction.implementation.engine_loop import EngineLoop
from failproof_es.abstraction.implementation.llm_manager import LLMManager
from failproof_es.abstraction.implementation.recorded_benchmark import (
    DIALECT,
    RecordedBenchmark,
    result_of,
)
from failproof_es.abstraction.types import BenchmarkConfig, BenchmarkTask, Result
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.configuration.schema import Configuration, Model
from failproof_es.engine.drive.judging import judging_of
from failproof_es.engine.lifecycle import create
from failproof_es.engine.reviews.given_answer import SubmittedAnswer, record_given_answer
from failproof_es.engine.reviews.program_verdict import record_external_verdict
from failproof_es.models import provider_type
from failproof_es.models.trust.permissions import OWN, Permissions
from failproof_es.problems import InvalidInput, Problem, Problems, require_text_list
from failproof_es.store.store import Store
from failproof_es.store.writing.lease import HeldLease
from failproof_es.support.untrusted_text import HALF_CHARACTER

BorrowLease = Callable[[int, UUID], AbstractContextManager[HeldLease | None]]
"""See `task_manager.TaskManager.borrow_lease`."""

OUTSIDE = "api"
"""Recorded source of the answers and judgements of `save_result` and `update_result`."""

_LARGEST = 2**63 - 1
_ANSWER_FIELDS = ("llm_response", "time_taken_ms", "tokens_generated")
_JUDGEMENT_FIELDS = ("status", "evaluation_score", "evaluation_reason", "error_message")


class DataManager:
    """A `DataManagerApi` on the event log: runs of one configuration's dataset, and their
    results."""

    def __init__(
        self,
        store: Store,
        loaded: LoadedConfiguration,
        models: LLMManager,
        loop: EngineLoop,
        borrow_lease: BorrowLease = lambda run_id, evaluation_id: nullcontext(),
        permissions: Permissions = OWN,
        end: Callable[[int], None] = lambda run_id: None,
    ) -> None:
        """Runs ask the dataset of `loaded`; `models` finds a model's settings by its name.

        `borrow_lease` lends the lease of a run that this program executes; the default lends none.
        `permissions` say to which hosts the variables with keys may go. `end` ends a run whose
        results are all final, unless it is being executed; the default does nothing.
        """
        self._end = end
        self._permissions = permissions
        self._store = store
        self._loaded = loaded
        self._models = models
        self._loop = loop
        self._borrow_lease = borrow_lease
        self._judge: str | None = None

    def judge_with(self, judge_model_name: str) -> None:
        """Set the judge of runs that are created later.

        The default is the judge of the configuration, if it names exactly one. Raises
        `InvalidInput` if there is no such model.
        """
        self._models.judge_named(judge_model_name)
        self._judge = judge_model_name

    def create_run(self, model_names: list[str]) -> int:
        """Record a run of the configured dataset, with its whole plan; returns its number.

        Raises `InvalidInput`, and records nothing, with every defect of the dataset or if a
        model can't be reached.
        """
        loaded = replace(self._loaded, configuration=self._configuration_for(model_names))
        started = self._loop.run(
            create(loaded, self._store, say=logger.info, permissions=self._permissions)
        )
        return started.run_number

    def save_tasks(self, run_id: int, tasks: list[BenchmarkTask]) -> None:
        """Compare the tasks with the plan that `create_run` recorded; nothing is written.

        Raises `InvalidInput` with every task that is missing, superfluous or different.
        """
        planned = {task.task_id: task for task in self.tasks_of(run_id)}
        submitted = {task.task_id: task for task in tasks}
        differing = [id_ for id_ in submitted if id_ in planned and submitted[id_] != planned[id_]]
        differences = {
            "the run was planned without": [id_ for id_ in submitted if id_ not in planned],
            "the run was planned with": [id_ for id_ in planned if id_ not in submitted],
            "the plan has other words for": differing,
        }
        remedy = "a run's plan never changes: create another run"
        problems = [
            Problem("plan-mismatch", f"run {run_id}: {difference} {', '.join(ids)}", remedy=remedy)
            for difference, ids in differences.items()
            if ids
        ]
        if problems:
            raise InvalidInput(problems)

    def save_result(self, result: Result) -> None:
        """Append an answer, and its judgement if it has one. An answer on record is only compared.

        An appended answer has the source `api` and no recorded request. The judgement of an answer
        on record is treated as in `update_result`. Raises `InvalidInput` for a result that
        contradicts the record, has no answer or can't be stored, `RunBusy` while another program
        executes the run or this one asks its judges.
        """
        recorded = self._recorded_result(result)
        if recorded.status is TaskStatus.NEW:
            self._record_answer(result)
            if result.status is TaskStatus.JUDGEMENT_COMPLETED:
                self.update_result(result)
            else:
                self._end_if_final(result)
        elif result.status is TaskStatus.PENDING_JUDGEMENT:
            self._require_same(result, recorded, _ANSWER_FIELDS)
        else:
            self.update_result(result)

    def load_results(self, run_id: int, status: TaskStatus) -> list[Result]:
        """The results of a run that now have this status, in plan order; empty if none has it.

        Raises `InvalidInput` if there is no such benchmark run.
        """
        results = RecordedBenchmark.read(self._store, run_id).results()
        return [result for result in results if result.status is status]

    def update_result(self, result: Result) -> None:
        """Append the judgement of an answer that waits for one: its score, or the judge's error.

        The recorded judge is `api`. Idempotent: a judgement on record is only compared. Raises
        `InvalidInput` for a result that contradicts the record, `RunBusy` while another program
        executes the run or this one asks its judges.
        """
        recorded = self._recorded_result(result)
        self._require_same(result, recorded, _ANSWER_FIELDS)
        if recorded.status is not TaskStatus.PENDING_JUDGEMENT:
            if _repeats_failure(result, recorded):
                recorded = replace(recorded, error_message=result.error_message)
            self._require_same(result, recorded, _JUDGEMENT_FIELDS)
            return
        if result.status is TaskStatus.PENDING_JUDGEMENT:
            return
        benchmark = RecordedBenchmark.read(self._store, self._run_id(result))
        started = benchmark.run.started
        judging = judging_of(started)
        if len(judging.judges) > 1:
            judges = len(judging.judges)
            reason = f"run {benchmark.number} has {judges} judges: one alone can't decide"
            raise InvalidInput.because(
                "unsupported-feature", reason, remedy="resume the run: it asks them"
            )
        verdict, problem = _read_verdict(result)
        key = benchmark.key(result.task_id, result.model_name)
        with self._borrow_lease(benchmark.number, key.evaluation_id) as lease:
            self._loop.run(
                record_external_verdict(
                    self._store, key, DIALECT, rule=judging.rule, judge=OUTSIDE,
                    verdict=verdict, problem=problem, lease=lease,
                    configuration=started.configuration,
                )
            )  # fmt: skip
        self._end_if_final(result)

    def tasks_of(self, run_id: int) -> list[BenchmarkTask]:
        """The tasks of a run, in plan order. Raises `InvalidInput` if there is no such benchmark
        run."""
        return RecordedBenchmark.read(self._store, run_id).benchmark_tasks()

    def configuration_of(self, run_id: int) -> BenchmarkConfig:
        """The configuration of a run. Raises `InvalidInput` if there is no such benchmark run."""
        return RecordedBenchmark.read(self._store, run_id).configuration()

    # -- inside ----------------------------------------------------------------------------

    def _configuration_for(self, model_names: Sequence[str]) -> Configuration:
        require_text_list(model_names, "model_names", "gpt-4o")
        twice = {name for name in model_names if list(model_names).count(name) > 1}
        if not model_names or twice:
            reason = f"{', '.join(sorted(twice))} twice" if twice else "no model"
            raise InvalidInput.because(
                "duplicate-name" if twice else "no-model",
                f"a run must not have {reason}",
                remedy="name each model once",
            )
        configuration = self._loaded.configuration
        configured = [judge.model for judge in configuration.asked_judges]
        judges = [self._judge] if self._judge is not None else configured
        if len(judges) != 1:
            raise InvalidInput.because(
                "no-judge",
                f"the configuration names {len(judges)} judges, and none is chosen",
                remedy="name one as `judge`, or call `select_judge_model` or `judge_with` first",
            )
        judging = configuration.judging.model_copy(update={"begins": "after_all_answers"})
        return configuration.model_copy(
            update={
                "models": [_under_test(self._models.model_named(name)) for name in model_names],
                "judge": self._models.judge_named(judges[0]),
                "judges": None,
                "judging": judging,
            }
        )

    def _record_answer(self, result: Result) -> None:
        """Append an answer from outside the engine. Raises `InvalidInput` if the result's status is
        NEW."""
        failed = result.status is TaskStatus.FAILED
        if result.status is TaskStatus.NEW:
            raise InvalidInput.because(
                "wrong-status",
                f"{_name_result(result)}: its status is NEW, and no answer is on record",
                remedy="save it as PENDING_JUDGEMENT with its llm_response, or as FAILED",
            )
        benchmark = RecordedBenchmark.read(self._store, self._run_id(result))
        started = benchmark.run.started
        key = benchmark.key(result.task_id, result.model_name)
        answer = SubmittedAnswer(
            OUTSIDE,
            result.llm_response,
            float(result.time_taken_ms),
            result.tokens_generated,
            (result.error_message or "failed without a word") if failed else None,
        )
        with self._borrow_lease(benchmark.number, key.evaluation_id) as lease:
            self._loop.run(
                record_given_answer(
                    self._store, key, DIALECT, answer,
                    judging=judging_of(started), configuration=started.configuration, lease=lease,
                )
            )  # fmt: skip

    def _end_if_final(self, result: Result) -> None:
        """End the run of a result if all its results are final, unless the run is being
        executed."""
        run_id = self._run_id(result)
        if RecordedBenchmark.read(self._store, run_id).is_final():
            self._end(run_id)

    def _run_id(self, result: Result) -> int:
        if result.run_id is None:
            raise InvalidInput.because(
                "missing-field", f"{_name_result(result)}: no run_id", remedy="set it"
            )
        return result.run_id

    def _recorded_result(self, result: Result) -> Result:
        _require_storable(result)
        benchmark = RecordedBenchmark.read(self._store, self._run_id(result))
        key = benchmark.key(result.task_id, result.model_name)
        result_id = benchmark.result_id(key, result.task_id)
        if result.result_id not in (None, result_id):
            reason = f"{_name_result(result)}: its result_id is {result_id}, not {result.result_id}"
            raise InvalidInput.because("record-mismatch", reason)
        evaluation = benchmark.evaluation(key)
        return result_of(evaluation.case, evaluation.state(), key, result_id, benchmark.number)

    def _require_same(self, result: Result, recorded: Result, fields: Sequence[str]) -> None:
        differing = [f for f in fields if getattr(result, f) != getattr(recorded, f)]
        if differing:
            raise InvalidInput.because(
                "record-mismatch",
                f"{_name_result(result)}: the record says otherwise of {', '.join(differing)}",
                remedy="what is on record never changes: load the result again",
            )


def _under_test(model: Model) -> Model:
    """The model as a run asks it: under its name, as results do; streamed if it can be."""
    streams = provider_type(model.provider).capabilities.streaming
    return model.model_copy(update={"key": None, "stream": model.stream or streams})


def _require_storable(result: Result) -> None:
    """Raise `InvalidInput` with every number and text of the result that no event can hold."""
    problems = Problems()
    for name in ("time_taken_ms", "tokens_generated"):
        number = getattr(result, name)
        if type(number) is not int:
            problems.error("wrong-type", "must be a whole number", field=name)
        elif not 0 <= number <= _LARGEST:
            problems.error("out-of-range", f"must be from 0 to {_LARGEST}", field=name)
    if type(result.evaluation_score) not in (int, float):
        problems.error("wrong-type", "must be a number", field="evaluation_score")
    for name in ("llm_response", "evaluation_reason", "error_message"):
        text = getattr(result, name)
        if not isinstance(text, str):
            if text is not None or name != "error_message":
                problems.error("wrong-type", "must be a text", field=name)
        elif HALF_CHARACTER.search(text):
            problems.error("not-storable", "holds half a surrogate pair", field=name)
    problems.raise_errors()


def _read_verdict(result: Result) -> tuple[dict[str, object] | None, str | None]:
    """The verdict (`score`, `reason`) and `None`; for a FAILED result `None` and the judge's error.

    Raises `InvalidInput` for any other status than JUDGEMENT_COMPLETED or FAILED, for a score that
    is not from 0 to 1, and for an empty reason.
    """
    match result.status:
        case TaskStatus.FAILED:
            return None, result.error_message or "failed for judging"
        case TaskStatus.JUDGEMENT_COMPLETED:
            score = result.evaluation_score
            if not math.isfinite(score) or not 0.0 <= score <= 1.0:
                reason = f"{_name_result(result)}: the score {score} is not from 0 to 1"
                raise InvalidInput.because("out-of-range", reason)
            if not result.evaluation_reason.strip():
                reason = (
                    f"{_name_result(result)}: a judgement needs a reason in `evaluation_reason`"
                )
                raise InvalidInput.because("empty-value", reason)
            return {"score": float(score), "reason": result.evaluation_reason}, None
        case _:
            status = result.status.value
            reason = f"{_name_result(result)}: it is answered: its status can't be {status}"
            raise InvalidInput.because("wrong-status", reason)


def _repeats_failure(result: Result, recorded: Result) -> bool:
    """Whether both have failed, and the result gives no other reason than the record.

    A result without a reason gives none. The record puts the kind of the error before the reason
    that was saved.
    """
    if not result.status is recorded.status is TaskStatus.FAILED:
        return False
    reason = result.error_message
    return not reason or f": {recorded.error_message}".endswith(f": {reason}")


def _name_result(result: Result) -> str:
    return f"{result.model_name} on {result.task_id}"
