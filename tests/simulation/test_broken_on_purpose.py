"""Each guarantee that is taken away is missed within the first thousand histories."""

from __future__ import annotations

import pytest

from tests.simulation.many import broken_in
from tests.simulation.mutations import MUTATIONS

_SEEDS = 1_000


@pytest.mark.parametrize("name", list(MUTATIONS))
def test_the_simulation_catches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTATIONS[name](monkeypatch)
    for seed in range(_SEEDS):
        if wrong := broken_in([seed]):
            print(f"{name}: seed {seed}: {wrong[seed][0]}")
            return
    pytest.fail(f"{_SEEDS} histories passed though {name.replace('_', ' ')}")
