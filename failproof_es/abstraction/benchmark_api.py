"""`BenchmarkApi` (specification 003 § 4.1): what a user interface needs and nothing else."""

from collections.abc import Callable
from typing import Any, Protocol

from failproof_es.abstraction.enums import BenchmarkEvent


class BenchmarkApi(Protocol):
    """The interface for user interfaces: choose models and a judge, run, follow, report."""

    def list_models(self) -> list[str]:
        """The names of all models that can be chosen."""
        ...

    def select_models(self, model_names: list[str]) -> None:
        """Choose the models that answer the tasks of later runs."""
        ...

    def select_judge_model(self, judge_model_name: str) -> None:
        """Choose the model that judges the answers of later runs."""
        ...

    def start_benchmark(self) -> int:
        """Begin a run in the background; returns its id."""
        ...

    def get_progress(self) -> dict[str, float]:
        """Progress of the latest run: numbers by name, such as `total_tasks`, all of one moment."""
        ...

    def generate_report(self, run_id: int) -> str:
        """Write the report of a run; returns the path of the file."""
        ...

    def subscribe(self, event: BenchmarkEvent, callback: Callable[[Any], None]) -> int:
        """Register a callback for an event of runs; returns a token for `unsubscribe`."""
        ...

    def unsubscribe(self, token: int) -> None:
        """Remove the callback whose registration returned this token."""
        ...
