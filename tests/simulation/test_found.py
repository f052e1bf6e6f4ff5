"""What the simulation found, each as a history that is made on purpose."""

from __future__ import annotations

from failproof_es.events import Counts, RunPaused
from failproof_es.store.writing.event_header import Draft, EventHeader
from tests.simulation.history import History
from tests.simulation.invariants import violations
from tests.simulation.world.database import MAPPER

_CEILING = 1_000
"""Less than one request may cost."""


class PausedMeanwhile(History):
    """The first process reads the run after another one had it, and paused it."""

    def _begin(self) -> None:
        super()._begin()
        self._calm()
        nothing = Counts(planned=len(self.evaluations), finished=0, scored=0, abandoned=0)
        header = EventHeader.of_run(self.run_id)
        event = Draft(RunPaused, header, reason="the spend ceiling", counts=nothing).after(3)
        self.database.append([MAPPER.to_stored_event(event)], ())


def test_a_run_that_another_process_paused_is_resumed() -> None:
    """It was paused twice in a row, if it could send nothing: an impossible history."""
    made = (PausedMeanwhile(seed, ceiling=True) for seed in range(100))
    history = next(each for each in made if each.shape.ceiling == _CEILING)
    history.run()
    assert violations(history) == []
    topics = [row.entry.topic for row in history.database.streams[history.run_id]]
    assert topics[3:6] == ["RunPaused", "RunResumed", "SpendCeilingChanged"]
