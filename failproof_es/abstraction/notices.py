"""`Notice`: the argument of every callback, for each event of specification 003.

The specification leaves the payload open (`Callable[[any], None]`); this is ours.
"""

from dataclasses import dataclass

from failproof_es.abstraction.enums import BenchmarkEvent
from failproof_es.abstraction.types import BenchmarkProgress, Result

FINAL = frozenset({BenchmarkEvent.COMPLETED, BenchmarkEvent.ERROR})
"""The last event of each submission and of each run is one of these."""


@dataclass(frozen=True)
class Notice:
    """An event of a run or of one of its submissions."""

    event: BenchmarkEvent
    run_id: int
    submission_id: int | None = None
    """`None` if the event belongs to the whole run."""
    task_id: str = ""
    model_name: str = ""
    attempt: int = 0
    """STREAMING_RESULT: the attempt that the text belongs to. A new attempt restarts the answer."""
    text: str = ""
    """STREAMING_RESULT: the next piece of the answer."""
    progress: BenchmarkProgress | None = None
    """PROGRESS_CHANGED: the current progress."""
    result: Result | None = None
    """The recorded result, if the event is about one."""
    error: str | None = None
    """ERROR: the message for people."""
    report_path: str | None = None
    """COMPLETED of a run: the path of its report."""
