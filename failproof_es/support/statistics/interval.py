"""Confidence intervals, and the methods that compute them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
POWER = 0.8

Method = Literal[
    "Wilson",
    "Student's t, over clusters",
    "order statistics",
    "Bonett-Price",
    "inverted permutation test",
    "Jeffreys' draws",
]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high` with this confidence."""

    low: float
    high: float
    method: Method
    confidence: float = CONFIDENCE


@dataclass(frozen=True, slots=True)
class OpenInterval:
    """Like `Interval`, for an unbounded number; an end that the sample cannot hold is `None`.

    One with an open end is one-sided at its confidence.
    """

    low: float | None
    high: float | None
    method: Method
    confidence: float = CONFIDENCE
