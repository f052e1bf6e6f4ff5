"""Refuses to ask in a run that another tool recorded."""

from __future__ import annotations

from failproof_es.core.run import Run
from failproof_es.problems import InvalidInput


def require_asked_here(run: Run) -> None:
    """Raise `InvalidInput` if the run is imported: the engine sends no request of such a run."""
    if run.imported is not None:
        number = run.started.run_number
        raise InvalidInput.because(
            "run-imported",
            f"run {number} is {run.imported_from}: it can't be resumed or branched",
            remedy=f"`failproof-es import {run.imported.kind} FILE` completes an import that was "
            f"interrupted; `failproof-es replay {number}` scores its answers again",
        )
