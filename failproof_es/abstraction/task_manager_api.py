"""`TaskManagerApi` (specification 003 § 4.6): tasks in the background, with callbacks."""

from collections.abc import Callable
from typing import Any, Protocol

from failproof_es.abstraction.enums import BenchmarkEvent
from failproof_es.abstraction.types import BenchmarkTask


class TaskManagerApi(Protocol):
    """Has models answer tasks in the background, several at once."""

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        """Submit a single task for background execution; returns submission_id."""
        ...

    def subscribe(
        self, submission_id: int, event: BenchmarkEvent, callback: Callable[[Any], None]
    ) -> int:
        """Register a callback for task-level events; returns token."""
        ...

    def unsubscribe(self, token: int) -> None:
        """Remove a previously registered callback."""
        ...
