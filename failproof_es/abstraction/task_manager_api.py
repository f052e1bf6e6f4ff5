"""`TaskManagerApi` (specification 003 § 4.6): tasks in the background, with callbacks."""

from collections.abc import Callable
from typing import Any, Protocol

from failproof_es.abstraction.enums import BenchmarkEvent
from failproof_es.abstraction.types import BenchmarkTask


class TaskManagerApi(Protocol):
    """Has models answer tasks in the background, several at once."""

    def submit_task(self, run_id: int, task: BenchmarkTask, model_name: str) -> int:
        """Have a model answer a task of a run, in the background; returns the submission's id."""
        ...

    def subscribe(
        self, submission_id: int, event: BenchmarkEvent, callback: Callable[[Any], None]
    ) -> int:
        """Register a callback for an event of a submission; returns a token for `unsubscribe`."""
        ...

    def unsubscribe(self, token: int) -> None:
        """Remove the callback whose registration returned this token."""
        ...
