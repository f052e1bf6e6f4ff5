"""The engine: starts, resumes and replays runs.

The code that drives runs is loaded on first use: most commands only read.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from failproof_es.engine.replays.replay import Difference, ReplayReport, replay

if TYPE_CHECKING:
    from failproof_es.engine.branching import branch
    from failproof_es.engine.drive_outcome import Outcome
    from failproof_es.engine.lifecycle import create, resume, start
    from failproof_es.store.writing.lease import RunBusy

__all__ = [
    "Difference",
    "Outcome",
    "ReplayReport",
    "RunBusy",
    "branch",
    "create",
    "replay",
    "resume",
    "start",
]

_PLACES = {
    "Outcome": "failproof_es.engine.drive_outcome",
    "RunBusy": "failproof_es.store.writing.lease",
    "branch": "failproof_es.engine.branching",
    "create": "failproof_es.engine.lifecycle",
    "resume": "failproof_es.engine.lifecycle",
    "start": "failproof_es.engine.lifecycle",
}


def __getattr__(name: str) -> Any:
    if (place := _PLACES.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(place), name)
