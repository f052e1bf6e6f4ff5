"""`DataManagerApi` (specification 003 § 4.2): recorded runs, tasks and results."""

from typing import Protocol

from failproof_es.abstraction.enums import TaskStatus
from failproof_es.abstraction.types import BenchmarkTask, Result


class DataManagerApi(Protocol):
    """Keeps what is known of runs."""

    def create_run(self, model_names: list[str]) -> int:
        """Put a run on record; returns its id."""
        ...

    def save_tasks(self, run_id: int, tasks: list[BenchmarkTask]) -> None:
        """Put the tasks of a run on record, each with status `NEW`."""
        ...

    def save_result(self, result: Result) -> None:
        """Put a model's answer on record."""
        ...

    def load_results(self, run_id: int, status: TaskStatus) -> list[Result]:
        """The results of a run that have this status."""
        ...

    def update_result(self, result: Result) -> None:
        """Put the judgement of an answer on record."""
        ...
