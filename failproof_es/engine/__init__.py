"""The engine: starts, resumes and replays runs."""

from failproof_es.engine.branching import branch
from failproof_es.engine.lifecycle import create, resume, start
from failproof_es.engine.outcome import Outcome
from failproof_es.engine.replay import Difference, ReplayReport, replay
from failproof_es.store.lease import RunBusy

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
