"""One point of the grid: what is drawn, and which interval is asked whether it holds the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Ends = tuple[float | None, float | None]
Draw = Callable[[np.random.Generator], Ends | None]
"""Draws one sample; returns the ends of its interval, `None` where none is printed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of the grid."""

    what: str
    """The number that has the interval, as pages name it."""
    clusters: int
    size: int
    """Values of each cluster."""
    of: str
    """What the values are drawn from."""
    truth: float
    draw: Draw

    def coverage(self, draws: int, seed: int) -> tuple[float, int]:
        """The share of printed intervals that hold the truth, and how many were printed.

        An end that is not known excludes nothing.
        """
        chance = np.random.default_rng([seed, *self._name()])
        printed = covering = 0
        for _ in range(draws):
            if (ends := self.draw(chance)) is None:
                continue
            low, high = ends
            printed += 1
            above = low is None or low <= self.truth + 1e-12
            covering += above and (high is None or self.truth <= high + 1e-12)
        return covering / max(printed, 1), printed

    def _name(self) -> bytes:
        return f"{self.what} {self.clusters} {self.size} {self.of}".encode()
