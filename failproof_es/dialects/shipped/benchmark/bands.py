"""Score bands: which of a task's descriptions belongs to a judge's score.

The lower bound belongs to the band: 0.7 is a good answer, 0.6999 is not.
"""

from __future__ import annotations

from typing import Literal

Band = Literal["most_expected", "good_answer", "pass_option", "incorrect_direction"]

BANDS: tuple[tuple[float, Band], ...] = (
    (0.9, "most_expected"),
    (0.7, "good_answer"),
    (0.5, "pass_option"),
    (0.0, "incorrect_direction"),
)
PASSES_FROM = 0.5


def band_of(score: float) -> Band:
    """The band of a score from 0 to 1: the highest one whose lower bound the score reaches."""
    return next(band for lowest, band in BANDS if score >= lowest)
