"""A benchmark run read from the log: its tasks, its evaluations, its results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from failproof_es.abstraction.enums import TaskStatus
from failproof_es.abstraction.implementation.dataset_loader import task_of
from failproof_es.abstraction.types import BenchmarkConfig, BenchmarkTask, Result
from failproof_es.configuration.recorded import recorded_configuration, repetitions_of
from failproof_es.core.case import Case, prompt_id
from failproof_es.core.evaluation import Evaluation, EvaluationKey
from failproof_es.core.run import Run, place_in_plan
from failproof_es.dialects import dialect_named
from failproof_es.engine.history import (
    RecordedEvaluation,
    read_chunk,
    read_evaluations,
    read_run,
)
from failproof_es.engine.planning.prompt_collections import read_cases
from failproof_es.events import EVALUATION_ENDINGS
from failproof_es.problems import InvalidInput
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store

DIALECT = dialect_named("benchmark")


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task of a run's plan. `place` is its index in the plan, from 0."""

    case: Case
    place: int


@dataclass(frozen=True, slots=True)
class RecordedBenchmark:
    """A recorded run of the benchmark dialect: its start and its plan, which never change.

    Results and evaluations are read from the log at each call.
    """

    store: Store
    run: Run
    tasks: dict[str, PlannedTask]
    """The tasks by task id, in plan order."""

    @classmethod
    def read(cls, store: Store, run_id: int) -> RecordedBenchmark:
        """The run with that number. Raises `InvalidInput` if there is none or it has another
        dialect."""
        with store.lend() as connection:
            stream = resolve_run(connection, str(run_id))
            require_attached(connection, stream)
            run = read_run(connection, stream)
            if run.started.dialect != DIALECT.name:
                raise InvalidInput.because(
                    "wrong-dialect",
                    f"run {run_id} is of the dialect {run.started.dialect!r}, not of benchmark",
                    remedy="`failproof-es results` prints its results",
                )
            digests = [d for n in range(run.chunks) for d in read_chunk(connection, stream, n)]
            cases = list(read_cases(connection, digests))
        return cls(store, run, {c.case_id: PlannedTask(c, n) for n, c in enumerate(cases)})

    @property
    def run_id(self) -> UUID:
        """The id of the run's stream."""
        return self.run.started.originator_id

    @property
    def number(self) -> int:
        """The run's number: the run id of specification 003."""
        return self.run.started.run_number

    @property
    def model_names(self) -> list[str]:
        """The names of the models under test, in order."""
        return [model.key for model in self.run.started.models]

    def benchmark_tasks(self) -> list[BenchmarkTask]:
        """The tasks of the plan, in order."""
        return [task_of(planned.case) for planned in self.tasks.values()]

    def configuration(self) -> BenchmarkConfig:
        """The run's configuration as specification 003 § 3 defines it."""
        started = self.run.started
        recorded = recorded_configuration(started)
        execution, path = recorded.execution, recorded.prompts.path
        return BenchmarkConfig(
            run_id=self.number,
            model_names=self.model_names,
            judge_model_name=", ".join(judge.model for judge in started.judges),
            concurrency=execution.parallel_workers,
            timeout_sec=execution.timeout_per_request_ms // 1000,
            dataset_path=path if isinstance(path, str) else ", ".join(path or ()),
        )

    def key(self, task_id: str, model_name: str) -> EvaluationKey:
        """The key of a planned evaluation. Raises `InvalidInput` if the plan lacks the task or the
        model."""
        planned = self.tasks.get(task_id)
        if planned is None:
            reason = f"run {self.number} has no task {task_id!r}"
            raise InvalidInput.because(
                "unknown-case", reason, remedy="its tasks are those that it began with"
            )
        if model_name not in self.model_names:
            names = ", ".join(self.model_names)
            reason = f"run {self.number} has no model {model_name!r}"
            raise InvalidInput.because("unknown-model", reason, remedy=f"it has: {names}")
        return EvaluationKey(self.run_id, prompt_id(planned.case.digest()), model_name)

    def evaluation(self, key: EvaluationKey) -> RecordedEvaluation:
        """The recorded state of an evaluation, read now."""
        with self.store.lend() as connection:
            return read_evaluations(connection, [key])[0]

    def results(self) -> Iterator[Result]:
        """Every result of the run in plan order, read now, the first with `result_id` 1."""
        with self.store.lend() as connection:
            run = RecordedRun.read(connection, self.run_id)
            for result_id, recorded in enumerate(run.evaluations(), 1):
                yield result_of(
                    recorded.case, recorded.state(), recorded.key, result_id, self.number
                )

    def is_final(self) -> bool:
        """Whether every planned result is final: judged or failed.

        Counts final events without reading them.
        """
        with self.store.lend() as connection:
            row = connection.execute(
                "SELECT count(*) FROM failproof.stored_events "
                "WHERE run_id = %s AND topic = ANY (%s)",
                (self.run_id, list(EVALUATION_ENDINGS)),
            ).fetchone()
        return row is not None and row[0] >= self.run.started.planned_evaluations

    def result_id(self, key: EvaluationKey, task_id: str) -> int:
        """The result id of an evaluation: its place in the plan, from 1."""
        started = self.run.started
        repetitions = repetitions_of(started)
        return place_in_plan(started, key, self.tasks[task_id].place, repetitions)


def result_of(
    case: Case, state: Evaluation, key: EvaluationKey, result_id: int, run_number: int
) -> Result:
    """The specification's `Result` of an evaluation, whose state after its events so far is
    `state`."""
    fields = DIALECT.result(case, state)
    return Result(
        **{
            **fields,
            "result_id": result_id,
            "run_id": run_number,
            "model_name": key.model_key,
            "status": TaskStatus(fields["status"]),
        }
    )
