"""One process drives a run, and another one after it died or was cut off."""

from __future__ import annotations

import pytest

from tests.simulation.many import blocks, require_unbroken


@pytest.mark.slow
@pytest.mark.parametrize("seeds", blocks("alone"), ids=str)
def test_every_invariant_holds_whatever_happens(seeds: range) -> None:
    require_unbroken(seeds)
