"""What the simulation found, each as a history that is made on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest

from failproof_es.engine.limits import spend_slice
from failproof_es.engine.limits.spend_limiter import SpendLimiter
from failproof_es.engine.limits.spend_slice import SpendSlice
from failproof_es.engine.workers import driven_run
from failproof_es.events import Counts, RunPaused
from failproof_es.store.writing.event_header import Draft, EventHeader
from tests.simulation.history import History
from tests.simulation.invariants import violations
from tests.simulation.many import history_of
from tests.simulation.workers import WorkersHistory
from tests.simulation.world.database import MAPPER

_CEILING = 1_000
"""Less than one request may cost."""
_ONE_AT_A_TIME = 1_700
"""What one request may cost, and less than two."""
_OVER = (3, 4, 6)
"""The questions whether a request may be sent that are answered with no."""


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


class LeaseEndsWhileSomebodyWaits(WorkersHistory):
    """The lease of a shard is over for a moment, as after an outage, when a request was promised
    what it waited for. So it may not be sent, and its evaluation is left."""

    def _replaced(self) -> Iterator[tuple[object, str, object]]:
        yield from super()._replaced()
        yield driven_run, "may_send", self._may_send

    def _may_send(self, remaining_s: float) -> bool:
        self._asked = getattr(self, "_asked", 0) + 1
        return remaining_s > 0 and self._asked not in _OVER


def _with_one_request_at_a_time() -> Iterator[LeaseEndsWhileSomebodyWaits]:
    for seed in range(80):
        history = LeaseEndsWhileSomebodyWaits(seed, ceiling=True)
        if history.shape.ceiling == _ONE_AT_A_TIME:
            history.run()
            yield history


def test_what_is_promised_to_an_evaluation_that_is_left_is_free_for_others() -> None:
    """It was kept as long as its shard was held: all others waited for it for ever."""
    broken = {each.seed: violations(each) for each in _with_one_request_at_a_time()}
    assert not any(broken.values()), broken


@pytest.mark.slow
def test_promises_that_are_not_given_back_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SpendSlice, "withdraw", SpendLimiter.withdraw)
    monkeypatch.setattr(spend_slice, "PROMISED_S", inf)
    assert any(violations(each) for each in _with_one_request_at_a_time())


@pytest.mark.parametrize("seed", [16607, 18539, 87206, 89554])
def test_a_history_that_was_broken_once_is_whole(seed: int) -> None:
    """Two workers that waited for a place and for tokens of each other; a worker that drove a run
    which another process had driven meanwhile, and paused at its ceiling."""
    history = history_of(seed)
    history.run()
    assert violations(history) == []
