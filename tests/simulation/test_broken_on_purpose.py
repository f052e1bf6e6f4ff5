"""Each guarantee that is taken away is missed within the histories of the fast set."""

from __future__ import annotations

import pytest

from tests.simulation.history import History
from tests.simulation.invariants import violations
from tests.simulation.many import FAST, history_of
from tests.simulation.mutations import CONCERNED, MUTATIONS


def all_histories(_: History) -> bool:
    """A mutation that any history may show."""
    return True


@pytest.mark.parametrize("name", list(MUTATIONS))
@pytest.mark.thinned(fast=4, whole=9)
def test_the_simulation_catches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation = MUTATIONS[name]
    mutation(monkeypatch)
    concerned = CONCERNED.get(mutation, all_histories)
    for seed in range(FAST):
        history = history_of(seed)
        if not concerned(history):
            continue
        history.run()
        if wrong := violations(history):
            print(f"{name}: seed {seed}: {wrong[0]}")
            return
    pytest.fail(f"{FAST} histories passed though {name.replace('_', ' ')}")
