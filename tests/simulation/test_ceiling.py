"""The run has a spend ceiling: what its servers charge never exceeds it."""

from __future__ import annotations

import pytest

from tests.simulation.many import blocks, require_unbroken


@pytest.mark.slow
@pytest.mark.parametrize("seeds", blocks("ceiling"), ids=str)
def test_every_invariant_holds_whatever_happens(seeds: range) -> None:
    require_unbroken(seeds)
