"""`Notice`: the argument of every callback, for each event of specification 003.

The specification leaves the payload open (`Callable[[any], None]`); this is ours.
"""

from dataclasses import dataclass

from failproof_es.abstraction.enums import BenchmarkEvent
from failproof_es.abstraction.types import BenchmarkProgress, Result

FINAL = frozenset({BenchmarkEvent.COMPLETED, BenchmarkEvent.ERROR})
"""Nothing follows these: each submission, and each run, ends with one of them."""


@dataclass(frozen=True)
class Notice:
    """Something that happened to a run, or to one submission of it."""

    event: BenchmarkEvent
    run_id: int
    submission_id: int | None = None
    """`None` where the whole run is spoken of."""
    task_id: str = ""
    model_name: str = ""
    attempt: int = 0
    """STREAMING_RESULT: which attempt the text belongs to. A new one begins the answer again."""
    text: str = ""
    """STREAMING_RESULT: the next piece of the answer."""
    progress: BenchmarkProgress | None = None
    """PROGRESS_CHANGED: how it stands now."""
    result: Result | None = None
    """The result as it stands on record, where the event is about one."""
    error: str | None = None
    """ERROR: what happened, for people."""
    report_path: str | None = None
    """COMPLETED of a run: where its report is."""
