"""`BenchmarkApi` (specification 003 § 4.1): what a user interface needs and nothing else."""

from collections.abc import Callable
from typing import Any, Protocol

from failproof_es.abstraction.enums import BenchmarkEvent


class BenchmarkApi(Protocol):
    """Choose models and a judge, run the benchmark, follow its progress, get its report."""

    def list_models(self) -> list[str]:
        """The names of all models that can be chosen."""
        ...

    def select_models(self, model_names: list[str]) -> None:
        """Choose the models that answer."""
        ...

    def select_judge_model(self, judge_model_name: str) -> None:
        """Choose the model that judges."""
        ...

    def start_benchmark(self) -> int:
        """Begin a run in the background; returns its id."""
        ...

    def get_progress(self) -> dict[str, float]:
        """The run's progress: numbers by name, all of the same moment."""
        ...

    def generate_report(self, run_id: int) -> str:
        """Write the report of a run; returns its path."""
        ...

    def subscribe(self, event: BenchmarkEvent, callback: Callable[[Any], None]) -> int:
        """Register a callback for an event of the run; returns a token."""
        ...

    def unsubscribe(self, token: int) -> None:
        """Remove a callback."""
        ...
