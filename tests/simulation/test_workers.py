"""Several workers share a run: the engine's own, behind a queue that loses jobs."""

from __future__ import annotations

import pytest

from tests.simulation.many import blocks, require_unbroken


@pytest.mark.slow
@pytest.mark.parametrize("seeds", blocks("workers"), ids=str)
def test_every_invariant_holds_whatever_happens(seeds: range) -> None:
    require_unbroken(seeds)
