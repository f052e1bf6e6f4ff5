"""`DataManagerApi` (specification 003 § 4.2): recorded runs, tasks and results."""

from typing import Protocol

from failproof_es.abstraction.enums import TaskStatus
from failproof_es.abstraction.types import BenchmarkTask, Result


class DataManagerApi(Protocol):
    """Stores runs, their tasks and their results."""

    def create_run(self, model_names: list[str]) -> int:
        """Record a new run that asks these models; returns its id."""
        ...

    def save_tasks(self, run_id: int, tasks: list[BenchmarkTask]) -> None:
        """Record the tasks of a run, each with status `NEW`."""
        ...

    def save_result(self, result: Result) -> None:
        """Record a model's answer to a task of a run."""
        ...

    def load_results(self, run_id: int, status: TaskStatus) -> list[Result]:
        """The results of a run that have this status; empty if none has it."""
        ...

    def update_result(self, result: Result) -> None:
        """Record the judgement in `result`, for an answer that was saved before."""
        ...
